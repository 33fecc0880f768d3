import { EnvironmentError } from './environment.ts';

/**
 * Waits for what a user's own code promises in this process, no longer than a limit: a promise that nobody settles would keep a
 * run waiting for ever. What comes too late is dropped.
 * @throws EnvironmentError `failed` that names the call and the remedy.
 */
export async function inTime<T>(seconds: number, what: string, call: () => T | Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const remedy = 'see what it waits for, or let open return a larger timeout, in seconds';
    const error = () => new EnvironmentError('failed', `${what} has not settled within ${seconds} s; ${remedy}`);
    timer = setTimeout(() => reject(error()), seconds * 1_000);
  });
  try {
    return await Promise.race([call(), late]);
  } finally {
    clearTimeout(timer);
  }
}
