import { refusal } from '../errors.ts';

const REQUEST_LIMIT = 48; // histories, each at one factor: about 40 ms of a processor

/** Bounds how many histories one request has drawn again at other factors. */
export class RedrawBudget {
  #left = REQUEST_LIMIT;

  /** @throws LIMIT_EXCEEDED when the request has asked for more in all. */
  spend(factors: number): void {
    this.#left -= factors;
    if (this.#left < 0)
      throw refusal(
        'LIMIT_EXCEEDED',
        `this query asks for more than ${REQUEST_LIMIT} histories at other factors; ask for fewer factors, or of fewer images at once`,
      );
  }
}
