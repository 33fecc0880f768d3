import type { BatchRecord } from '../../src/projections/training-pool/read-batches.ts';
import { refusal } from '../errors.ts';

const LIMIT = { samples: 4_096, tokens: 5_000_000 }; // some 100 MB of tokens while they are computed on

/** Bounds the batches that one request has estimated: each is read whole, however little of it is shown. */
export class EstimateBudget {
  readonly #limit: typeof LIMIT;
  #samples = 0;
  #tokens = 0;

  constructor(limit = LIMIT) {
    this.#limit = limit;
  }

  /** @throws LIMIT_EXCEEDED when the request has asked for more in all. */
  spend({ ordinal, samples, tokens }: Pick<BatchRecord, 'ordinal' | 'samples' | 'tokens'>): void {
    this.#samples += samples;
    this.#tokens += tokens;
    const limit = this.#limit;
    if (this.#samples > limit.samples || this.#tokens > limit.tokens)
      throw refusal(
        'LIMIT_EXCEEDED',
        `with batch ${ordinal} (${samples} samples, ${tokens} tokens) this query has more than ${limit.samples} samples or ${limit.tokens} tokens estimated; ask for the estimates of fewer batches at once, of a larger one by the rows of its lease`,
      );
  }
}
