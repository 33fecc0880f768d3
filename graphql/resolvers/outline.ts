import DataLoader from 'dataloader';
import { groupBy } from '../../src/domain/group-by.ts';
import { pack } from '../../src/events/packed.ts';
import { readRewardSums } from '../../src/projections/rewards/read-rewards.ts';
import { type BackUp, readBackUps } from '../../src/projections/search-statistics/read-statistics.ts';
import { type Outline, readOutlines } from '../../src/projections/step-tree/read-steps.ts';
import type { Context } from '../context.ts';
import { refusal } from '../errors.ts';
import type { TreeOutlineResolvers } from '../generated/types.ts';
import { mapped } from '../loaders/batch.ts';
import { loadedBy } from '../loaders/loaded-by.ts';

const LIMIT = 50_000; // steps of an outline: some MB, and what a canvas still draws
const BACK_UPS = 10_000;
const TERMINATIONS = { none: 0, terminated: 1, truncated: 2 } as const;

const outlines = loadedBy((db) => mapped((trees) => readOutlines(db, trees, LIMIT + 1)));
const rewardSums = loadedBy((db) => ofTrees((trees) => readRewardSums(db, trees)));
const backUps = loadedBy((db) => ofTrees<BackUp>((trees) => readBackUps(db, trees, BACK_UPS)));

/** Reads a tree in columns. @throws TREE_TOO_LARGE: a part never looks like the whole. */
export async function outlineOf(treeId: string, context: Context): Promise<Outline> {
  const outline = (await outlines(context).load(treeId)) ?? { treeId, steps: [] };
  if (outline.steps.length > LIMIT)
    throw refusal('TREE_TOO_LARGE', `the tree ${treeId} has more than ${LIMIT} steps; read it in parts: steps(first: …)`);
  return outline;
}

export const TreeOutline: TreeOutlineResolvers = {
  length: ({ steps }) => steps.length,
  ids: ({ steps }) => steps.map(({ id }) => id),
  parents: (outline) => {
    const places = placesOf(outline);
    return pack(
      'int32',
      outline.steps.map(({ parentId }) => (parentId === null ? -1 : (places.get(parentId) ?? -1))),
    );
  },
  actions: ({ steps }) => steps.map(({ action }) => action),
  executable: ({ steps }) =>
    pack(
      'uint8',
      steps.map(({ executable }) => (executable ? 1 : 0)),
    ),
  terminations: ({ steps }) =>
    pack(
      'uint8',
      steps.map(({ termination }) => TERMINATIONS[termination]),
    ),
  rewards: async ({ treeId, steps }, _, context) => {
    const sums = new Map((await rewardSums(context).load(treeId)).map(({ stepId, value }) => [stepId, value]));
    return pack(
      'float32',
      steps.map(({ id }) => sums.get(id) ?? Number.NaN),
    );
  },
  backUps: async (outline, _, context) => {
    const read = await backUps(context).load(outline.treeId);
    const places = read.length === 0 ? new Map<string, number>() : placesOf(outline);
    return {
      length: read.length,
      values: pack(
        'float32',
        read.map(({ value }) => value),
      ),
      lengths: pack(
        'int32',
        read.map(({ path }) => path.length),
      ),
      paths: pack(
        'int32',
        read.flatMap(({ path }) => path.map((id) => places.get(id) ?? -1)),
      ),
    };
  },
};

function placesOf({ steps }: Outline): Map<string, number> {
  return new Map(steps.map(({ id }, place) => [id, place]));
}

/** Loads what trees have; all of one tick in one statement. */
function ofTrees<Item extends { readonly treeId: string }>(
  read: (trees: readonly string[]) => Promise<readonly Item[]>,
): DataLoader<string, readonly Item[]> {
  return new DataLoader(async (trees) => {
    const byTree = groupBy(await read(trees), ({ treeId }) => treeId);
    return trees.map((tree) => byTree.get(tree) ?? []);
  });
}
