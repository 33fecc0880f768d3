import type { DataOf } from '../../events/catalogue.ts';
import type { Envelope } from '../../events/envelope.ts';
import type { Row } from '../../postgres/table.ts';
import type { Part } from './merge-rows.ts';
import type { tables } from './tables.ts';

/** The rows that the events of trees become. */

export const GROUP_PARTS = {
  opened: ['opened_at', 'run_id', 'task_id', 'planned_rollouts'],
  closed: ['closed_at', 'close_reason'],
} as const;
export type GroupPart = Part<typeof tables.groups, keyof typeof GROUP_PARTS>;
export function openedPart({ data, occurredAt }: Envelope<'TreeOpened'>): GroupPart {
  const values = { run_id: data.runId, task_id: data.task.taskId, planned_rollouts: data.plannedRollouts, opened_at: occurredAt };
  return { part: 'opened', key: data.treeId, values };
}
export function closedPart({ data, occurredAt }: Envelope<'TreeClosed'>): GroupPart {
  return { part: 'closed', key: data.treeId, values: { closed_at: occurredAt, close_reason: data.reason } };
}

export const SAMPLE_PARTS = {
  started: ['started_at', 'ordinal', 'policy_id', 'policy_version'],
  finished: ['finished_at', 'outcome', 'success', 'leaf_step_id'],
} as const;
export type SamplePart = Part<typeof tables.samples, keyof typeof SAMPLE_PARTS>;
export function startedPart({ data, occurredAt }: Envelope<'RolloutStarted'>): SamplePart {
  const { policyId, version } = data.policy;
  const values = { ordinal: data.ordinal, policy_id: policyId, policy_version: version, started_at: occurredAt };
  return { part: 'started', key: data.rolloutId, values: { tree_id: data.treeId, ...values } };
}
export function finishedPart({ data, occurredAt }: Envelope<'RolloutFinished'>): SamplePart {
  const { treeId: tree_id, outcome, success, leafStepId: leaf_step_id } = data;
  return { part: 'finished', key: data.rolloutId, values: { tree_id, finished_at: occurredAt, outcome, success, leaf_step_id } };
}

export type StepRow = Row<typeof tables.sample_steps>;

/**
 * Measures a step. Sampled are the recorded token ids; without them what the server counted; without that what the spans cover.
 */
export function stepRow(data: DataOf<'StepTaken'>, rolloutId: string): StepRow {
  const versions = data.policySpans.map(({ version }) => version);
  const covered = Math.max(...data.policySpans.map(({ to }) => to));
  const sampled = data.tokens?.ids.length ?? data.usage?.completionTokens ?? covered;
  return {
    step_id: data.stepId,
    rollout_id: rolloutId,
    sampled_tokens: sampled,
    // the column's most: two counts may exceed it
    context_tokens: Math.min((data.usage?.promptTokens ?? 0) + sampled, 2_147_483_647),
    oldest_version: Math.min(...versions),
    newest_version: Math.max(...versions),
    policies: [...new Set(data.policySpans.map(({ policyId }) => policyId))],
    has_tokens: data.tokens !== null,
    has_log_probs: (data.tokens?.logProbs ?? null) !== null,
    has_anchor: data.stateHash !== null,
  };
}

export type RewardRow = Row<typeof tables.sample_rewards>;
export function rewardRow({ data, occurredAt }: Envelope<'RewardAssigned'>): RewardRow {
  return {
    reward_id: data.rewardId,
    rollout_id: data.rolloutId,
    step_id: data.stepId,
    component: data.component,
    value: data.value,
    assigned_at: occurredAt,
    revised_by: [],
  };
}
