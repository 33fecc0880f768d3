import { taskKind } from '../../domain/evaluation/task-kind.ts';
import type { DataOf } from '../../events/catalogue.ts';
import type { Delivery, Envelope } from '../../events/envelope.ts';
import type { BlobRef, Text } from '../../events/schemas/values.ts';
import { type Row, WrittenBytes } from '../../postgres/table.ts';
import type { tables } from './tables.ts';
import { tokenBytesOf } from './token-bytes.ts';

/** The rows that events of a tree become: one pure function per table. */

/** Splits text fields into inline text ('' when it lies in the blob store) and the references of those that do. */
function texts<Name extends string>(
  fields: Readonly<Record<Name, Text>>,
): Record<Name, string> & { blobs: Record<string, BlobRef> | null } {
  const inline: Record<string, string> = {};
  let blobs: Record<string, BlobRef> | null = null;
  for (const name in fields) {
    const text: Text = fields[name];
    inline[name] = typeof text === 'string' ? text : '';
    if (typeof text !== 'string') blobs = Object.assign(blobs ?? {}, { [name]: text });
  }
  return Object.assign(inline as Record<Name, string>, { blobs }); // one inline entry per field
}

export function treeRow({
  data,
  occurredAt,
}: Envelope<'TreeOpened'>): Omit<Row<typeof tables.trees>, keyof ReturnType<typeof closeRow>> & { readonly treeId: string } {
  return {
    treeId: data.treeId,
    runId: data.runId,
    taskId: data.task.taskId,
    environment: data.task.environment,
    serverFingerprint: data.task.serverFingerprint,
    observationHash: data.task.observationHash,
    alias: data.task.alias,
    goal: data.task.goal,
    taskDepth: data.task.depth,
    split: data.task.split,
    rootStepId: data.rootStepId,
    plannedRollouts: data.plannedRollouts,
    seed: data.seed,
    shared: data.shared ?? null,
    openedAt: occurredAt,
    kind: taskKind(data.task),
    toolsKwargs: data.task.toolsKwargs ?? null,
    ...texts({ instruction: data.instruction }),
  };
}

export function closeRow({
  data,
  occurredAt,
}: Envelope<'TreeClosed'>): Pick<Row<typeof tables.trees>, 'treeId' | 'closedAt' | 'closeReason' | 'closeFault'> {
  return { treeId: data.treeId, closedAt: occurredAt, closeReason: data.reason, closeFault: data.fault ?? null };
}

export type StepRow = Row<typeof tables.steps>;

export function stepRow({ event, offset }: Delivery<Envelope<'StepTaken'>>): StepRow {
  const { data } = event;
  const said = texts({ response: data.response, thought: data.thought, action: data.action, observation: data.observation });
  return {
    stepId: data.stepId,
    treeId: data.treeId,
    parentStepId: data.parentStepId,
    rolloutId: data.rolloutId,
    depth: data.depth,
    reply: data.reply ?? null,
    logOffset: offset,
    wellFormatted: data.wellFormatted,
    executable: data.executable,
    termination: data.termination,
    policySpans: data.policySpans,
    ...tokensOf(data.tokens),
    promptTokens: data.usage?.promptTokens ?? null,
    completionTokens: data.usage?.completionTokens ?? null,
    finishReason: data.finishReason,
    call: data.call,
    policyMs: data.timings.policyMs,
    environmentMs: data.timings.environmentMs,
    stateHash: data.stateHash,
    admissible: data.admissibleActions,
    occurredAt: event.occurredAt,
    ...said,
  };
}

function tokensOf(tokens: DataOf<'StepTaken'>['tokens']): Pick<StepRow, 'tokenBytes' | 'tokenJson'> {
  const bytes = tokens && tokenBytesOf(tokens);
  return bytes ? { tokenBytes: new WrittenBytes(bytes), tokenJson: null } : { tokenBytes: null, tokenJson: tokens };
}

/** The root of a tree as a step of depth 0: no action led to it, its observation is the task's first. */
export function rootRow({ event, offset }: Delivery<Envelope<'TreeOpened'>>): StepRow {
  const { data } = event;
  return {
    stepId: data.rootStepId,
    treeId: data.treeId,
    parentStepId: null,
    rolloutId: null,
    depth: 0,
    logOffset: offset,
    response: '',
    thought: '',
    reply: null,
    action: '',
    wellFormatted: true,
    executable: true,
    termination: 'none',
    policySpans: [],
    ...tokensOf(null),
    promptTokens: null,
    completionTokens: null,
    finishReason: null,
    call: null,
    policyMs: 0,
    environmentMs: 0,
    stateHash: data.stateHash,
    admissible: data.admissibleActions,
    occurredAt: event.occurredAt,
    ...texts({ observation: data.observation }),
  };
}

export function rolloutRow(
  { data, occurredAt }: Envelope<'RolloutStarted'>,
  tree: KnownTree,
): Omit<Row<typeof tables.rollouts>, Exclude<keyof EndRow, 'rolloutId' | 'treeId'>> {
  return {
    rolloutId: data.rolloutId,
    treeId: data.treeId,
    runId: tree.runId,
    taskId: tree.taskId,
    environment: tree.environment,
    fromStepId: data.fromStepId,
    ordinal: data.ordinal,
    seed: data.seed,
    policyId: data.policy.policyId,
    policyVersion: data.policy.version,
    startedAt: occurredAt,
  };
}

/** What a rollout row copies from its tree, so that lists of trajectories are filtered without a join. */
export interface KnownTree {
  readonly treeId: string;
  readonly runId: string;
  readonly taskId: string;
  readonly environment: string;
}

/** How a rollout ended: the columns that its second event fills. */
export type EndRow = Pick<
  Row<typeof tables.rollouts>,
  'rolloutId' | 'treeId' | 'finishedAt' | 'outcome' | 'success' | 'leafStepId' | 'steps' | 'reason' | 'unclearCalls' | 'lostParts'
>;
export function endRow({ data, occurredAt }: Envelope<'RolloutFinished'>): EndRow {
  return {
    rolloutId: data.rolloutId,
    treeId: data.treeId,
    finishedAt: occurredAt,
    outcome: data.outcome,
    success: data.success,
    leafStepId: data.leafStepId,
    steps: data.steps,
    reason: data.reason,
    unclearCalls: data.unclearCalls ?? null,
    lostParts: data.lostParts ?? null,
  };
}

export function toolCallRow({ data }: Envelope<'ToolCalled'>): Row<typeof tables.toolCalls> {
  return {
    toolCallId: data.toolCallId,
    treeId: data.treeId,
    stepId: data.stepId,
    ordinal: data.ordinal,
    tool: data.tool,
    outcome: data.outcome,
    durationMs: data.durationMs,
    ...texts({ arguments: data.arguments, output: data.output }),
  };
}

export function divergenceRow({ id, data, occurredAt }: Envelope<'ReplayDiverged'>): Row<typeof tables.divergences> {
  return {
    eventId: id,
    treeId: data.treeId,
    stepId: data.stepId,
    field: data.field,
    occurredAt,
    ...texts({ recorded: data.recorded, replayed: data.replayed }),
  };
}
