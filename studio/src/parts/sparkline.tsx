import { largest, smallest } from '../../../src/domain/extremes.ts';

const WIDTH = 72;
const HEIGHT = 18;

/** Draws values in their order as a line of the height of a row. */
export function Sparkline({ values, label }: { readonly values: readonly number[]; readonly label: string }) {
  if (values.length < 2) return <span className="faint">–</span>;
  const [low, high] = [smallest(values), largest(values)];
  const flat = high - low <= 1e-9 * Math.max(Math.abs(low), Math.abs(high)); // the last bits of sums are no change
  const span = flat ? 1 : high - low;
  const points = values.map((value, at) => {
    const x = (at / (values.length - 1)) * (WIDTH - 2) + 1;
    const y = flat ? HEIGHT / 2 : HEIGHT - 2 - ((value - low) / span) * (HEIGHT - 4);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  return (
    <svg className="sparkline" width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      <title>{label}</title>
      <polyline points={points.join(' ')} />
    </svg>
  );
}
