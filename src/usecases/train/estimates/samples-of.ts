import { smallest } from '../../../domain/extremes.ts';
import { keyInTree } from '../../../projections/of-tree.ts';
import type { StepRow } from '../../../training/backends/step-row.ts';
import type { BatchRows, BatchStep, BatchTrajectory } from '../../../training/rows/batch-rows.ts';
import { ownSteps } from '../../../training/rows/jagged.ts';
import type { SampleEstimate, StepEstimate } from './batch-estimates.ts';
import type { Recomputed, RowEstimate } from './recompute-advantages.ts';

/**
 * Puts together what is recorded of the samples of a batch, or of some of its groups, and what an estimator made of them. @param
 * rows of `stepRowsOf`: own steps in the order of the batch.
 */
export function samplesOf(
  { batch, trajectories }: BatchRows,
  rows: readonly StepRow[],
  found: Recomputed | null,
): readonly SampleEstimate[] {
  const members = batch.groups.flatMap(({ treeId, rolloutIds }) => rolloutIds.map((id) => keyInTree(treeId, id)));
  const places = new Map(members.map((key, place) => [key, place]));
  let first = 0;
  return trajectories.map((trajectory): SampleEstimate => {
    const place = places.get(keyInTree(trajectory.treeId, trajectory.rolloutId)) ?? 0; // the manifest names every trajectory
    const own = ownSteps(trajectory);
    const ofOwn = rows.slice(first, first + own.length);
    first += own.length;
    let from = 0;
    const steps = own.map((step, i) => {
      const sampled = { sample: place, from };
      from += ofOwn[i]?.tokens?.ids.length ?? 0;
      return stepOf(batch, trajectory, { step, sampled }, ofOwn[i], found);
    });
    const oldest = smallest(ofOwn.map(({ version }) => version));
    return {
      batchId: batch.batchId,
      rolloutId: trajectory.rolloutId,
      treeId: trajectory.treeId,
      place,
      rewards: trajectory.rewards,
      return: ofOwn.reduce((sum, { reward }) => sum + reward, 0),
      steps,
      advantage: found && mean(ofOwn.flatMap((row) => [...(found.ofRow.get(row)?.advantages ?? [])])),
      staleness: finite(batch.policyVersion - oldest),
    };
  });
}

function stepOf(
  { batchId, policyVersion }: BatchRows['batch'],
  { treeId }: BatchTrajectory,
  { step: { stepId, rewards, anchor, tokens }, sampled }: { readonly step: BatchStep } & Pick<StepEstimate, 'sampled'>,
  row: StepRow | undefined,
  found: Recomputed | null,
): StepEstimate {
  const estimate = (row && found?.ofRow.get(row)) ?? null;
  // field by field, as rows are laid out
  return {
    batchId,
    treeId,
    stepId,
    rewards,
    anchor,
    number: row?.step ?? 0,
    reward: row?.reward ?? 0,
    tokenCount: tokens?.ids.length ?? null,
    maskLength: row?.tokens?.ids.length ?? null,
    sampled,
    logProb: row?.tokens?.logProbs ? finite(row.tokens.logProbs.reduce((sum, value) => sum + value, 0)) : null,
    staleness: row ? finite(policyVersion - row.version) : null,
    value: estimate?.value ?? null,
    bootstrap: estimate?.bootstrap ?? null,
    target: estimate && finite(estimate.returns[0]),
    advantage: estimate && mean(estimate.advantages),
    tokenAdvantages: estimate && apart(estimate),
  };
}

function apart({ advantages }: RowEstimate): readonly number[] | null {
  return advantages.every((value) => value === advantages[0]) ? null : [...advantages];
}

/** Returns the mean; of equal numbers that number itself, whatever rounding would make of their sum. */
function mean(values: ArrayLike<number>): number | null {
  const all = Array.from(values);
  if (all.every((value) => value === all[0])) return finite(all[0]);
  return finite(all.reduce((sum, value) => sum + value, 0) / all.length);
}

function finite(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
}
