import { sql } from 'kysely';
import type { Verdict } from '../../domain/revision/verdict.ts';
import type { Blobs } from '../../postgres/column-types.ts';
import type { Db } from '../../postgres/database.ts';

export interface JudgementRecord {
  readonly id: string;
  readonly treeId: string;
  /** The trajectory that was judged, by its leaf, and the place of the step on it, from 0. */
  readonly leafStepId: string;
  readonly stepId: string;
  readonly index: number;
  /** name@revision. */
  readonly judge: string;
  readonly promptHash: string;
  readonly verdict: Verdict;
  /** '' where `blobs` names it: it lies in the blob store. */
  readonly reply: string;
  /** The judgement whose answer it repeats; null when the judge was asked. */
  readonly reusedFrom: string | null;
  readonly judgedAt: Date;
  readonly blobs: Blobs | null;
}

const COLUMNS = sql`judgement_id as id, tree_id, leaf_step_id, step_id, step_index as index, judge,
  prompt_hash, verdict, reply, reused_from, judged_at, blobs`;

/** Reads the judgements of trees, each trajectory's in the order of its steps. */
export async function readJudgements(db: Db, trees: readonly string[]): Promise<readonly JudgementRecord[]> {
  const { rows } = await sql<JudgementRecord>`
    select ${COLUMNS} from judgements where tree_id = any(${[...trees]}::uuid[])
    order by tree_id, leaf_step_id, judge, step_index, judgement_id`.execute(db);
  return rows;
}

/** Finds the first judgement that a judge (`name@revision`) gave when it was asked just this, in whatever run. */
export async function findVerdict(db: Db, judge: string, promptHash: string): Promise<JudgementRecord | undefined> {
  const { rows } = await sql<JudgementRecord>`
    select ${COLUMNS} from judgements where prompt_hash = ${promptHash} and judge = ${judge}
    order by judged_at, judgement_id limit 1`.execute(db);
  return rows[0];
}
