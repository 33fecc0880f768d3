import { createHash } from 'node:crypto';
import { readTrees } from '../datasets/export/read-trees.ts';
import type { RecordedTree } from '../datasets/export/recorded-tree.ts';
import { type ToldStep, treeDigest } from '../domain/tree/tree-digest.ts';
import type { Db } from '../postgres/database.ts';

const TREES_AT_A_TIME = 50;

/**
 * Digests everything that happened in a run: the digests of its trees, sorted. Ids and times do not count, so the same seeded run over
 * another log, or resumed after a kill, gives the same digest.
 */
export async function runDigest(db: Db, runId: string): Promise<{ readonly digest: string; readonly trees: number }> {
  const ids = await db.selectFrom('trees').select('tree_id').where('run_id', '=', runId).orderBy('tree_id').execute();
  const digests: string[] = [];
  for (let i = 0; i < ids.length; i += TREES_AT_A_TIME) {
    const slice = ids.slice(i, i + TREES_AT_A_TIME).map((row) => row.tree_id);
    const trees = await db.transaction().execute((trx) => readTrees(trx, slice));
    for (const tree of trees.values()) digests.push(digestOf(tree));
  }
  return { digest: sha256(digests.sort().join('\n')), trees: digests.length };
}

/** Digests one tree; a text in the blob store counts by its own digest. */
export function digestOf({ head, tree, rollouts, rewards }: RecordedTree): string {
  const steps: ToldStep[] = [...tree.nodes.values()].map(({ step }) => {
    const text = (field: 'response' | 'thought' | 'action' | 'observation') => {
      const reference = step.blobs?.[field];
      return reference ? `blob ${reference.blob}` : step[field];
    };
    return {
      ...step,
      response: text('response'),
      thought: text('thought'),
      action: text('action'),
      observation: text('observation'),
    };
  });
  const all = [...rewards.ofStep.values(), ...rewards.ofRollout.values()].flat();
  return treeDigest({ ...head, steps, rollouts: [...rollouts.values()], rewards: all }, sha256);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
