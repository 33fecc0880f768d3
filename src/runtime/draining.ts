import { setTimeout as delay } from 'node:timers/promises';

let draining = false;

/** Whether this process is about to stop and takes no new work: a load balancer sends it none from now on. */
export function isDraining(): boolean {
  return draining;
}

/** Says that this process is about to stop, and gives those who send it work so many milliseconds to notice. */
export async function drain(ms: number): Promise<void> {
  draining = true;
  await delay(ms);
}
