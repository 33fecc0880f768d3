import { useMemo } from 'react';
import { decimal, whole } from '../parts/format.ts';
import { historyOf, type Statistics } from './search.ts';
import type { Outline } from './use-outline.ts';

const WIDTH = 260;
const HEIGHT = 48;

/** How the visits and the value of a node came about, simulation by simulation, up to the one that is shown. */
export function NodeHistory({
  outline,
  step,
  simulation,
}: {
  readonly outline: Outline;
  readonly step: string;
  readonly simulation: number;
}) {
  const history = useMemo(() => historyOf(outline, step), [outline, step]);
  const last = outline.backUps.length;
  if (history.length === 0 || last === 0) return null;
  return (
    <div className="node-history">
      {(['visits', 'value'] as const).map((name) => (
        <figure key={name}>
          <figcaption className="faint">{`${name} by simulation`}</figcaption>
          <Line history={history} name={name} last={last} at={simulation} />
        </figure>
      ))}
    </div>
  );
}

function Line({
  history,
  name,
  last,
  at,
}: {
  readonly history: readonly (Statistics & { readonly simulation: number })[];
  readonly name: 'visits' | 'value';
  readonly last: number;
  readonly at: number;
}) {
  let [low, high] = [0, 0];
  for (const each of history) [low, high] = [Math.min(low, each[name]), Math.max(high, each[name])];
  const x = (simulation: number) => (WIDTH * simulation) / last;
  const y = (value: number) => HEIGHT - 3 - ((HEIGHT - 6) * (value - low)) / (high - low || 1);
  const [first] = history;
  let path = `M${x(first?.simulation ?? 0)} ${y(first?.[name] ?? 0)}`;
  for (const each of history) path += `H${x(each.simulation).toFixed(1)}V${y(each[name]).toFixed(1)}`;
  const newest = history.findLast(({ simulation }) => simulation <= at);
  const said = `${name} after simulation ${at}: ${newest ? (name === 'visits' ? whole(newest.visits) : decimal(newest.value)) : 'none'}, between ${decimal(low)} and ${decimal(high)}`;
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={said} preserveAspectRatio="none">
      <title>{said}</title>
      <line x1={x(at)} x2={x(at)} y1="0" y2={HEIGHT} className="node-history-at" />
      <path d={`${path}H${WIDTH}`} className="node-history-line" />
    </svg>
  );
}
