import type { BlobStore } from '../../../blobs/blob-store.ts';
import type { Db, Trx } from '../../../postgres/database.ts';
import { readAnnotationsOfTrees } from '../../../projections/annotations/read-annotations.ts';
import { keyInTree } from '../../../projections/of-tree.ts';
import { readPictureIdsOfTree } from '../../../projections/pictures/read-pictures.ts';
import { readMinedJudgements, readMinedRevisions } from '../../../projections/revisions/read-mined-revisions.ts';
import { readRecordedTrees } from '../../../projections/trajectories/read-recorded-trees.ts';
import { type SelectedTree, selectTrees } from '../../../projections/trajectories/select-trajectories.ts';
import type { TrajectoryQuery } from '../../../projections/trajectories/trajectory-query.ts';
import { batchTrees, configs, readPromptsOf, resolveTexts, stepsOf } from '../export/stream-trajectories.ts';
import { composeRows, type MinedLeftOut, mineTree, type RowContext } from './compose-rows.ts';
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
  { revisionKeys, preferred, onLeftOut }: ChosenRevisions & Pick<RowMaking, 'onLeftOut'> = {},
): AsyncGenerator<readonly TrainingRow[]> {
  const configOf = configs(trx);
  for await (const batch of batchTrees(trx, selectTrees(trx, query)))
    yield* rowsOf(trx, batch, { revisionKeys, preferred, onLeftOut, blobs, parameters, configOf });
}

/** Which revisions make examples. */
export interface ChosenRevisions {
  /** The only ones that count, by `keyInTree`; left out, all. */
  readonly revisionKeys?: ReadonlySet<string> | undefined;
  /** Those that come before others of the same content. */
  readonly preferred?: ReadonlySet<string> | undefined;
}

/** What examples of trees are made with. */
export interface RowMaking extends ChosenRevisions {
  readonly blobs: Pick<BlobStore, 'get'>;
  readonly parameters: RowParameters;
  readonly configOf: ReturnType<typeof configs>;
  /** Called with what of each tree makes no example. */
  readonly onLeftOut?: ((leftOut: MinedLeftOut, split: string | null) => void) | undefined;
}

/** Makes the examples of a few trees, tree by tree. */
export async function* rowsOf(
  trx: Db,
  batch: readonly SelectedTree[],
  { blobs, parameters, revisionKeys, preferred, configOf, onLeftOut }: RowMaking,
): AsyncGenerator<readonly TrainingRow[]> {
  const ids = batch.map(({ treeId }) => treeId);
  const trees = await readRecordedTrees(trx, ids);
  const mined = await readMinedRevisions(trx, ids, { ...parameters, preferred });
  const revisions = revisionKeys
    ? mined.filter(({ treeId, revisionId }) => revisionKeys.has(keyInTree(treeId, revisionId)))
    : mined;
  const judgements = await readMinedJudgements(trx, ids);
  const annotations = await readAnnotationsOfTrees(trx, ids);
  for (const { treeId, runId, rollouts } of batch) {
    const recorded = trees.get(treeId);
    if (!recorded) throw new Error(`tree ${treeId} was there when counted in the same snapshot`);
    const ofTree = <Row extends { readonly treeId: string }>(row: Row) => row.treeId === treeId;
    const config = await configOf(runId);
    const context: RowContext = {
      ...openingIn(config),
      config,
      prompts: await readPromptsOf(trx, blobs, treeId, stepsOf(recorded, rollouts)),
      revisions: revisions.filter(ofTree),
      annotations: annotations.filter(ofTree),
      judgements: await Promise.all(
        judgements.filter(ofTree).map((row) => resolveTexts(row, blobs, `judgement ${row.judgementId}`)),
      ),
    };
    const pictureIds = await readPictureIdsOfTree(trx, treeId);
    const pictures = new Map([...pictureIds].map(([stepId, ids]) => [stepId, ids.map(({ imageId }) => imageId)]));
    const mined = await mineTree(recorded, rollouts, blobs, pictures);
    onLeftOut?.(mined.leftOut, mined.head.split);
    yield composeRows(mined, context, parameters);
  }
}

type Opening = Pick<RowContext, 'system' | 'acknowledgement'>;

/** Reads how the conversations of an imported run open (`config.system`, `config.acknowledgement`). */
function openingIn(config: unknown): Opening {
  const named = config as Record<string, unknown> | undefined; // free-form JSON: what is no object has no names
  const [system = null, acknowledgement = null] = ['system', 'acknowledgement'].map((name) => {
    const value = named?.[name];
    return typeof value === 'string' ? value : null;
  });
  return { system, acknowledgement };
}
