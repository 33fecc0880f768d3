import { refusal } from '../errors.ts';

const LIMIT = {
  steps: 100_000, // some 10 µs each
  hops: 1_000_000, // some 3 µs each: a step knows its parent only, so that every part is reached from its leaf
};

/**
 * Bounds the paths that one request reads: a path is as long as its leaf is deep, which no limit on the document alone would
 * hold.
 */
export class PathBudget {
  readonly #limit: typeof LIMIT;
  #steps = 0;
  #hops = 0;

  constructor(limit = LIMIT) {
    this.#limit = limit;
  }

  /** @throws LIMIT_EXCEEDED when the request has asked for more in all. */
  spend({ steps, hops }: { readonly steps: number; readonly hops: number }): void {
    this.#steps += steps;
    this.#hops += hops;
    const limit = this.#limit;
    if (this.#steps > limit.steps || this.#hops > limit.hops)
      throw refusal(
        'LIMIT_EXCEEDED',
        `the paths of this query have more than ${limit.steps} steps, or lie under more than ${limit.hops}; ask for fewer paths at once, for parts of them (first, after), or for the steps of the tree`,
        { limit: 'paths' },
      );
  }
}
