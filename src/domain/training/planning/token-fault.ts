/** What rounding in float32 may leave above 0. */
const ROUNDING = 1e-5;

/** The token arrays of a step as they lie in the record; typed arrays and plain ones. */
export interface TokenValues {
  readonly ids: ArrayLike<number>;
  readonly mask: ArrayLike<number> | null;
  readonly logProbs: ArrayLike<number> | null;
}

/**
 * Finds token values that no trainer can use: ids below 0, log-probabilities of sampled tokens that are not finite or above 0
 * (specification of Agent-R1, §3.4). Null where there are none. What was shown has no log-probability that counts.
 */
export function findTokenValueFault(where: string, { ids, mask, logProbs }: TokenValues): string | null {
  for (let t = 0; t < ids.length; t++) {
    const id = ids[t] ?? 0;
    if (id < 0) return `${where}: token ${t} has the id ${id}; ids of a vocabulary begin at 0`;
  }
  return findLogProbFault(where, logProbs, ids.length, mask);
}

/** Whether a number is a log-probability that can be computed with. */
export function isLogProb(value: number): boolean {
  return value <= ROUNDING && value > Number.NEGATIVE_INFINITY;
}

/** Finds what is wrong with the log-probabilities of sampled tokens; null where nothing is, or none are recorded. */
export function findLogProbFault(
  where: string,
  logProbs: ArrayLike<number> | null,
  tokens: number,
  mask: ArrayLike<number> | null = null,
): string | null {
  if (logProbs === null) return null;
  if (logProbs.length !== tokens)
    return `${where} has ${logProbs.length} log-probabilities for ${tokens} token ids; the producer recorded arrays that do not fit each other`;
  for (let t = 0; t < tokens; t++) {
    const value = logProbs[t] ?? Number.NaN;
    if ((mask === null || mask[t] === 1) && !isLogProb(value))
      return `${where}: token ${t} has the log-probability ${value}, which is no finite number of at most 0; the server or the producer recorded it so`;
  }
  return null;
}
