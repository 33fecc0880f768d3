import type { PolicyMessage, PolicyMessagePart, PolicyPrompt } from '../domain/prompts/policy-prompt.ts';
import { cutBlocks, sharedMessages, sharedTokens } from '../domain/prompts/same-message.ts';
import type { DataOf } from '../events/catalogue.ts';
import { pack } from '../events/packed.ts';
import { blockDigest, promptDigest } from '../events/prompt-digest.ts';
import { wellFormed } from '../events/well-formed.ts';

type Shown = DataOf<'PromptShown'>;
type Part = Shown['messages'][number]['parts'][number];

/** What is remembered of the prompt of a step, for the prompts of the steps below it. */
export interface RememberedPrompt {
  readonly messages: readonly PolicyMessage[];
  /** Token ids of the prompt, then of the reply; null where the server returned none of either. */
  readonly tokenIds: Int32Array | null;
  /** SHA-256 of the blocks that it and the prompts before it put on record: whoever keeps the path keeps them. */
  readonly blocks: ReadonlySet<string>;
}

/** Where a prompt was shown, and what of it the record holds already. */
export interface ShownAt {
  readonly treeId: string;
  readonly stepId: string;
  readonly template: Shown['template'];
  /** The prompt that it continues, by the step or judgement that was asked with that. */
  readonly before: { readonly id: string; readonly prompt: RememberedPrompt } | null;
  /** Texts that the record of a step holds, with the place of each. */
  readonly known: KnownTexts;
}

export type KnownTexts = ReadonlyMap<string, Omit<Extract<Part, { kind: 'step' }>, 'kind'>>;

/** Makes the data of a prompt: what is new in it. @param sampled token ids of the reply. */
export function shownPrompt(
  prompt: PolicyPrompt,
  sampled: readonly number[] | null,
  { treeId, stepId, template, before, known }: ShownAt,
): { readonly data: Shown; readonly prompt: RememberedPrompt } {
  const messages = wellFormed(prompt.messages).value;
  const same = before ? sharedMessages(before.prompt.messages, messages) : 0;
  const shown = new Set(before?.prompt.blocks);
  const blocks: string[] = [];
  const data: Shown = {
    treeId,
    stepId,
    base: before && { stepId: before.id, messages: same },
    messages: messages.slice(same).map(({ parts, ...message }) => ({ ...message, parts: parts.map((part) => recorded(part)) })),
    blocks,
    sha256: promptDigest(messages),
    template: template && { ...template },
    tools: prompt.tools,
    sampling: { ...prompt.sampling, stop: [...prompt.sampling.stop], others: [...prompt.sampling.others] },
    server: prompt.server,
    model: prompt.model,
    tokens: prompt.tokenIds && tokensAfter(before?.prompt.tokenIds ?? null, prompt.tokenIds),
  };
  const tokenIds = prompt.tokenIds && sampled ? Int32Array.from([...prompt.tokenIds, ...sampled]) : null;
  return { data, prompt: { messages, tokenIds, blocks: shown } };

  function recorded(part: PolicyMessagePart): Part {
    switch (part.kind) {
      case 'image':
        return part;
      case 'text': {
        const source = known.get(part.text);
        return source ? { kind: 'step', ...source } : { kind: 'text', blocks: blocksOf(part.text) };
      }
      case 'reasoning':
        return { kind: 'reasoning', blocks: blocksOf(part.text) };
      case 'tool-call':
        return { kind: 'tool-call', id: part.id, name: part.name, blocks: blocksOf(part.arguments) };
      default:
        return part satisfies never;
    }
  }

  function blocksOf(text: string): string[] {
    const cut = cutBlocks(text).map((block) => ({ block, sha256: blockDigest(block) }));
    for (const { block, sha256 } of cut) {
      if (shown.has(sha256)) continue;
      shown.add(sha256);
      blocks.push(block);
    }
    return cut.map(({ sha256 }) => sha256);
  }
}

function tokensAfter(before: Int32Array | null, ids: readonly number[]): Shown['tokens'] {
  const keep = before ? sharedTokens(before, ids) : 0;
  return { before: before?.length ?? 0, keep, ids: pack('int32', ids.slice(keep)) };
}
