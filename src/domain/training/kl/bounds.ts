/** Keeps x within ±bound. */
export function clamp(x: number, bound: number): number {
  return Math.min(Math.max(x, -bound), bound);
}
