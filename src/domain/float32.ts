/** Whether a number is what it was when it is stored in float32: a finite one beyond 3.4e38 becomes infinite. */
export function fitsFloat32(value: number): boolean {
  return Number.isFinite(Math.fround(value)) || !Number.isFinite(value);
}

/** What is wrong with a log-probability that does not. */
export const BEYOND_FLOAT32 = 'is infinite in float32, in which log-probabilities are recorded';
