import type { Draft } from '../../append/appender.ts';
import { sha256Hex } from '../../digest/sha256.ts';
import { actionOf, type CallMessage, textOf } from '../../domain/capture/call-message.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import type { DataOf } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import { pack } from '../../events/packed.ts';
import type { PolicyRef } from '../../events/schemas/values.ts';
import type { Picture } from '../../images/observation-pictures.ts';
import { pictureData } from '../../images/observation-pictures.ts';
import { CODE_VERSION } from '../../platform/code-version.ts';
import type { Json } from '../../policies/openai/read-messages.ts';
import {
  type Call,
  type CallChoice,
  LONGEST_TOOL_NAME,
  picturesIn,
  type ShownRequest,
  spoken,
  type ToolSpan,
} from './conversation.ts';
import type { CapturePlace } from './place.ts';

// The events of captured rollouts. Their ids are derived from what they name.

export function runDraft(place: CapturePlace, environment: string, policy: PolicyRef, config: Json): Draft {
  return {
    type: 'RunStarted',
    id: derivedId('RunStarted', place.runId),
    correlationId: place.runId,
    data: {
      runId: place.runId,
      experimentId: null,
      name: cutText(place.run, 200),
      kind: 'external',
      seed: 0,
      codeVersion: CODE_VERSION,
      config,
      environments: [{ environment, fingerprint: FINGERPRINT }],
      policy,
    },
  };
}

export function treeDraft(
  place: CapturePlace,
  environment: string,
  fingerprint: string,
  { messages, pictures }: ShownRequest,
): Draft {
  const { runId, treeId, task } = place;
  const instruction = messages
    .filter(({ role }) => role === 'system')
    .map(textOf)
    .join('\n\n');
  const shown = spoken(messages);
  const observation = observationOf(shown);
  const observationHash = sha256Hex(observation.toWellFormed());
  return {
    type: 'TreeOpened',
    id: derivedId('TreeOpened', treeId),
    correlationId: runId,
    causationId: derivedId('RunStarted', runId),
    data: {
      treeId,
      runId,
      rootStepId: derivedId('root', treeId),
      instruction,
      observation,
      ...pictureData(picturesIn(shown, pictures)),
      task: {
        taskId: derivedId('task', environment, fingerprint, observationHash),
        environment,
        serverFingerprint: fingerprint,
        observationHash,
        alias: task,
        goal: cutText(observation, 10_000),
        depth: null,
        split: null,
      },
      admissibleActions: null,
      stateHash: null,
      plannedRollouts: 1,
      seed: 0,
    },
  };
}

/** What a captured world is known by: nothing of it is seen but what it lets its agent say. */
export const FINGERPRINT = 'captured';

export function rolloutDraft(
  { runId, treeId, rolloutId }: CapturePlace,
  rootStepId: string,
  ordinal: number,
  policy: PolicyRef,
): Draft {
  return {
    type: 'RolloutStarted',
    id: derivedId('RolloutStarted', rolloutId),
    correlationId: runId,
    causationId: derivedId('TreeOpened', treeId),
    data: { rolloutId, treeId, fromStepId: rootStepId, ordinal, seed: 0, policy },
  };
}

/** What became of a call: its choices, or the reason why it has none. */
export interface CallEnd {
  readonly outcome: 'answered' | 'failed' | 'cancelled';
  readonly status: number | null;
  readonly message: string;
  readonly firstMs: number | null;
  readonly totalMs: number;
  readonly attributes?: Json;
}

/** @param besides pictures that its prompt showed and the record does not hold. */
export function callDraft(
  { runId, treeId, rolloutId }: CapturePlace,
  call: Call,
  end: CallEnd,
  besides: readonly Picture[],
): Draft {
  const { callId, ordinal, parentStepId, stepId, place, unclear, source, api, prompt, choices, answered } = call;
  return {
    type: 'CallCaptured',
    id: derivedId('CallCaptured', callId),
    correlationId: runId,
    data: {
      callId,
      treeId,
      rolloutId,
      ordinal,
      parentStepId,
      place,
      ...(unclear === null ? {} : { unclear }),
      source,
      api,
      prompt,
      stepId: call.state === 'unanswered' ? null : stepId,
      outcome: end.outcome,
      status: end.status,
      message: cutText(end.message, 10_000),
      choices: choices.map(({ raw, conversation, tokens, namedTokens, usage, finishReason }) => ({
        message: raw,
        conversation,
        usage: usage && { ...usage },
        finishReason: nameOf(finishReason),
        tokens: tokens && packedTokens(tokens),
        ...(namedTokens === null ? {} : { namedTokens }),
      })),
      call: answered && { ...answered },
      timings: { firstMs: end.firstMs, totalMs: end.totalMs },
      ...pictureData(besides),
      ...(end.attributes === undefined ? {} : { attributes: JSON.stringify(end.attributes) }),
    },
  };
}

