import type { Draft } from '../../append/appender.ts';
import { largest } from '../../domain/extremes.ts';
import { isUuid } from '../../domain/ids.ts';
import type { DataOf } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { Envelope } from '../../events/envelope.ts';
import { tryJsonText } from '../../events/json-text.ts';
import { unpack } from '../../events/packed.ts';
import type { PolicyRef, Text } from '../../events/schemas/values.ts';
import { blockMessages, isObject, type Json, list, messagesOfItems, SILENT } from '../../policies/openai/read-messages.ts';
import type { Db } from '../../postgres/database.ts';
import { readEventsOfTypes } from '../../projections/journal/read-events-of-types.ts';
import { FINGERPRINT, rolloutDraft, runDraft, treeDraft } from './capture-drafts.ts';
import { isOver } from './capture-errors.ts';
import type { RolloutState } from './captured-rollout.ts';
import { type Call, type CallChoice, digestOf, type ShownRequest, toolCallIdsOf } from './conversation.ts';
import { type CapturePlace, type NamedPlace, rolloutIdOf, treeIdOf } from './place.ts';
import { APIS } from './read-request.ts';

/** Reads payloads of the blob store. */
export interface Payloads {
  readonly bytes: (sha256: string) => Promise<Uint8Array>;
}

const OF_TREE = [
  'TreeOpened',
  'TreeClosed',
  'RolloutStarted',
  'CallCaptured',
  'StepTaken',
  'RolloutFinished',
  'SpanReceived',
] as const;

/** A rollout as the record holds it. */
export interface Recovered {
  readonly place: CapturePlace;
  readonly state: RolloutState;
  readonly held: RecordedPlace;
}
/** What of a place is on record, for who opens the rest. */
export interface RecordedPlace {
  readonly environments: readonly { readonly environment: string; readonly fingerprint: string }[] | null;
  readonly hasTree: boolean;
  readonly rootStepId: string;
  /** Of the rollouts of the tree. */
  readonly ordinals: ReadonlySet<number>;
}

/**
 * Reads what the record holds of a rollout: who restarted goes on where it ends. A task and a rollout that are named by an id are
 * those of the record where the run has them; other names are the same place for everyone who uses them.
 * @throws CaptureRefused where the run or the task is over.
 */
export async function recoverRollout(db: Db, place: NamedPlace, runId: string, payloads: Payloads): Promise<Recovered> {
  const ofRun = await readEventsOfTypes(db, runId, ['RunStarted', 'RunFinished']);
  const run = ofRun.find(isOf('RunStarted'))?.data ?? null;
  const byId = isUuid(place.task) ? (await readEventsOfTypes(db, place.task, ['TreeOpened']))[0] : undefined;
  const treeId = byId?.data.runId === runId ? place.task : treeIdOf(runId, place.task);
  const events = await readEventsOfTypes(db, treeId, OF_TREE);
  const tree = events.find(isOf('TreeOpened'))?.data ?? null;
  const starts = events.filter(isOf('RolloutStarted'));
  const isNamed = isUuid(place.rollout) && starts.some(({ data }) => data.rolloutId === place.rollout);
  const rolloutId = isNamed ? place.rollout : rolloutIdOf(treeId, place.rollout);
  const start = starts.find(({ data }) => data.rolloutId === rolloutId)?.data ?? null;
  const finished = events.filter(isOf('RolloutFinished')).find(({ data }) => data.rolloutId === rolloutId)?.data ?? null;
  const over = ofRun.some(isOf('RunFinished')) ? 'run' : events.some(isOf('TreeClosed')) ? 'task' : null;
  if (start === null && over !== null) throw isOver(over);
  const captured = events.filter(isOf('CallCaptured')).filter(({ data }) => data.rolloutId === rolloutId);
  const rootStepId = tree?.rootStepId ?? derivedId('root', treeId);
  const fromStepId = start?.fromStepId ?? rootStepId;
  const state: RolloutState = {
    rootStepId,
    fromStepId,
    leafStepId: fromStepId,
    depths: new Map([[rootStepId, 0]]),
    calls: [],
    callIds: new Set(captured.map(({ data }) => data.callId)),
    pictures: new Set(
      events.flatMap(({ data }) => ('pictures' in data ? (data.pictures ?? []) : [])).map(({ imageId }) => imageId),
    ),
    policy: start?.policy ?? run?.policy ?? null,
    isOpen: start !== null,
    open: null,
    hasSpans: events.filter(isOf('SpanReceived')).some(({ data }) => data.rolloutId === rolloutId),
    ended: finished && {
      outcome: finished.outcome,
      success: finished.success,
      reason: finished.reason,
      unclearCalls: finished.unclearCalls ?? 0,
      lostParts: finished.lostParts ?? 0,
    },
  };
  for (const { data } of events.filter(isOf('StepTaken'))) {
    state.depths.set(data.stepId, data.depth);
    if (data.rolloutId === rolloutId && data.parentStepId === state.leafStepId) state.leafStepId = data.stepId;
  }
  for (const event of captured) {
    const { ordinal, attributes = '' } = event.data;
    const read = tryJsonText(await textOf(attributes, payloads)); // those that are forgotten are no JSON
    const notes = isObject(read) ? read : {};
    state.calls[ordinal] ??= await callOf(event, notes, state, payloads);
  }
  // a call that was in flight when its server ended left nothing
  for (let i = 0; i < state.calls.length; i++) state.calls[i] ??= lost(state, i);
  const held = { environments: run?.environments ?? null, hasTree: tree !== null, rootStepId };
  return {
    place: { ...place, runId, treeId, rolloutId },
    state,
    held: { ...held, ordinals: new Set(starts.map(({ data }) => data.ordinal)) },
  };
}

