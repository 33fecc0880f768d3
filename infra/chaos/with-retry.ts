import { setTimeout as delay } from 'node:timers/promises';

/** Asks again while the database or the broker is away. @throws what was thrown last when that takes too long. */
export async function withRetry<T>(ask: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await delay(100);
    }
  }
}
