import { sql } from 'kysely';
import type { BlobStore } from '../../../blobs/blob-store.ts';
import type { Trx } from '../../../postgres/database.ts';
import { readTrees } from '../export/read-trees.ts';
import { resolveTexts } from '../export/resolve-texts.ts';
import { selectTrees } from '../export/select-trajectories.ts';
import { batchTrees } from '../export/stream-trajectories.ts';
import type { TrajectoryQuery } from '../export/trajectory-query.ts';
import { composeRows, type RowContext } from './compose-rows.ts';
import { mineTree } from './mined-tree.ts';
import { readMinedJudgements, readMinedRevisions } from './read-revisions.ts';
import type { RowParameters } from './row-options.ts';
import type { TrainingRow } from './training-row.ts';

/**
 * Streams the examples of a query tree by tree, in its order: run, task alias, tree. A revision is there when both of its leaves
 * match.
 */
export async function* streamRows(
  trx: Trx,
  query: TrajectoryQuery,
  blobs: BlobStore,
  parameters: RowParameters,
): AsyncGenerator<readonly TrainingRow[]> {
  const openingOf = openings(trx);
  for await (const batch of batchTrees(trx, selectTrees(trx, query))) {
    const ids = batch.map(({ treeId }) => treeId);
    const trees = await readTrees(trx, ids);
    const revisions = await readMinedRevisions(trx, ids, parameters);
    const judgements = await readMinedJudgements(trx, ids);
    for (const { treeId, runId, rollouts } of batch) {
      const recorded = trees.get(treeId);
      if (!recorded) continue;
      const ofTree = <Row extends { readonly treeId: string }>(row: Row) => row.treeId === treeId;
      const context: RowContext = {
        ...(await openingOf(runId)),
        revisions: revisions.filter(ofTree),
        judgements: await Promise.all(
          judgements.filter(ofTree).map((row) => resolveTexts(row, blobs, `judgement ${row.judgementId}`)),
        ),
      };
      yield composeRows(await mineTree(recorded, rollouts, blobs), context, parameters);
    }
  }
}

type Opening = Pick<RowContext, 'system' | 'acknowledgement'>;

/**
 * Looks up how the conversations of an imported run open (`config.system`, `config.acknowledgement`). Trees come run by run: one
 * is kept.
 */
function openings(trx: Trx): (runId: string) => Promise<Opening> {
  let kept: { readonly runId: string; readonly opening: Opening } | undefined;
  return async (runId) => {
    if (kept?.runId !== runId) {
      const { rows } = await sql<{ config: Record<string, unknown> }>`
        select config from runs where run_id = ${runId}`.execute(trx);
      const [system, acknowledgement] = ['system', 'acknowledgement'].map((name) => {
        const value = rows[0]?.config[name];
        return typeof value === 'string' ? value : null;
      });
      kept = { runId, opening: { system: system ?? null, acknowledgement: acknowledgement ?? null } };
    }
    return kept.opening;
  };
}
