import { setTimeout as delay } from 'node:timers/promises';

/** Looks again and again until what it waits for holds. @throws Error when it does not within the limit. */
export async function until(holds: () => boolean | Promise<boolean>, limitMs = 100_000): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`did not come about within ${limitMs} ms: ${holds}`);
    await delay(10);
  }
}
