import { setImmediate as turn } from 'node:timers/promises';

interface Waiting<T, R> {
  readonly item: T;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

export interface GatheringOptions<T> {
  /** How much of a call an item takes; nothing where it is left out. */
  readonly weigh?: (item: T) => number;
  /** A call takes items up to this weight, and one at least; where so much waits, a second call begins next to the first. */
  readonly full?: number;
}

const AT_ONCE = 2; // calls, where so much comes that they are full

/**
 * Returns a function that hands its items to `work`: those of one turn of the loop go together, and what comes while a call is
 * under way goes with all that waited in the next one. A throw of `work` rejects every item of its call.
 */
export function gathering<T, R>(
  work: (items: readonly T[]) => Promise<R>,
  { weigh = () => 0, full = 1 }: GatheringOptions<T> = {},
): (item: T) => Promise<R> {
  let waiting: Waiting<T, R>[] = [];
  let working = 0;
  let isDue = false;

  function begin(): void {
    if (isDue || working === AT_ONCE) return;
    isDue = true;
    void turn().then(() => {
      isDue = false;
      if (waiting.length > 0 && (working === 0 || isFull())) void workOff();
    });
  }

  function isFull(): boolean {
    return waiting.reduce((sum, { item }) => sum + weigh(item), 0) >= full;
  }

  async function workOff(): Promise<void> {
    working++;
    const taken = take();
    if (isFull()) begin();
    try {
      const result = await work(taken.map(({ item }) => item));
      for (const { resolve } of taken) resolve(result);
    } catch (error) {
      for (const { reject } of taken) reject(error);
    }
    working--;
    if (waiting.length > 0) begin();
  }

  function take(): readonly Waiting<T, R>[] {
    let weight = 0;
    let count = 0;
    for (const { item } of waiting) {
      weight += weigh(item);
      if (count > 0 && weight > full) break;
      count++;
    }
    const taken = waiting.slice(0, count);
    waiting = waiting.slice(count);
    return taken;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      begin();
    });
}
