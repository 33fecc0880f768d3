import type { PolicyMessagePart } from '../../src/domain/prompts/policy-prompt.ts';
import { pack } from '../../src/events/packed.ts';
import { rowsWhere } from '../../src/postgres/rows-where.ts';
import { findHistoryImages, readHistoryImages } from '../../src/projections/images/read-history-images.ts';
import type { OfTree } from '../../src/projections/of-tree.ts';
import { type RecordedPrompt, readPromptsRecorded } from '../../src/projections/prompts/read-prompts.ts';
import type { Context } from '../context.ts';
import type { DriftResolvers, PromptPartResolvers, RequestedToolResolvers } from '../generated/types.ts';
import { manyOfTree, mapped, one, oneOfTree } from '../loaders/batch.ts';
import { loadedBy } from '../loaders/loaded-by.ts';
import { createPromptLoader } from '../loaders/prompt-loader.ts';
import type { PromptModel, PromptPartModel } from '../models.ts';
import { pictureOf } from './pictures.ts';

const imageOfStep = loadedBy((db) =>
  manyOfTree(
    (steps) => readHistoryImages(db, steps),
    ({ stepId }) => stepId,
  ),
);
const images = loadedBy((db) =>
  one(
    (ids) => findHistoryImages(db, ids),
    ({ id }) => id,
  ),
);

export const PromptPart: PromptPartResolvers = {
  picture: ({ imageId }, _, context) => (imageId === null ? null : pictureOf(context, imageId)),
  image: async ({ imageId, prompt }, _, context) => {
    if (imageId === null) return null;
    const [own] = await imageOfStep(context).load(prompt); // its factor is of the step, not of the pixels
    return own?.id === imageId ? own : images(context).load(imageId);
  },
};

export const RequestedTool: RequestedToolResolvers = {
  arguments: async ({ arguments: given }, _, { texts }) =>
    typeof given === 'string' ? given : Buffer.from(await texts.bytes(given)).toString('utf8'),
};

export const Drift: DriftResolvers = {
  firstStep: ({ first }, _, { loaders }) => (first === null ? null : loaders.step.load(first)),
};

const prompts = loadedBy((db, { texts, sources: { keys } }) => createPromptLoader(db, texts, keys));

/** Returns the prompt that a step or a judgement was asked with. */
export async function promptOf(context: Context, of: OfTree): Promise<PromptModel | null> {
  const prompt = await prompts(context).load(of);
  return prompt && promptModel(prompt);
}

const treeOfJudgement = loadedBy((db) =>
  mapped(async (keys) => {
    const asked = keys.map((key) => key.split(' '));
    const where = { promptHash: asked.map(([hash = '']) => hash), judgementId: asked.map(([, id = '']) => id) };
    const rows = await rowsWhere(db, 'judgements', where, ['promptHash', 'judgementId', 'treeId']);
    return new Map(rows.map(({ promptHash, judgementId, treeId }) => [`${promptHash} ${judgementId}`, treeId]));
  }),
);

/**
 * Returns the prompt of the judgement that one of a tree took its verdict from: of that tree, or of another one that has the
 * judgement of the same prompt.
 */
export async function promptOfReused(
  context: Context,
  { treeId, id, promptHash }: OfTree & { readonly promptHash: string },
): Promise<PromptModel | null> {
  const own = await promptOf(context, { treeId, id });
  if (own) return own;
  const other = await treeOfJudgement(context).load(`${promptHash} ${id}`);
  return other === null ? null : promptOf(context, { treeId: other, id });
}

const recorded = loadedBy((db) => oneOfTree((prompts) => readPromptsRecorded(db, prompts)));

/** Returns whether a prompt of a step or a judgement is recorded. */
export async function hasPrompt(context: Context, of: OfTree): Promise<boolean> {
  return (await recorded(context).load(of)) !== null;
}

/** Turns a recorded prompt into what the API shows. */
function promptModel({ tokenIds, continues, messages, ...prompt }: RecordedPrompt): PromptModel {
  const of = { treeId: prompt.treeId, id: prompt.stepId };
  return {
    ...prompt,
    continues,
    messages: messages.map(({ role, parts, toolCallId = null, name = null }) => ({
      role,
      toolCallId,
      name,
      parts: parts.map((part) => partModel(of, part)),
    })),
    tokens: tokenIds && { ids: pack('int32', tokenIds), before: continues?.before ?? null, kept: continues?.kept ?? null },
  };
}

const NO_PART = { text: null, reasoning: null, toolCall: null, imageId: null };

function partModel(prompt: OfTree, part: PolicyMessagePart): PromptPartModel {
  const none = { ...NO_PART, prompt };
  switch (part.kind) {
    case 'text':
      return { ...none, text: part.text };
    case 'reasoning':
      return { ...none, reasoning: part.text };
    case 'tool-call':
      return { ...none, toolCall: { id: part.id, name: part.name, arguments: part.arguments } };
    case 'image':
      return { ...none, imageId: part.imageId };
    default:
      return part satisfies never;
  }
}
