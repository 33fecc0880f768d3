import type { PolicySpan, RecordedRollout } from '../../../projections/trajectories/recorded-tree.ts';
import { labelLines } from './annotations-on.ts';
import type { ExportTrajectory } from './export-trajectory.ts';

/** The columns that both layouts have: the group, the trajectory, where it came from and how it ended. */
export function episodeColumns({
  head,
  rollout,
  returnValue,
  steps,
  annotations,
}: ExportTrajectory): Readonly<Record<string, unknown>> {
  return {
    uid: head.treeId,
    traj_uid: rollout.rolloutId,
    data_source: head.environment,
    episode_rewards: returnValue,
    episode_lengths: steps.length,
    outcome: rollout.outcome,
    success: rollout.success,
    extra_info: {
      split: head.split,
      index: rollout.ordinal,
      run_id: head.runId,
      task_id: head.taskId,
      task_alias: head.alias,
      goal: head.goal,
      seed: BigInt(rollout.seed),
      labels: labelLines(annotations),
    },
  };
}

/** The policy and its versions over a row: the first and the last that sampled in it, and every span. */
export function versionColumns(spans: readonly PolicySpan[], rollout: RecordedRollout): Readonly<Record<string, unknown>> {
  return {
    policy_id: spans[0]?.policyId ?? rollout.policyId,
    param_version_start: spans[0]?.version ?? rollout.policyVersion,
    param_version_end: spans.at(-1)?.version ?? rollout.policyVersion,
    policy_spans: spans.map(({ from, to, policyId, version }) => ({ from, to, policy_id: policyId, version })),
  };
}

/** Rewards as rows of a component and its sum. */
export function componentRows(rewards: Readonly<Record<string, number>>): readonly { component: string; value: number }[] {
  return Object.entries(rewards).map(([component, value]) => ({ component, value }));
}
