/** What a bench measured: its figures, and the conditions under which they hold. */
export interface BenchResult {
  readonly bench: string;
  readonly figures: readonly Figure[];
  readonly conditions: Conditions;
}

/** A measured number with the simple form of the same work, measured in the same run. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: Unit;
  /** Null for a figure that has none. */
  readonly baseline: { readonly name: string; readonly value: number; readonly unit: Unit } | null;
  /** Null for a figure that only informs. */
  readonly floor: Floor | null;
}
export type Unit = 'events/s' | 'steps/s' | 'calls/s' | 'images/s' | 'MB/s' | 'min' | 'ms' | 'bytes' | '%';

/** `ratio-*` bound figure / baseline, the others the figure itself. */
export interface Floor {
  readonly kind: 'ratio-at-least' | 'ratio-at-most' | 'at-least' | 'below';
  readonly limit: number;
}

export type Conditions = Readonly<Record<string, string | number>>;

/** Returns figure / baseline, or undefined when there is no baseline to divide by. */
export function ratioOf({ value, baseline }: Figure): number | undefined {
  return baseline === null || baseline.value === 0 ? undefined : value / baseline.value;
}

/** Returns whether a figure keeps its floor; undefined when it has none. */
export function isMet(figure: Figure): boolean | undefined {
  if (figure.floor === null) return undefined;
  const { kind, limit } = figure.floor;
  switch (kind) {
    case 'ratio-at-least':
      return (ratioOf(figure) ?? 0) >= limit;
    case 'ratio-at-most':
      return (ratioOf(figure) ?? Number.POSITIVE_INFINITY) <= limit;
    case 'at-least':
      return figure.value >= limit;
    case 'below':
      return figure.value < limit;
    default:
      return kind satisfies never;
  }
}

/** Writes an outcome for people: one line per figure, then the conditions. */
export function describeOutcome({ bench, figures, conditions }: BenchResult): string {
  const lines = figures.map((figure) => `${bench.padEnd(8)} ${describeFigure(figure)}`);
  const stated = Object.entries(conditions).map(([name, value]) => `${name} ${value}`);
  return [...lines, `${' '.repeat(9)}(${stated.join('; ')})`].join('\n');
}

function describeFigure(figure: Figure): string {
  const { name, value, unit, baseline, floor } = figure;
  const ratio = ratioOf(figure);
  const parts = [`${name}: ${amount(value, unit)}`];
  if (baseline !== null) parts.push(`${baseline.name}: ${amount(baseline.value, baseline.unit)}`);
  if (ratio !== undefined) parts.push(`ratio ${ratio.toFixed(2)}`);
  if (floor !== null) parts.push(`floor ${describeFloor(floor, unit)}: ${isMet(figure) ? 'met' : 'NOT MET'}`);
  return parts.join(' | ');
}

function describeFloor({ kind, limit }: Floor, unit: Unit): string {
  if (kind === 'ratio-at-least') return `ratio >= ${limit}`;
  if (kind === 'ratio-at-most') return `ratio <= ${limit}`;
  return `${kind === 'below' ? '<' : '>='} ${amount(limit, unit)}`;
}

function amount(value: number, unit: Unit): string {
  const digits = unit === 'ms' ? 1 : unit === 'min' ? 2 : 0;
  return `${value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit}`;
}

/**
 * Returns the value below or at which `share` (0–1) of the samples are (nearest rank). @throws RangeError when there is no
 * sample.
 */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  if (value === undefined) throw new RangeError('a percentile needs samples');
  return value;
}

/** Returns the middle sample. */
export function median(samples: readonly number[]): number {
  return percentile(samples, 0.5);
}

/** Returns the seconds that some work takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1_000;
}
