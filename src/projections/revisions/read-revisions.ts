import type { Selectable } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import type { JudgementsTable, RevisionsTable } from '../../postgres/tables.ts';

export type RevisionRecord = Selectable<RevisionsTable>;
export type JudgementRecord = Selectable<JudgementsTable>;

/** Reads the revisions of trees, each tree's in the order of the log. */
export async function readRevisions(db: Db, trees: readonly string[]): Promise<readonly RevisionRecord[]> {
  if (trees.length === 0) return [];
  return db
    .selectFrom('revisions')
    .selectAll()
    .where('tree_id', 'in', [...trees])
    .orderBy('tree_id')
    .orderBy('log_offset')
    .execute();
}

/** Reads the judgements of trees, each tree's in the order of the log. */
export async function readJudgements(db: Db, trees: readonly string[]): Promise<readonly JudgementRecord[]> {
  if (trees.length === 0) return [];
  return db
    .selectFrom('judgements')
    .selectAll()
    .where('tree_id', 'in', [...trees])
    .orderBy('tree_id')
    .orderBy('log_offset')
    .execute();
}

/** Finds the first judgement that a judge (`name@revision`) gave when it was told just this, in whatever run. */
export async function findVerdict(db: Db, judge: string, promptHash: string): Promise<JudgementRecord | undefined> {
  return db
    .selectFrom('judgements')
    .selectAll()
    .where('prompt_hash', '=', promptHash)
    .where('judge', '=', judge)
    .orderBy('judged_at')
    .orderBy('judgement_id')
    .limit(1)
    .executeTakeFirst();
}
