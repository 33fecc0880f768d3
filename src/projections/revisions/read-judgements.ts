import type { Selectable } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { wholeRowsWhere } from '../../postgres/rows-where.ts';
import type { Tables } from '../../postgres/tables.ts';

type Row = Selectable<Tables['judgements']>;

/**
 * `leafStepId` is the leaf of the trajectory that was judged, `index` the place of the step on it, from 0; `reusedFrom` is the
 * judgement whose answer it repeats, null when the judge was asked. The reply is '' where `blobs` names it: it is in the blob store.
 */
export interface JudgementRecord extends Omit<Row, 'judgementId' | 'runId' | 'stepIndex' | 'logOffset'> {
  readonly id: string;
  readonly index: number;
}

/** Reads the judgements of trees, each trajectory's in the order of its steps. */
export async function readJudgements(db: Db, trees: readonly string[]): Promise<readonly JudgementRecord[]> {
  const order = ['treeId', 'leafStepId', 'judge', 'stepIndex', 'judgementId'] as const;
  return (await wholeRowsWhere(db, 'judgements', { treeId: trees }, order)).map(toJudgement);
}

/** Finds the first judgement that a judge (`name@revision`) gave when it was asked just this, in whatever run. */
export async function findVerdict(db: Db, judge: string, promptHash: string): Promise<JudgementRecord | undefined> {
  const row = await db
    .selectFrom('judgements')
    .selectAll()
    .where('promptHash', '=', promptHash)
    .where('judge', '=', judge)
    .orderBy('judgedAt')
    .orderBy('judgementId')
    .limit(1)
    .executeTakeFirst();
  return row && toJudgement(row);
}

function toJudgement({ judgementId, runId: _run, stepIndex, logOffset: _offset, ...row }: Row): JudgementRecord {
  return { id: judgementId, index: stepIndex, ...row };
}
