import type { Draft } from '../../../append/appender.ts';
import type { AskedPart, AskedPrompt } from '../../../domain/prompts/asked-prompt.ts';
import { cutBlocks } from '../../../domain/prompts/cut-blocks.ts';
import { sharedMessages } from '../../../domain/prompts/same-message.ts';
import { sharedTokens } from '../../../domain/prompts/shared-tokens.ts';
import type { DataOf } from '../../../events/catalogue.ts';
import { derivedId } from '../../../events/derived-id.ts';
import { pack } from '../../../events/packed.ts';
import { blockDigest, promptDigest } from '../../../events/prompt-digest.ts';
import { wellFormed } from '../../../events/well-formed.ts';
import type { Act } from '../../../policies/policy.ts';
import type { GrowingTree } from '../growing-tree.ts';
import type { TreeNode } from '../tree-node.ts';
import type { RememberedPrompt } from './remembered-prompt.ts';

type Shown = DataOf<'PromptShown'>;
type Message = Shown['messages'][number];
type Part = Message['parts'][number];

/** Draws up the record of the prompt that an act at the end of a path was asked with; nothing where it was asked with none. */
export function promptDrafts(
  tree: GrowingTree,
  path: readonly TreeNode[],
  stepId: string,
  { asked, tokens }: Act,
): { readonly drafts: readonly Draft[]; readonly prompt: RememberedPrompt | null } {
  if (!asked) return { drafts: [], prompt: null };
  const at = path.at(-1);
  const { data, prompt } = shownPrompt(asked, tokens?.ids ?? null, {
    treeId: tree.treeId,
    stepId,
    template: tree.prompter?.plan.template ?? null,
    before: at?.prompt ? { id: at.stepId, prompt: at.prompt } : null,
    known: textsOf(tree, path),
  });
  const draft: Draft = {
    type: 'PromptShown',
    id: derivedId('PromptShown', stepId),
    correlationId: tree.runId,
    causationId: derivedId('StepTaken', stepId),
    data,
  };
  return { drafts: [draft], prompt };
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

type KnownTexts = ReadonlyMap<string, Omit<Extract<Part, { kind: 'step' }>, 'kind'>>;

/** Makes the data of a prompt: what is new in it. @param sampled token ids of the reply. */
export function shownPrompt(
  asked: AskedPrompt,
  sampled: readonly number[] | null,
  { treeId, stepId, template, before, known }: ShownAt,
): { readonly data: Shown; readonly prompt: RememberedPrompt } {
  const messages = wellFormed(asked.messages).value;
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
    tools: asked.tools,
    sampling: { ...asked.sampling, stop: [...asked.sampling.stop] },
    server: asked.server,
    model: asked.model,
    tokens: asked.tokenIds && tokensAfter(before?.prompt.tokenIds ?? null, asked.tokenIds),
  };
  const tokenIds = asked.tokenIds && sampled ? Int32Array.from([...asked.tokenIds, ...sampled]) : null;
  return { data, prompt: { messages, tokenIds, blocks: shown } };

  function recorded(part: AskedPart): Part {
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

/** The texts that the record of a path holds already, with the place of each. */
function textsOf(tree: GrowingTree, path: readonly TreeNode[]): KnownTexts {
  const texts = new Map<string, Omit<Extract<Part, { kind: 'step' }>, 'kind'>>();
  const add = (text: string, stepId: string, field: 'instruction' | 'observation' | 'response') => {
    if (text !== '' && !texts.has(text)) texts.set(wellFormed(text).value, { stepId, field });
  };
  add(tree.opening.instruction, tree.rootStepId, 'instruction');
  for (const { stepId, parentStepId, response, observation } of path) {
    if (parentStepId !== null) add(response, stepId, 'response');
    add(observation, stepId, 'observation');
  }
  return texts;
}

function tokensAfter(before: Int32Array | null, ids: readonly number[]): Shown['tokens'] {
  const keep = before ? sharedTokens(before, ids) : 0;
  return { before: before?.length ?? 0, keep, ids: pack('int32', ids.slice(keep)) };
}
