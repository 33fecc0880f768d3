import { refusal } from '../errors.ts';

/** Bounds what one request reads of one kind in all, however little of it is shown. */
export class Budget<Amount extends string> {
  readonly #kind: string;
  readonly #limits: Readonly<Record<Amount, number>>;
  readonly #refusal: (last: string) => string;
  readonly #spent: Partial<Record<Amount, number>> = {};

  /** @param refusal words what is too much; `last` is what the caller named when it was. */
  constructor(kind: string, limits: Readonly<Record<Amount, number>>, refusal: (last: string) => string) {
    this.#kind = kind;
    this.#limits = limits;
    this.#refusal = refusal;
  }

  /** @throws LIMIT_EXCEEDED when the request has asked for more in all. */
  spend(amounts: Readonly<Record<Amount, number>>, last = ''): void {
    for (const name in this.#limits) {
      const spent = (this.#spent[name] ?? 0) + amounts[name];
      this.#spent[name] = spent;
      if (spent > this.#limits[name]) throw refusal('LIMIT_EXCEEDED', this.#refusal(last), { limit: this.#kind });
    }
  }
}

/** Bounds the batches that one request has estimated: each is read whole. */
export type EstimateBudget = Budget<'samples' | 'tokens'>;

const ESTIMATED = { samples: 4_096, tokens: 5_000_000 }; // some 100 MB of tokens while they are computed on

export function createEstimateBudget(limits = ESTIMATED): EstimateBudget {
  return new Budget(
    'estimates',
    limits,
    (batch) =>
      `with ${batch} this query has more than ${limits.samples} samples or ${limits.tokens} tokens estimated; ask for the estimates of fewer batches at once, of a larger one by the rows of its lease`,
  );
}

/** Bounds the paths that one request reads: each is as long as its leaf is deep, which no limit on the document alone would hold. */
export type PathBudget = Budget<'steps' | 'hops'>;

const PATHS = {
  steps: 100_000, // some 10 µs each
  hops: 1_000_000, // some 3 µs each: a step knows its parent only, so that every part is reached from its leaf
};

export function createPathBudget(): PathBudget {
  return new Budget(
    'paths',
    PATHS,
    () =>
      `the paths of this query have more than ${PATHS.steps} steps, or lie under more than ${PATHS.hops}; ask for fewer paths at once, for parts of them (first, after), or for the steps of the tree`,
  );
}

const HISTORIES = 48; // each at one factor: about 40 ms of a processor

/** Bounds how many histories one request has drawn again at other factors. */
export function createRedrawBudget(): Budget<'histories'> {
  return new Budget(
    'redrawn histories',
    { histories: HISTORIES },
    () =>
      `this query asks for more than ${HISTORIES} histories at other factors; ask for fewer factors, or of fewer images at once`,
  );
}

const SEGMENTS = 100_000; // a history of 1,000 steps asked at each of 100 steps; some 50 MB of records with short texts

/**
 * Bounds the segments that one request reads: histories repeat what was before, so that a path of n steps has n² / 2 of them,
 * which no limit on steps alone would hold.
 */
export function createSegmentBudget(): Budget<'segments'> {
  return new Budget(
    'segments',
    { segments: SEGMENTS },
    () =>
      `the histories of this query have more than ${SEGMENTS} segments; ask for the segments of fewer steps at once: each history begins with the one before`,
  );
}
