import { at } from '../rows/rows.ts';
import { sumOf } from '../statistics/sum.ts';

/** log softmax of one token's logits, by the largest logit so that nothing overflows. */
export function logSoftmax(logits: ArrayLike<number>): Float64Array {
  const all = Float64Array.from(logits);
  const top = all.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const log = top + Math.log(sumOf(all.map((z) => Math.exp(z - top))));
  return all.map((z) => z - log);
}

/** H = logsumexp(z) − Σ softmax(z)·z, in nats. */
export function entropyOfLogits(logits: ArrayLike<number>): number {
  return -sumOf(logSoftmax(logits).map((log) => (log === Number.NEGATIVE_INFINITY ? 0 : Math.exp(log) * log)));
}

/** dH/dz_j = −p_j·(log p_j + H). */
export function entropyGradient(logits: ArrayLike<number>): Float64Array {
  const logs = logSoftmax(logits);
  const entropy = entropyOfLogits(logits);
  return logs.map((log) => (log === Number.NEGATIVE_INFINITY ? 0 : -Math.exp(log) * (log + entropy)));
}

/** d log p_chosen / dz_j = 1[j = chosen] − p_j: from the slope of a token's log-prob to that of its logits. */
export function logProbGradient(logits: ArrayLike<number>, chosen: number): Float64Array {
  const logs = logSoftmax(logits);
  at(logs, chosen);
  return logs.map((log, j) => (j === chosen ? 1 : 0) - Math.exp(log));
}
