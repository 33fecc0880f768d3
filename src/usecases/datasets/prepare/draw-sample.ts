import { seedFrom } from '../../../domain/random/seed-from.ts';

/**
 * Draws up to `limit` items without replacement while they pass by, in memory for twice as many: every item gets a number from
 * the seed and its own id alone, and those with the smallest numbers are the sample. So neither the order of the files nor how
 * they are cut changes what is drawn, and a larger sample of the same seed holds the smaller one. Reservoir sampling has neither
 * property.
 */
export class Draw<T> {
  readonly #seed: number;
  readonly #label: string;
  readonly #limit: number;
  #kept: { readonly key: number; readonly id: string; readonly item: T }[] = [];

  /** @param label separates this draw from others with the same seed. @param limit Infinity keeps all, in the drawn order. */
  constructor(seed: number, label: string, limit: number) {
    this.#seed = seed;
    this.#label = label;
    this.#limit = limit;
  }

  /** Lets an item pass by. The caller keeps ids distinct: two of one name would get one number. */
  add(id: string, item: T): void {
    if (this.#limit === 0) return;
    this.#kept.push({ key: seedFrom('draw', this.#seed, this.#label, id), id, item });
    if (this.#kept.length >= 2 * Math.max(this.#limit, 512)) this.#cut(); // sorted once per `limit` items: n log k in all
  }

  /** Returns the sample in the drawn order. */
  take(): readonly T[] {
    this.#cut();
    return this.#kept.map(({ item }) => item);
  }

  #cut(): void {
    this.#kept.sort((a, b) => a.key - b.key || (a.id < b.id ? -1 : 1));
    if (this.#kept.length > this.#limit) this.#kept.length = this.#limit;
  }
}
