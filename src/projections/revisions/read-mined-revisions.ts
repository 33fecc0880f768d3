import { type Selectable, sql } from 'kysely';
import type { Thresholds } from '../../domain/revision/thresholds.ts';
import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import type { Tables } from '../../postgres/tables.ts';
import { keyInTree } from '../of-tree.ts';

/** A revision as it was mined; `splice` makes its turns again from the tree. */
export interface MinedRevision
  extends Pick<
    Selectable<Tables['revisions']>,
    | ('revisionId' | 'treeId' | 'goodLeafStepId' | 'badLeafStepId' | 'branchStepId' | 'transitionStepId' | 'transitionCause')
    | ('judged' | 'reflection' | 'signal' | 'alpha' | 'beta' | 'judge' | 'contentHash' | 'reached')
  > {
  readonly state: 'composed' | 'verified';
}

/** Which revisions are read, and in which order those of equal content. */
export interface RevisionChoice {
  /** `verified` ones alone, or with `composed` those that nobody executed too. */
  readonly state: MinedRevision['state'];
  readonly judge?: string | undefined;
  /** Those that were mined by them come before others. */
  readonly thresholds: Thresholds;
  /** Those that come before all others, by `keyInTree`. */
  readonly preferred?: ReadonlySet<string> | undefined;
}

/**
 * Reads the revisions of trees that may be written, by content. Of equal content, which may have been mined more than once, the
 * preferred come first, then those of the thresholds, then the older ones.
 */
export async function readMinedRevisions(
  trx: Db,
  treeIds: readonly string[],
  { state, judge, thresholds: { alpha, beta }, preferred = new Set() }: RevisionChoice,
): Promise<readonly MinedRevision[]> {
  const states = state === 'verified' ? ['verified'] : ['verified', 'composed'];
  const by = judge === undefined ? sql`true` : sql`(judge = ${judge} or split_part(judge, '@', 1) = ${judge})`;
  const { rows } = await sql<MinedRevision>`
    select revision_id, tree_id, good_leaf_step_id, bad_leaf_step_id,
           branch_step_id, transition_step_id, transition_cause, judged,
           reflection, signal, alpha, beta, judge,
           content_hash, state, reached
    from revisions where tree_id = any(${[...treeIds]}::uuid[]) and state = any(${states}::text[]) and ${by}
    order by tree_id, content_hash, (alpha = ${alpha} and beta = ${beta}) desc, composed_at, revision_id`.execute(trx);
  if (preferred.size === 0) return rows;
  return rows.flatMap((row, i) => {
    const before = rows[i - 1];
    if (before && isOfContent(before, row)) return [];
    const equal = rows.slice(i, endOfContent(rows, i));
    const isPreferred = (one: MinedRevision) => preferred.has(keyInTree(one.treeId, one.revisionId));
    return [...equal.filter(isPreferred), ...equal.filter((one) => !isPreferred(one))];
  });
}

function isOfContent(one: MinedRevision, other: MinedRevision): boolean {
  return one.treeId === other.treeId && one.contentHash === other.contentHash;
}

/** Returns the place behind those that have the content of the one at a place. */
function endOfContent(rows: readonly MinedRevision[], from: number): number {
  const [first] = rows.slice(from, from + 1);
  let end = from + 1;
  for (let next = rows[end]; first && next && isOfContent(first, next); next = rows[end]) end += 1;
  return end;
}

const JUDGEMENT = ['judgementId', 'treeId', 'leafStepId', 'stepId', 'stepIndex', 'judge', 'verdict', 'reply', 'blobs'] as const;

/** What a judge said of a step of a trajectory. */
export type MinedJudgement = Pick<Selectable<Tables['judgements']>, (typeof JUDGEMENT)[number]>;

/** Reads the judgements of trees, those of one trajectory in the order of its steps. */
export async function readMinedJudgements(trx: Db, treeIds: readonly string[]): Promise<readonly MinedJudgement[]> {
  const order = ['treeId', 'leafStepId', 'stepIndex', 'judgementId'] as const;
  return rowsWhere(trx, 'judgements', { treeId: treeIds }, JUDGEMENT, order);
}
