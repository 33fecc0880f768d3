import { refusal } from '../errors.ts';

const REQUEST_LIMIT = 100_000; // a history of 1,000 steps asked at each of 100 steps; some 50 MB of records with short texts

/**
 * Bounds the segments that one request reads: histories repeat what was before, so that a path of n steps has n² / 2 of them,
 * which no limit on steps alone would hold.
 */
export class SegmentBudget {
  #left: number;

  constructor(limit = REQUEST_LIMIT) {
    this.#left = limit;
  }

  /** @throws LIMIT_EXCEEDED when the request has asked for more in all. */
  spend(segments: number): void {
    this.#left -= segments;
    if (this.#left < 0)
      throw refusal(
        'LIMIT_EXCEEDED',
        `the histories of this query have more than ${REQUEST_LIMIT} segments; ask for the segments of fewer steps at once: each history begins with the one before`,
      );
  }
}
