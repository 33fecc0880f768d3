/** What a bench found: its figures, and the conditions under which they hold. */
export interface Outcome {
  readonly bench: string;
  readonly figures: readonly Figure[];
  readonly conditions: Conditions;
  /** What makes a bench fail, each in one line. */
  readonly failures?: readonly string[];
}

/** A measured number with the simple form of the same work, measured in the same run. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: Unit;
  /** Null for a figure that only informs. */
  readonly baseline: { readonly name: string; readonly value: number; readonly unit: Unit } | null;
  readonly goal: Goal | null;
}
export type Unit = 'events/s' | 'min' | 'steps/s' | 'samples/s' | 'tokens/s' | 'MB/s' | 'ms' | 'bytes' | 'times' | 'steps';

/**
 * `ratio`: figure / baseline at least this; `share`: at most. `below`, `at-least`: the figure itself under this, or not under it.
 */
export type Goal =
  | { readonly kind: 'ratio'; readonly least: number }
  | { readonly kind: 'share'; readonly most: number }
  | { readonly kind: 'below' | 'at-least'; readonly limit: number };

export type Conditions = Readonly<Record<string, string | number>>;

/** Returns figure / baseline, or undefined when there is no baseline to divide by. */
export function ratioOf({ value, baseline }: Figure): number | undefined {
  return baseline === null || baseline.value === 0 ? undefined : value / baseline.value;
}

/** Returns whether a figure reaches its goal; undefined when it has none. */
export function isMet(figure: Figure): boolean | undefined {
  const { goal } = figure;
  if (goal === null) return undefined;
  switch (goal.kind) {
    case 'ratio':
      return (ratioOf(figure) ?? 0) >= goal.least;
    case 'share':
      return (ratioOf(figure) ?? Number.POSITIVE_INFINITY) <= goal.most;
    case 'below':
      return figure.value < goal.limit;
    case 'at-least':
      return figure.value >= goal.limit;
    default:
      return goal satisfies never;
  }
}

/** Writes an outcome for people: one line per figure, then the conditions. */
export function describeOutcome({ bench, figures, conditions }: Outcome): string {
  const lines = figures.map((figure) => `${bench.padEnd(8)} ${describeFigure(figure)}`);
  const held = Object.entries(conditions).map(([name, value]) => `${name} ${value}`);
  return [...lines, `${' '.repeat(9)}(${held.join('; ')})`].join('\n');
}

function describeFigure(figure: Figure): string {
  const { name, value, unit, baseline, goal } = figure;
  const ratio = ratioOf(figure);
  const parts = [`${name}: ${amount(value, unit)}`];
  if (baseline !== null) parts.push(`${baseline.name}: ${amount(baseline.value, baseline.unit)}`);
  if (ratio !== undefined) parts.push(`ratio ${ratio.toFixed(2)}`);
  if (goal !== null) parts.push(`goal ${wanted(goal, unit)}: ${isMet(figure) ? 'met' : 'NOT MET'}`);
  return parts.join(' | ');
}

function wanted(goal: Goal, unit: Unit): string {
  if (goal.kind === 'ratio') return `ratio >= ${goal.least}`;
  if (goal.kind === 'share') return `ratio <= ${goal.most}`;
  return `${goal.kind === 'below' ? '<' : '>='} ${amount(goal.limit, unit)}`;
}

function amount(value: number, unit: Unit): string {
  const digits = unit === 'ms' ? 1 : unit === 'times' || unit === 'min' ? 2 : 0;
  return `${value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit}`;
}
