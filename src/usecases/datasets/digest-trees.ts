import type { BlobStore } from '../../blobs/blob-store.ts';
import { sha256Hex } from '../../digest/sha256.ts';
import { type DigestedStep, treeDigest } from '../../domain/tree/tree-digest.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Trx } from '../../postgres/database.ts';
import { readTreesOfRun } from '../../projections/step-tree/read-trees-of-run.ts';
import { readRecordedTrees } from '../../projections/trajectories/read-recorded-trees.ts';
import type { RecordedTree } from '../../projections/trajectories/recorded-tree.ts';
import { batchTrees, resolveTexts } from './export/stream-trajectories.ts';

export interface TreeDigest {
  readonly treeId: string;
  readonly alias: string;
  readonly digest: string;
}

/**
 * Digests what happened in each given tree (`treeDigest`), reading as many at once as an export does. Equal seeded runs give
 * equal digests whatever log, database or machine they ran on. @throws DatasetError `blob`.
 */
export async function* digestTrees(
  trx: Trx,
  blobs: BlobStore,
  trees: AsyncIterable<{ readonly treeId: string; readonly runId: string }>,
): AsyncGenerator<TreeDigest> {
  for await (const batch of batchTrees(trx, withoutRollouts(trees))) {
    const recorded = await readRecordedTrees(
      trx,
      batch.map(({ treeId }) => treeId),
    );
    for (const { treeId } of batch) {
      const tree = recorded.get(treeId);
      if (tree) yield { treeId, alias: tree.head.alias, digest: await digestOf(tree, blobs) };
    }
  }
}

/** Digests a whole run: its trees by alias and digest, in an order that is not of arrival. */
export async function digestRun(
  trx: Trx,
  blobs: BlobStore,
  runId: string,
): Promise<{ readonly trees: number; readonly digest: string }> {
  const trees = await readTreesOfRun(trx, runId);
  const digests: string[] = [];
  for await (const { digest } of digestTrees(trx, blobs, each(trees.map(({ treeId }) => ({ treeId, runId })))))
    digests.push(digest);
  return { trees: digests.length, digest: sha256Hex(JSON.stringify(digests.sort())) };
}

/** Digests one tree that was read. */
export async function digestOf({ head, tree, rollouts, rewards }: RecordedTree, blobs: BlobStore): Promise<string> {
  const place = `tree ${head.treeId}`;
  const steps: DigestedStep[] = [];
  for (const { step } of tree.nodes.values()) steps.push(await resolveTexts(step, blobs, `${place} step ${step.stepId}`));
  const resolved = await resolveTexts(head, blobs, place);
  const all = [...rewards.ofStep.values(), ...rewards.ofRollout.values()].flat();
  return treeDigest({ ...resolved, steps, rollouts: [...rollouts.values()], rewards: all }, sha256Hex);
}

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

async function* withoutRollouts<T extends { readonly treeId: string; readonly runId: string }>(trees: AsyncIterable<T>) {
  for await (const { treeId, runId } of trees) yield { treeId, runId, rollouts: [] };
}

/**
 * Digests everything that happened in a run. Ids and times do not count, so the same seeded run over another log, or resumed
 * after a kill, yields the same digest.
 */
export function runDigest(
  { database, blobs }: Pick<Platform, 'database' | 'blobs'>,
  runId: string,
): ReturnType<typeof digestRun> {
  return database.db.transaction().execute((trx) => digestRun(trx, blobs, runId));
}
