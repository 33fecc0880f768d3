import type { Decision } from './plan-batches.ts';
import type { RecordFault } from './record-fault.ts';

export interface MixedMember {
  readonly treeId: string;
  readonly rolloutId: string;
  readonly fault: RecordFault;
}

/**
 * Finds the members of the first mixed batch that were sampled at another temperature than most of it (of equally many, the lowest
 * one counts); none where every batch has one temperature. What follows that batch is planned again, so its members are not
 * looked at.
 */
export function findMixedMembers(
  decisions: readonly Decision[],
  temperatureOf: (treeId: string, rolloutId: string) => number | undefined,
): readonly MixedMember[] {
  for (const decision of decisions) {
    if (decision.kind !== 'plan') continue;
    const members = decision.batch.groups.flatMap(({ treeId, rolloutIds }) =>
      rolloutIds.map((rolloutId) => ({ treeId, rolloutId, temperature: temperatureOf(treeId, rolloutId) })),
    );
    const counts = new Map<number, number>();
    for (const { temperature } of members)
      if (temperature !== undefined) counts.set(temperature, (counts.get(temperature) ?? 0) + 1);
    const [[usual] = []] = [...counts].sort(([a, x], [b, y]) => y - x || a - b);
    if (counts.size < 2) continue;
    return members.flatMap(({ treeId, rolloutId, temperature }) => {
      if (temperature === undefined || temperature === usual) return [];
      const rule = `it was sampled at temperature ${temperature}, and its batch at ${usual}; an update has one temperature, so collect at one`;
      return [{ treeId, rolloutId, fault: { reason: 'other-distribution', rule, measured: temperature } }];
    });
  }
  return [];
}
