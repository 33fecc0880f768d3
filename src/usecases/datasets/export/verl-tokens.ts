import { findTokenValueFault } from '../../../domain/training/planning/token-fault.ts';
import { unpack } from '../../../events/packed.ts';
import type { RecordedStep } from '../../../projections/trajectories/recorded-tree.ts';
import { DatasetError } from '../dataset-error.ts';
import type { ExportStep, ExportTrajectory } from './export-trajectory.ts';

/**
 * The tokens of one step as recorded: mask 1 where the policy sampled, 0 where it was shown; log-probabilities 0 where it was
 * shown.
 */
export interface StepTokens {
  readonly ids: readonly number[];
  readonly mask: readonly number[];
  readonly logProbs: readonly number[] | null;
}

/**
 * Unpacks the tokens of a step; null where the engine gave none. Without a mask all are the policy's own. @throws DatasetError
 * `bad-row`.
 */
export function stepTokens({ tokens, stepId }: Pick<RecordedStep, 'tokens' | 'stepId'>): StepTokens | null {
  if (tokens === null) return null;
  const ids = unpack(tokens.ids);
  const mask = tokens.mask === null ? ids.map(() => 1) : unpack(tokens.mask);
  const logProbs = tokens.logProbs && unpack(tokens.logProbs).map((value, i) => (mask[i] === 1 ? value : 0));
  if (mask.length !== ids.length || (logProbs !== null && logProbs.length !== ids.length))
    throw new DatasetError(
      'bad-row',
      `step ${stepId}: ${ids.length} token ids, ${mask.length} of a mask and ${logProbs?.length ?? 'no'} log-probabilities do not fit each other; leave this trajectory out by a filter`,
    );
  const fault = findTokenValueFault(`step ${stepId}`, { ids, mask, logProbs });
  if (fault !== null) throw new DatasetError('bad-row', `${fault}; leave this trajectory out by a filter`);
  return { ids, mask, logProbs };
}

/** The steps that the rollout itself took: those before are of an earlier rollout, and are its prompt. */
export function splitOwn({ rollout, root, steps }: ExportTrajectory): {
  readonly context: readonly ExportStep[];
  readonly own: readonly ExportStep[];
} {
  const from = rollout.fromStepId === root.stepId ? 0 : steps.findIndex(({ stepId }) => stepId === rollout.fromStepId) + 1;
  return { context: steps.slice(0, from), own: steps.slice(from) };
}

/** As `splitOwn`, what others took at the beginning (a guide, an imported context) with the prompt. */
export function splitPolicy(trajectory: ExportTrajectory): ReturnType<typeof splitOwn> {
  const { context, own } = splitOwn(trajectory);
  const found = own.findIndex((step) => tookBy(step, trajectory.rollout));
  const from = found < 0 ? own.length : found;
  return { context: [...context, ...own.slice(0, from)], own: own.slice(from) };
}

/** Counts the steps that others took. */
export function othersInside(steps: readonly ExportStep[], rollout: ExportTrajectory['rollout']): number {
  return steps.filter((step) => !tookBy(step, rollout)).length;
}

/** Whether the policy of a rollout took a step: what others took is nothing to train it on. */
export function tookBy({ policySpans }: ExportStep, { policyId }: ExportTrajectory['rollout']): boolean {
  return policySpans.some((span) => span.policyId === policyId);
}
