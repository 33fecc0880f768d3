import type { PolicyOutcomesQuery, PolicyPageQuery } from '../../../graphql/studio/generated/operations.ts';
import type { Point } from '../parts/point.ts';

type Version = NonNullable<PolicyPageQuery['policy']>['versions']['nodes'][number];
type Outcome = NonNullable<PolicyOutcomesQuery['policy']>['versions']['nodes'][number];

/** A policy whose versions are drawn: what its updates measured, and what their samples amount to as far as that is known. */
export interface Curved {
  readonly id: string;
  readonly versions: readonly Version[];
  readonly outcomes: readonly Outcome[];
}

// What is looked at first, in this order: each by the names that trainers have for it.
const FIRST: readonly (readonly string[])[] = [
  ['success'],
  ['return', 'meanReturn'],
  ['entropy'],
  ['kl', 'oldKl', 'approxKl', 'klLoss'],
  ['clipFraction', 'clipfrac'],
  ['staleness'],
  ['gradientNorm', 'gradNorm'],
  ['tokens per second'],
  ['loss'],
];
const RANKS = new Map(FIRST.flatMap((names, rank) => names.map((name) => [name, rank] as const)));

/** Returns the numbers of versions by what they measure, what is looked at first in front. */
export function curvesOf(policies: readonly Curved[]): readonly (readonly [string, readonly Point[]])[] {
  const byName = new Map<string, Point[]>();
  const add = (series: string, version: number, name: string, value: unknown) => {
    if (typeof value !== 'number' || !Number.isFinite(value)) return;
    const points = byName.get(name) ?? [];
    points.push({ series, x: version, y: value, title: `${series}, version ${version}: ${value}` });
    byName.set(name, points);
  };
  for (const { id, versions, outcomes } of policies) {
    const measured = new Set(versions.flatMap(({ metrics }) => Object.keys((metrics ?? {}) as object)));
    for (const { version, metrics } of versions.toReversed())
      for (const [name, value] of Object.entries((metrics ?? {}) as Readonly<Record<string, unknown>>))
        add(id, version, name, value);
    for (const { version, outcome } of outcomes.toReversed()) {
      if (!measured.has('success')) add(id, version, 'success', outcome?.successRate);
      if (!measured.has('return') && !measured.has('meanReturn')) add(id, version, 'return', outcome?.meanReturn);
      if (!measured.has('staleness')) add(id, version, 'staleness', outcome?.staleness);
      add(id, version, 'tokens per second', outcome?.tokensPerSecond);
    }
  }
  const rank = (name: string) => RANKS.get(name) ?? FIRST.length;
  return [...byName].sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b));
}
