import type { Delivery, Envelope } from '../../events/envelope.ts';
import type { BlobRef, Text } from '../../events/schemas/values.ts';
import type { Row } from '../../postgres/table.ts';
import type { tables } from './tables.ts';

/** The rows that events of a tree become: one pure function per table. */

/** Splits text fields into inline text ('' when it lies in the blob store) and the references of those that do. */
function texts<Name extends string>(
  fields: Readonly<Record<Name, Text>>,
): Record<Name, string> & { blobs: Record<string, BlobRef> | null } {
  const inline: Record<string, string> = {};
  const blobs: Record<string, BlobRef> = {};
  for (const [name, text] of Object.entries<Text>(fields)) {
    inline[name] = typeof text === 'string' ? text : '';
    if (typeof text !== 'string') blobs[name] = text;
  }
  const references = Object.keys(blobs).length > 0 ? blobs : null;
  return Object.assign(inline as Record<Name, string>, { blobs: references }); // one inline entry per field
}

export function treeRow({
  data,
  occurredAt,
}: Envelope<'TreeOpened'>): Omit<Row<typeof tables.trees>, 'closed_at' | 'close_reason'> {
  return {
    tree_id: data.treeId,
    run_id: data.runId,
    task_id: data.task.taskId,
    environment: data.task.environment,
    server_fingerprint: data.task.serverFingerprint,
    observation_hash: data.task.observationHash,
    alias: data.task.alias,
    goal: data.task.goal,
    task_depth: data.task.depth,
    split: data.task.split,
    root_step_id: data.rootStepId,
    planned_rollouts: data.plannedRollouts,
    seed: data.seed,
    opened_at: occurredAt,
    ...texts({ instruction: data.instruction }),
  };
}

export function closeRow({
  data,
  occurredAt,
}: Envelope<'TreeClosed'>): Pick<Row<typeof tables.trees>, 'tree_id' | 'closed_at' | 'close_reason'> {
  return { tree_id: data.treeId, closed_at: occurredAt, close_reason: data.reason };
}

export type StepRow = Row<typeof tables.steps>;

export function stepRow({ event, offset }: Delivery<Envelope<'StepTaken'>>): StepRow {
  const { data } = event;
  return {
    step_id: data.stepId,
    tree_id: data.treeId,
    parent_step_id: data.parentStepId,
    rollout_id: data.rolloutId,
    depth: data.depth,
    log_offset: offset,
    well_formatted: data.wellFormatted,
    executable: data.executable,
    termination: data.termination,
    policy_spans: data.policySpans,
    tokens: data.tokens,
    prompt_tokens: data.usage?.promptTokens ?? null,
    completion_tokens: data.usage?.completionTokens ?? null,
    finish_reason: data.finishReason,
    call: data.call,
    policy_ms: data.timings.policyMs,
    environment_ms: data.timings.environmentMs,
    state_hash: data.stateHash,
    admissible: data.admissibleActions,
    occurred_at: event.occurredAt,
    ...texts({ response: data.response, thought: data.thought, action: data.action, observation: data.observation }),
  };
}

/** The root of a tree as a step of depth 0: no action led to it, its observation is the task's first. */
export function rootRow({ event, offset }: Delivery<Envelope<'TreeOpened'>>): StepRow {
  const { data } = event;
  return {
    step_id: data.rootStepId,
    tree_id: data.treeId,
    parent_step_id: null,
    rollout_id: null,
    depth: 0,
    log_offset: offset,
    response: '',
    thought: '',
    action: '',
    well_formatted: true,
    executable: true,
    termination: 'none',
    policy_spans: [],
    tokens: null,
    prompt_tokens: null,
    completion_tokens: null,
    finish_reason: null,
    call: null,
    policy_ms: 0,
    environment_ms: 0,
    state_hash: data.stateHash,
    admissible: data.admissibleActions,
    occurred_at: event.occurredAt,
    ...texts({ observation: data.observation }),
  };
}

export function rolloutRow(
  { data, occurredAt }: Envelope<'RolloutStarted'>,
  tree: KnownTree,
): Omit<Row<typeof tables.rollouts>, Exclude<keyof EndRow, 'rollout_id'>> {
  return {
    rollout_id: data.rolloutId,
    tree_id: data.treeId,
    run_id: tree.run_id,
    task_id: tree.task_id,
    environment: tree.environment,
    from_step_id: data.fromStepId,
    ordinal: data.ordinal,
    seed: data.seed,
    policy_id: data.policy.policyId,
    policy_version: data.policy.version,
    started_at: occurredAt,
  };
}

/** What a rollout row copies from its tree, so that lists of trajectories are filtered without a join. */
export interface KnownTree {
  readonly tree_id: string;
  readonly run_id: string;
  readonly task_id: string;
  readonly environment: string;
}

/** How a rollout ended: the columns that its second event fills. */
export type EndRow = Pick<
  Row<typeof tables.rollouts>,
  'rollout_id' | 'finished_at' | 'outcome' | 'success' | 'leaf_step_id' | 'steps' | 'reason'
>;
export function endRow({ data, occurredAt }: Envelope<'RolloutFinished'>): EndRow {
  return {
    rollout_id: data.rolloutId,
    finished_at: occurredAt,
    outcome: data.outcome,
    success: data.success,
    leaf_step_id: data.leafStepId,
    steps: data.steps,
    reason: data.reason,
  };
}

export function toolCallRow({ data }: Envelope<'ToolCalled'>): Row<typeof tables.tool_calls> {
  return {
    tool_call_id: data.toolCallId,
    tree_id: data.treeId,
    step_id: data.stepId,
    ordinal: data.ordinal,
    tool: data.tool,
    outcome: data.outcome,
    duration_ms: data.durationMs,
    ...texts({ arguments: data.arguments, output: data.output }),
  };
}

export function divergenceRow({ id, data, occurredAt }: Envelope<'ReplayDiverged'>): Row<typeof tables.divergences> {
  return {
    event_id: id,
    tree_id: data.treeId,
    step_id: data.stepId,
    field: data.field,
    occurred_at: occurredAt,
    ...texts({ recorded: data.recorded, replayed: data.replayed }),
  };
}
