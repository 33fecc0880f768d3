import { type PolicyMessage, type Sampling, serverSampling } from '../domain/prompts/policy-prompt.ts';
import { sharedTokens } from '../domain/prompts/same-message.ts';
import { pack } from '../events/packed.ts';
import { blockDigest, promptDigest } from '../events/prompt-digest.ts';
import type { EventBuilder } from './event-builder.ts';

/** A prompt that was recorded, with what the next prompt of the path is compared with. */
export interface ShownPrompt {
  readonly stepId: string;
  /** Its token ids and those of the reply to it. */
  readonly following: readonly number[];
}

/** Records the prompt that a step was asked with: a text, and its token ids as a server would return them; null for none. */
export function recordPrompt(
  builder: EventBuilder,
  tree: { readonly treeId: string; readonly runId: string },
  shown: {
    readonly stepId: string;
    readonly text: string;
    readonly ids: readonly number[] | null;
    readonly sampled: readonly number[];
    readonly before: ShownPrompt | null;
    readonly images?: readonly string[];
    readonly sampling?: Partial<Omit<Sampling, 'stop' | 'others'>> & { readonly others?: { name: string; value: string }[] };
  },
): ShownPrompt {
  const { stepId, text, ids, sampled, before, images = [], sampling } = shown;
  const pictures = images.map((imageId) => ({ kind: 'image' as const, imageId }));
  const messages: readonly PolicyMessage[] = [{ role: 'user', parts: [{ kind: 'text', text }, ...pictures] }];
  const keep = before && ids ? sharedTokens(before.following, ids) : 0;
  builder.record(
    'PromptShown',
    {
      treeId: tree.treeId,
      stepId,
      base: before && { stepId: before.stepId, messages: 0 },
      blocks: [text],
      messages: [{ role: 'user', parts: [{ kind: 'text', blocks: [blockDigest(text)] }, ...pictures] }],
      sha256: promptDigest(messages),
      template: null,
      tools: null,
      server: 'http://127.0.0.1:8000/v1/chat/completions',
      sampling: { ...serverSampling(1), ...sampling },
      tokens: ids && { before: before?.following.length ?? 0, keep, ids: pack('int32', ids.slice(keep)) },
    },
    tree.runId,
  );
  return { stepId, following: [...(ids ?? []), ...sampled] };
}