/** What follows on a reply. */
export interface Followed {
  readonly added: readonly CallMessage[];
  /** Those of what was added. */
  readonly pictures: readonly Picture[];
  /** What spans say of the calls of tools in the reply, in their order. */
  readonly runs: readonly (ToolSpan | undefined)[];
  readonly termination: 'none' | 'terminated' | 'truncated';
  /** In place of the text of what was added. */
  readonly observation?: string;
  readonly environmentMs: number;
}

/**
 * The step that a choice of a call became, and the calls of tools in it that were answered.
 * @param rolloutId null off its path.
 */
export function stepDrafts(
  { runId, treeId }: CapturePlace,
  { stepId, parentStepId, depth, answered, policyMs, policy }: Call,
  { message, tokens, usage, finishReason }: CallChoice,
  rolloutId: string | null,
  followed: Followed,
): readonly Draft[] {
  const sampled = tokens?.ids.length ?? usage?.completionTokens ?? 0;
  const step: Draft = {
    type: 'StepTaken',
    id: derivedId('StepTaken', stepId),
    correlationId: runId,
    data: {
      stepId,
      treeId,
      parentStepId,
      rolloutId,
      depth,
      response: textOf(message),
      thought: message.reasoning,
      action: actionOf(message),
      ...replyData(message),
      observation: followed.observation ?? observationOf(followed.added),
      ...pictureData(followed.pictures),
      wellFormatted: true,
      executable: true,
      termination: followed.termination,
      policySpans: [{ from: 0, to: sampled, ...policy }],
      tokens: tokens && { ...packedTokens(tokens), mask: null },
      usage: usage && { ...usage },
      finishReason: nameOf(finishReason),
      call: answered && { ...answered },
      timings: { policyMs, environmentMs: followed.environmentMs },
      stateHash: null,
      admissibleActions: null,
    },
  };
  return [step, ...toolDrafts({ runId, treeId, stepId, message }, followed)];
}

function toolDrafts(
  {
    runId,
    treeId,
    stepId,
    message,
  }: Pick<CapturePlace, 'runId' | 'treeId'> & { readonly stepId: string; readonly message: CallMessage },
  { added, runs, environmentMs }: Pick<Followed, 'added' | 'runs' | 'environmentMs'>,
): readonly Draft[] {
  const results = added.filter(({ role }) => role === 'tool');
  const byId = new Map(results.map((result) => [result.toolCallId, result]));
  return message.toolCalls.flatMap(({ id, name, arguments: given }, ordinal): Draft[] => {
    const result = byId.get(id) ?? (byId.size === 0 ? undefined : results.find(({ toolCallId }) => toolCallId === null));
    const run = runs[ordinal];
    if (!result && !run) return [];
    const output = result ? textOf(result) : (run?.output ?? '');
    const toolCallId = derivedId('tool-call', stepId, ordinal);
    return [
      {
        type: 'ToolCalled',
        id: derivedId('ToolCalled', toolCallId),
        correlationId: runId,
        causationId: derivedId('StepTaken', stepId),
        data: {
          toolCallId,
          treeId,
          stepId,
          ordinal,
          tool: nameOf(name) ?? 'unnamed',
          arguments: given,
          output,
          // without a span it lasted at most that: the program says no more
          outcome: run?.outcome ?? 'ok',
          durationMs: run?.durationMs ?? environmentMs,
        },
      },
    ];
  });
}

/** What a reply is besides its text; nothing where it is that alone. */
function replyData({ reasoning, toolCalls }: CallMessage): Pick<DataOf<'StepTaken'>, 'reply'> {
  if (reasoning === '' && toolCalls.length === 0) return {};
  const calls = toolCalls.map(({ id, name, arguments: given }) => ({
    id: id === null ? null : cutText(id, LONGEST_TOOL_NAME),
    name: cutText(name, LONGEST_TOOL_NAME),
    arguments: given,
  }));
  return { reply: { reasoning: reasoning !== '', toolCalls: calls } };
}

function observationOf(messages: readonly CallMessage[]): string {
  return messages
    .map(textOf)
    .filter((text) => text !== '')
    .join('\n');
}

function packedTokens({ ids, logProbs }: { readonly ids: readonly number[]; readonly logProbs: readonly number[] | null }) {
  return { ids: pack('int32', ids), logProbs: logProbs && pack('float32', logProbs) };
}

function nameOf(text: string | null): string | null {
  return text === null || text === '' ? null : cutText(text, 200);
}
