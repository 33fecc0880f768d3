import type { BlobRef } from '../../src/events/schemas/values.ts';
import {
  CALL_ORDERING,
  type CapturedCall as CapturedCallRecord,
  countCalls,
  readCallPages,
  readCallsOfSteps,
} from '../../src/projections/journal/read-captured-calls.ts';
import type { OfTree } from '../../src/projections/of-tree.ts';
import { type Connection, connect, type PageArguments } from '../connection.ts';
import type { Context } from '../context.ts';
import type { CapturedCallResolvers, CapturedChoiceResolvers } from '../generated/types.ts';
import { manyOfTree, treesAndIds } from '../loaders/batch.ts';
import { createListLoader } from '../loaders/list-loader.ts';
import { loadedBy } from '../loaders/loaded-by.ts';
import { picturesOfStep } from './pictures.ts';

const ofTrees = loadedBy((db, { sources: { keys } }) =>
  createListLoader(db, (_db, trees: readonly string[], _ordering, page) => readCallPages(db, keys, trees, page), countCalls),
);
const ofSteps = loadedBy((db, { sources: { keys } }) =>
  manyOfTree(
    (steps) => readCallsOfSteps(db, keys, ...treesAndIds(steps)),
    ({ stepId }) => stepId,
  ),
);

/** Answers the captured calls of a tree, in the order in which they were recorded. */
export function connectCalls(treeId: string, args: PageArguments, context: Context): Promise<Connection<CapturedCallRecord>> {
  const { page, count } = ofTrees(context);
  return connect(
    args,
    (asked) => page.load({ filter: treeId, ordering: CALL_ORDERING, page: asked }),
    () => count.load(treeId),
  );
}

/** Returns the captured call that became a step; null where none did. */
export async function callOfStep(step: OfTree, context: Context): Promise<CapturedCallRecord | null> {
  const [call] = await ofSteps(context).load(step);
  return call ?? null;
}

export const CapturedCall: CapturedCallResolvers = {
  id: ({ callId }) => callId,
  rollout: ({ treeId, rolloutId: id }, _, { loaders }) => loaders.rollout.load({ treeId, id }),
  step: ({ treeId, stepId: id }, _, { loaders }) => (id === null ? null : loaders.step.load({ treeId, id })),
  promptSha256: ({ prompt }) => prompt,
  firstMs: ({ timings }) => timings.firstMs,
  totalMs: ({ timings }) => timings.totalMs,
  agents: async ({ attributes }, _, context) => agentsIn(await textOf(attributes, context)),
  attributes: ({ attributes }, _, context) => textOf(attributes, context),
  pictures: ({ treeId, callId: id }, _, context) => picturesOfStep(context, { treeId, id }),
};

export const CapturedChoice: CapturedChoiceResolvers = {
  message: async ({ message }, _, context) => (await textOf(message, context)) ?? '',
  namedTokens: ({ namedTokens }, _, context) => textOf(namedTokens, context),
};

async function textOf(text: string | BlobRef | undefined, { texts }: Context): Promise<string | null> {
  if (text === undefined || typeof text === 'string') return text ?? null;
  return Buffer.from(await texts.bytes(text)).toString('utf8');
}

/** Attributes that were sent by a program of the user's, or are forgotten, need not be JSON. */
function agentsIn(attributes: string | null): readonly string[] {
  try {
    const { agents } = JSON.parse(attributes ?? '{}');
    return Array.isArray(agents) ? agents.map(String) : [];
  } catch {
    return [];
  }
}
