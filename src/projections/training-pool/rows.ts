import { largest, smallest } from '../../domain/extremes.ts';
import type { DataOf } from '../../events/catalogue.ts';
import type { Envelope } from '../../events/envelope.ts';
import type { Row } from '../../postgres/table.ts';
import type { Part } from './merge-rows.ts';
import type { tables } from './tables.ts';

/** The rows that the events of trees become. */

export const GROUP_PARTS = {
  opened: ['openedAt', 'runId', 'taskId', 'plannedRollouts'],
  closed: ['closedAt', 'closeReason'],
} as const;
export type GroupPart = Part<typeof tables.groups, keyof typeof GROUP_PARTS>;
export function openedPart({ data, occurredAt }: Envelope<'TreeOpened'>): GroupPart {
  const values = { runId: data.runId, taskId: data.task.taskId, plannedRollouts: data.plannedRollouts, openedAt: occurredAt };
  return { part: 'opened', key: { treeId: data.treeId }, values };
}
export function closedPart({ data, occurredAt }: Envelope<'TreeClosed'>): GroupPart {
  return { part: 'closed', key: { treeId: data.treeId }, values: { closedAt: occurredAt, closeReason: data.reason } };
}

export const SAMPLE_PARTS = {
  started: ['startedAt', 'ordinal', 'policyId', 'policyVersion'],
  finished: ['finishedAt', 'outcome', 'success', 'leafStepId'],
} as const;
export type SamplePart = Part<typeof tables.samples, keyof typeof SAMPLE_PARTS>;
export function startedPart({ data, occurredAt }: Envelope<'RolloutStarted'>): SamplePart {
  const { policyId, version } = data.policy;
  const values = { ordinal: data.ordinal, policyId, policyVersion: version, startedAt: occurredAt };
  return { part: 'started', key: { rolloutId: data.rolloutId, treeId: data.treeId }, values };
}
export function finishedPart({ data, occurredAt }: Envelope<'RolloutFinished'>): SamplePart {
  const { rolloutId, treeId, outcome, success, leafStepId } = data;
  return { part: 'finished', key: { rolloutId, treeId }, values: { finishedAt: occurredAt, outcome, success, leafStepId } };
}

export type StepRow = Row<typeof tables.sampleSteps>;

/**
 * Measures a step. Sampled are the recorded token ids; without them what the server counted; without that what the spans cover.
 */
export function stepRow(data: DataOf<'StepTaken'>, rolloutId: string): StepRow {
  const versions = data.policySpans.map(({ version }) => version);
  const covered = largest(data.policySpans.map(({ to }) => to));
  const sampled = data.tokens?.ids.length ?? data.usage?.completionTokens ?? covered;
  return {
    stepId: data.stepId,
    treeId: data.treeId,
    rolloutId,
    sampledTokens: sampled,
    // the column's most: two counts may exceed it
    contextTokens: Math.min((data.usage?.promptTokens ?? 0) + sampled, 2_147_483_647),
    oldestVersion: smallest(versions),
    newestVersion: largest(versions),
    policies: [...new Set(data.policySpans.map(({ policyId }) => policyId))],
    hasTokens: data.tokens !== null,
    hasLogProbs: (data.tokens?.logProbs ?? null) !== null,
    hasAnchor: data.stateHash !== null,
  };
}

export type RewardRow = Row<typeof tables.sampleRewards>;
export function rewardRow({ data, occurredAt }: Envelope<'RewardAssigned'>): RewardRow {
  return {
    rewardId: data.rewardId,
    treeId: data.treeId,
    rolloutId: data.rolloutId,
    stepId: data.stepId,
    component: data.component,
    value: data.value,
    assignedAt: occurredAt,
    revisedBy: [],
  };
}
