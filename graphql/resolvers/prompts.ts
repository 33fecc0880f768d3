import { pictureIds } from '../../src/domain/dataset/shown-rows.ts';
import type { PolicyMessagePart } from '../../src/domain/prompts/policy-prompt.ts';
import { pack } from '../../src/events/packed.ts';
import { rowsWhere } from '../../src/postgres/rows-where.ts';
import {
  findHistoryImages,
  type HistoryImageRecord,
  occurrencesOf,
  readHistoryImages,
  readImagesShown,
} from '../../src/projections/images/read-history-images.ts';
import { keyInTree, type OfTree } from '../../src/projections/of-tree.ts';
import { type RecordedPrompt, readPromptsRecorded } from '../../src/projections/prompts/read-prompts.ts';
import { readPaths } from '../../src/projections/step-tree/read-paths.ts';
import type { Context } from '../context.ts';
import type { DriftResolvers, PromptPartResolvers, RequestedToolResolvers } from '../generated/types.ts';
import { manyOfTree, mapped, one, oneOfTree, readFrom } from '../loaders/batch.ts';
import { loadedBy } from '../loaders/loaded-by.ts';
import { createPromptLoader } from '../loaders/prompt-loader.ts';
import type { PromptModel, PromptPartModel } from '../models.ts';
import { pictureOf } from './pictures.ts';

const imageOfStep = loadedBy((db) => manyOfTree(readFrom(db)(readHistoryImages), ({ stepId }) => stepId));
const images = loadedBy((db) => one(readFrom(db)(findHistoryImages), ({ id }) => id));

export const PromptPart: PromptPartResolvers = {
  picture: ({ imageId }, _, context) => (imageId === null ? null : pictureOf(context, imageId)),
  image: async ({ imageId, prompt, repeats }, _, context) => {
    if (imageId === null) return null;
    const [own] = await imageOfStep(context).load(prompt); // its factor is of the step, not of the pixels
    if (own?.id === imageId && repeats === 0) return own;
    const earlier = await imagesOfPath(context).load(JSON.stringify([prompt.treeId, prompt.id, imageId, repeats]));
    return earlier ?? images(context).load(imageId);
  },
};

/** The image of a step above that a prompt still shows, by tree, step, image and how many later parts show the same. */
const imagesOfPath = loadedBy((db) =>
  mapped(async (keys): Promise<ReadonlyMap<string, HistoryImageRecord | null>> => {
    const asked = keys.map((key) => {
      const [treeId, id, imageId, repeats] = JSON.parse(key) as [string, string, string, number]; // written above
      return { key, step: { treeId, id }, shown: Array.from({ length: repeats + 1 }, () => imageId) };
    });
    const ids = await readPaths(
      db,
      asked.map(({ step }) => step),
    );
    const pathOf = ({ treeId, id }: OfTree) => (ids.get(keyInTree(treeId, id)) ?? []).map((of) => ({ treeId, id: of }));
    const steps = new Map(asked.flatMap(({ step }) => pathOf(step)).map((of) => [keyInTree(of.treeId, of.id), of])); // paths share most
    const images = await readImagesShown(
      db,
      asked.flatMap(({ shown }) => shown),
      [...steps.values()],
    );
    return new Map(asked.map(({ key, step, shown }) => [key, occurrencesOf(shown, pathOf(step), images)[0] ?? null]));
  }),
);

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
  const left = new Map<string, number>();
  for (const id of pictureIds(messages)) left.set(id, (left.get(id) ?? 0) + 1);
  const repeatsOf = (imageId: string): number => {
    const repeats = (left.get(imageId) ?? 1) - 1;
    left.set(imageId, repeats);
    return repeats;
  };
  return {
    ...prompt,
    continues,
    messages: messages.map(({ role, parts, toolCallId = null, name = null }) => ({
      role,
      toolCallId,
      name,
      parts: parts.map((part) => partModel(of, part, repeatsOf)),
    })),
    tokens: tokenIds && { ids: pack('int32', tokenIds), before: continues?.before ?? null, kept: continues?.kept ?? null },
  };
}

const NO_PART = { text: null, reasoning: null, toolCall: null, imageId: null, repeats: 0 };

function partModel(prompt: OfTree, part: PolicyMessagePart, repeatsOf: (imageId: string) => number): PromptPartModel {
  const none = { ...NO_PART, prompt };
  switch (part.kind) {
    case 'text':
      return { ...none, text: part.text };
    case 'reasoning':
      return { ...none, reasoning: part.text };
    case 'tool-call':
      return { ...none, toolCall: { id: part.id, name: part.name, arguments: part.arguments } };
    case 'image':
      return { ...none, imageId: part.imageId, repeats: repeatsOf(part.imageId) };
    default:
      return part satisfies never;
  }
}
