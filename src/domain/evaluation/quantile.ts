/** Interpolates between the two nearest of sorted values. */
export function quantile(sorted: readonly number[], share: number): number {
  const at = share * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(at)] ?? 0, sorted[Math.ceil(at)] ?? 0]; // both lie inside: 0 <= share <= 1
  return below + (above - below) * (at - Math.floor(at));
}
