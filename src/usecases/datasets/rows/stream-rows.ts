import type { BlobStore } from '../../../blobs/blob-store.ts';
import type { Trx } from '../../../postgres/database.ts';
import { readMinedJudgements, readMinedRevisions } from '../../../projections/revisions/read-mined-revisions.ts';
import { readRunsById } from '../../../projections/runs/read-runs.ts';
import { readRecordedTrees } from '../../../projections/trajectories/read-recorded-trees.ts';
import { selectTrees } from '../../../projections/trajectories/select-trajectories.ts';
import type { TrajectoryQuery } from '../../../projections/trajectories/trajectory-query.ts';
import { resolveTexts } from '../export/resolve-texts.ts';
import { batchTrees } from '../export/stream-trajectories.ts';
import { composeRows, type RowContext } from './compose-rows.ts';
import { mineTree } from './mined-tree.ts';
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
    const trees = await readRecordedTrees(trx, ids);
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
      const [run] = await readRunsById(trx, [runId]);
      const config = run?.config as Record<string, unknown> | undefined; // free-form JSON: what is no object has no names
      const [system, acknowledgement] = ['system', 'acknowledgement'].map((name) => {
        const value = config?.[name];
        return typeof value === 'string' ? value : null;
      });
      kept = { runId, opening: { system: system ?? null, acknowledgement: acknowledgement ?? null } };
    }
    return kept.opening;
  };
}
