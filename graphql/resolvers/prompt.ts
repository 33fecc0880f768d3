import type { AskedPart } from '../../src/domain/prompts/asked-prompt.ts';
import { pack } from '../../src/events/packed.ts';
import { rowsWhere } from '../../src/postgres/rows-where.ts';
import { findHistoryImages, readHistoryImages } from '../../src/projections/images/read-history-images.ts';
import type { RecordedPrompt } from '../../src/projections/prompts/read-prompts.ts';
import type { Context } from '../context.ts';
import type { DriftResolvers, PromptPartResolvers, RequestedToolResolvers } from '../generated/types.ts';
import { one } from '../loaders/batch.ts';
import { loadedBy } from '../loaders/loaded-by.ts';
import { createPromptLoader } from '../loaders/prompt-loader.ts';
import type { PromptModel, PromptPartModel } from '../models.ts';
import { pictureOf } from './pictures.ts';

const imageOfStep = loadedBy((db) =>
  one(
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
  image: async ({ imageId, promptId }, _, context) => {
    if (imageId === null) return null;
    const own = await imageOfStep(context).load(promptId); // its factor is of the step, not of the pixels
    return own?.id === imageId ? own : images(context).load(imageId);
  },
};

export const RequestedTool: RequestedToolResolvers = {
  arguments: async ({ arguments: given }, _, { texts }) =>
    typeof given === 'string' ? given : Buffer.from(await texts.bytes(given)).toString('utf8'),
};

export const Drift: DriftResolvers = {
  firstStep: ({ firstStepId }, _, { loaders }) => (firstStepId === null ? null : loaders.step.load(firstStepId)),
};

const prompts = loadedBy((db, { texts, sources: { keys } }) => createPromptLoader(db, texts, keys));

/** Returns the prompt that a step or a judgement was asked with. */
export async function promptOf(context: Context, id: string): Promise<PromptModel | null> {
  const prompt = await prompts(context).load(id);
  return prompt && promptModel(prompt);
}

const recorded = loadedBy((db) =>
  one(
    (ids) => rowsWhere(db, 'prompts', { promptId: ids }, ['promptId']),
    ({ promptId }) => promptId,
  ),
);

/** Returns whether a prompt of a step or a judgement is recorded. */
export async function hasPrompt(context: Context, id: string): Promise<boolean> {
  return (await recorded(context).load(id)) !== null;
}

/** Turns a recorded prompt into what the API shows. */
function promptModel({ tokenIds, continues, messages, ...prompt }: RecordedPrompt): PromptModel {
  return {
    ...prompt,
    continues,
    messages: messages.map(({ role, parts, toolCallId = null, name = null }) => ({
      role,
      toolCallId,
      name,
      parts: parts.map((part) => partModel(prompt.stepId, part)),
    })),
    tokens: tokenIds && { ids: pack('int32', tokenIds), before: continues?.before ?? null, kept: continues?.kept ?? null },
  };
}

const NO_PART = { text: null, reasoning: null, toolCall: null, imageId: null };

function partModel(promptId: string, part: AskedPart): PromptPartModel {
  const none = { ...NO_PART, promptId };
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
