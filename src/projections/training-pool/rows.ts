import type { DataOf } from '../../events/catalogue.ts';
import type { Envelope } from '../../events/envelope.ts';
import type { Part, PartColumns } from './merge-rows.ts';

/** The rows that the events of trees become, with the column types of their bulk writes beside them. */

export const GROUP_PARTS: PartColumns = {
  shared: {},
  parts: {
    opened: {
      marker: 'opened_at',
      columns: { run_id: 'uuid', task_id: 'uuid', planned_rollouts: 'integer', opened_at: 'timestamptz' },
    },
    closed: { marker: 'closed_at', columns: { closed_at: 'timestamptz', close_reason: 'text' } },
  },
};
export function openedPart({ data, occurredAt }: Envelope<'TreeOpened'>): Part {
  const values = { run_id: data.runId, task_id: data.task.taskId, planned_rollouts: data.plannedRollouts, opened_at: occurredAt };
  return { part: 'opened', key: data.treeId, values };
}
export function closedPart({ data, occurredAt }: Envelope<'TreeClosed'>): Part {
  return { part: 'closed', key: data.treeId, values: { closed_at: occurredAt, close_reason: data.reason } };
}

export const SAMPLE_PARTS: PartColumns = {
  shared: { tree_id: 'uuid' },
  parts: {
    started: {
      marker: 'started_at',
      columns: { ordinal: 'integer', policy_id: 'text', policy_version: 'integer', started_at: 'timestamptz' },
    },
    finished: {
      marker: 'finished_at',
      columns: { finished_at: 'timestamptz', outcome: 'text', success: 'boolean', leaf_step_id: 'uuid' },
    },
  },
};
export function startedPart({ data, occurredAt }: Envelope<'RolloutStarted'>): Part {
  const { policyId, version } = data.policy;
  const values = { ordinal: data.ordinal, policy_id: policyId, policy_version: version, started_at: occurredAt };
  return { part: 'started', key: data.rolloutId, values: { tree_id: data.treeId, ...values } };
}
export function finishedPart({ data, occurredAt }: Envelope<'RolloutFinished'>): Part {
  const { treeId: tree_id, outcome, success, leafStepId: leaf_step_id } = data;
  return { part: 'finished', key: data.rolloutId, values: { tree_id, finished_at: occurredAt, outcome, success, leaf_step_id } };
}

export const STEP_COLUMNS = {
  step_id: 'uuid',
  rollout_id: 'uuid',
  sampled_tokens: 'integer',
  context_tokens: 'integer',
  oldest_version: 'integer',
  newest_version: 'integer',
  policies: 'jsonb',
  has_tokens: 'boolean',
  has_log_probs: 'boolean',
  has_anchor: 'boolean',
};
export type StepRow = Record<keyof typeof STEP_COLUMNS, unknown>;

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

export const REWARD_COLUMNS = {
  reward_id: 'uuid',
  rollout_id: 'uuid',
  step_id: 'uuid',
  component: 'text',
  value: 'double precision',
  assigned_at: 'timestamptz',
  revised_by: 'jsonb',
};
export type RewardRow = Record<keyof typeof REWARD_COLUMNS, unknown>;
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
