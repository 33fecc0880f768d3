/** Blue-green for what is worth more, orange for what is worth less: they differ for every kind of colour vision. */
const STOPS: readonly (readonly [number, readonly [number, number, number]])[] = [
  [0, [166, 82, 16]],
  [0.25, [230, 170, 110]],
  [0.5, [232, 228, 216]],
  [0.75, [120, 186, 196]],
  [1, [14, 106, 122]],
];

/** Returns the colour of a value between two ends. */
export function colourOf(value: number, low: number, high: number): string {
  const at = high === low ? 0.5 : Math.min(1, Math.max(0, (value - low) / (high - low)));
  const above = STOPS.findIndex(([stop]) => stop >= at);
  const [to, b] = STOPS[Math.max(above, 1)] ?? STOPS[STOPS.length - 1]!;
  const [from, a] = STOPS[Math.max(above, 1) - 1]!;
  const part = (at - from) / (to - from);
  const mix = a.map((each, i) => Math.round(each + part * (b[i]! - each)));
  return `rgb(${mix.join(' ')})`;
}

/** Returns the ends of a scale for some values: around 0 where they lie on both sides of it. */
export function scaleOf(values: Iterable<number>): readonly [number, number] {
  let [low, high] = [0, 0];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (low >= 0) return [0, high === 0 ? 1 : high];
  const reach = Math.max(-low, high);
  return [-reach, reach];
}