/** Makes the events that open a rollout, and before it what the record lacks of its run and its tree. */
export function openingDrafts(
  place: CapturePlace,
  { environments, hasTree, rootStepId, ordinals }: RecordedPlace,
  config: Json,
  request: ShownRequest,
  policy: PolicyRef,
): { readonly drafts: readonly Draft[]; readonly held: RecordedPlace } {
  const { environment, fingerprint } = (environments?.length === 1 ? environments[0] : undefined) ?? CAPTURED;
  const asked = /^\d{1,9}$/.test(place.rollout) ? Number(place.rollout) : null;
  const ordinal = asked !== null && !ordinals.has(asked) ? asked : largest(ordinals, -1) + 1;
  return {
    drafts: [
      ...(environments ? [] : [runDraft(place, environment, policy, config)]),
      ...(hasTree ? [] : [treeDraft(place, environment, fingerprint, request)]),
      rolloutDraft(place, rootStepId, ordinal, policy),
    ],
    held: { environments: environments ?? [CAPTURED], hasTree: true, rootStepId, ordinals: new Set([...ordinals, ordinal]) },
  };
}

/** The environment of what is not said to be in another. */
const CAPTURED = { environment: 'captured', fingerprint: FINGERPRINT };

async function callOf(
  { data, occurredAt }: Envelope<'CallCaptured'>,
  notes: Json,
  state: RolloutState,
  payloads: Payloads,
): Promise<Call> {
  const isRecorded = data.stepId !== null && state.depths.has(data.stepId);
  const { callId, ordinal, parentStepId, place, source, prompt, call: answered, timings } = data;
  return {
    callId,
    ordinal,
    parentStepId,
    place,
    unclear: data.unclear ?? null,
    source,
    answered,
    api: APIS.find((api) => api === data.api) ?? 'chat.completions',
    prompt: prompt ?? '',
    stepId: data.stepId ?? '',
    depth: (state.depths.get(parentStepId) ?? 0) + 1,
    state: data.stepId === null ? 'unanswered' : isRecorded ? 'recorded' : data.outcome === 'answered' ? 'answered' : 'cut',
    policy: state.policy ?? { policyId: answered?.model?.slice(0, 200) || 'model', version: 0 },
    choices: await Promise.all(data.choices.map((choice) => choiceOf(choice, payloads))),
    responseId: answered?.responseId ?? null,
    hasInstructions: notes.instructions === true,
    losses: list(notes.losses).map(String),
    policyMs: timings.totalMs,
    answeredAt: Date.parse(occurredAt),
  };
}

async function choiceOf(
  { message: given, conversation, tokens, usage, finishReason }: DataOf<'CallCaptured'>['choices'][number],
  payloads: Payloads,
): Promise<CallChoice> {
  const raw = await textOf(given, payloads);
  const parsed = tryJsonText(raw);
  const counted = () => undefined; // with the call
  const message = Array.isArray(parsed)
    ? messagesOfItems(parsed, counted).find(({ role }) => role === 'assistant')
    : blockMessages(isObject(parsed) ? { ...parsed, role: 'assistant' } : null, counted)[0];
  const numbers = async (array: { readonly bytes: unknown } & Parameters<typeof unpack>[0]) =>
    unpack(array, typeof array.bytes === 'string' ? undefined : await payloads.bytes(array.bytes.blob));
  const said = message ?? SILENT;
  return {
    message: said,
    raw,
    conversation,
    namedTokens: null, // a call is recorded once: its step has no place for them
    usage,
    finishReason,
    reply: digestOf(said),
    callsTools: said.toolCalls.length > 0,
    toolCallIds: toolCallIdsOf(said),
    tokens: tokens && { ids: await numbers(tokens.ids), logProbs: tokens.logProbs && (await numbers(tokens.logProbs)) },
  };
}

/** A place among the calls that nothing is known of. */
function lost({ rootStepId }: RolloutState, ordinal: number): Call {
  return {
    callId: '',
    ordinal,
    parentStepId: rootStepId,
    place: 'branch',
    unclear: null,
    source: 'proxy',
    api: 'chat.completions',
    prompt: '',
    stepId: '',
    depth: 0,
    state: 'unanswered',
    policy: { policyId: 'model', version: 0 },
    choices: [],
    answered: null,
    responseId: null,
    hasInstructions: false,
    losses: [],
    policyMs: 0,
    answeredAt: null,
  };
}

async function textOf(text: Text, { bytes }: Payloads): Promise<string> {
  return typeof text === 'string' ? text : Buffer.from(await bytes(text.blob)).toString('utf8');
}

function isOf<T extends Envelope['type']>(type: T) {
  return (event: Envelope): event is Extract<Envelope, Envelope<T>> & Envelope<T> => event.type === type;
}
