import type { Draft } from '../../append/appender.ts';
import type { RememberedPrompt } from '../../append/shown-prompt.ts';
import { shownPrompt } from '../../append/shown-prompt.ts';
import { JUDGE_TEMPLATE } from '../../domain/revision/judge-prompt.ts';
import { derivedId } from '../../events/derived-id.ts';
import { pack } from '../../events/packed.ts';
import type { Act } from '../../policies/policy.ts';

/** The last prompt of a trajectory: the next one repeats most of its log. */
export interface JudgedBefore {
  readonly leafStepId: string;
  readonly id: string;
  readonly prompt: RememberedPrompt;
}

/** A judgement that a model was asked for. */
export interface Judgement {
  readonly treeId: string;
  readonly runId: string;
  readonly leafStepId: string;
  readonly stepId: string;
  readonly judgementId: string;
  readonly act: Act;
}

/**
 * Draws up the record of what a judge was asked with and what came with its reply; nothing where it reads no prompt. A prompt
 * continues that of the step before on the same trajectory, so that its log is stored once.
 */
export function judgePromptDraft(
  { treeId, runId, leafStepId, stepId, judgementId, act }: Judgement,
  before: JudgedBefore | null,
): { readonly draft: Draft; readonly shown: JudgedBefore } | null {
  const { asked, tokens, call, usage, finishReason } = act;
  if (!asked) return null;
  const base = before?.leafStepId === leafStepId ? before : null;
  const { data, prompt } = shownPrompt(asked, tokens?.ids ?? null, {
    treeId,
    stepId,
    template: JUDGE_TEMPLATE,
    known: new Map(),
    before: base && { id: base.id, prompt: { ...base.prompt, tokenIds: null } }, // a request of its own: its ids continue nothing
  });
  const answer = {
    finishReason,
    usage: usage && { ...usage },
    call: call ?? null,
    tokens: tokens && { ids: pack('int32', tokens.ids), logProbs: tokens.logProbs && pack('float32', tokens.logProbs) },
  };
  const draft: Draft = {
    type: 'PromptShown',
    id: derivedId('PromptShown', judgementId),
    correlationId: runId,
    causationId: judgementId,
    data: { ...data, judgementId, answer },
  };
  return { draft, shown: { leafStepId, id: judgementId, prompt } };
}
