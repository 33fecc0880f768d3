import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { annotations } from '../annotations/annotations.ts';
import { evaluations } from '../evaluations/evaluations.ts';
import { images } from '../images/images.ts';
import { journal } from '../journal/journal.ts';
import { journalChain } from '../journal-chain/journal-chain.ts';
import { pictures } from '../pictures/pictures.ts';
import type { Projection } from '../projection.ts';
import { prompts } from '../prompts/prompts.ts';
import { projections } from '../registry.ts';
import { replays } from '../replays/replays.ts';
import { rewards } from '../rewards/rewards.ts';
import { runs } from '../runs/runs.ts';
import { searchStatistics } from '../search-statistics/search-statistics.ts';
import { stepTree } from '../step-tree/step-tree.ts';

/** What of the record is folded: all of it, or some streams, for who asks of nothing else. */
export type Scope = { readonly kind: 'all' } | { readonly kind: 'streams'; readonly streams: readonly string[] };

/** What is asked of, by what leads to its streams. */
export interface Entities {
  /** Runs with all their trees. */
  readonly runs: readonly string[];
  readonly trees: readonly string[];
  /** Steps and rollouts, for the trees that they stand in. */
  readonly steps: readonly string[];
  readonly rollouts: readonly string[];
}

/**
 * The projections whose rows of a tree follow from the tree's own stream, and those of a run from the run's and its trees', with
 * the journal, which is always there whole. Of the others a scope of streams has no tables at all: who reads them there gets the
 * message by an error, never by rows that are missing.
 */
const OF_STREAMS: readonly Projection[] = [
  journal,
  journalChain,
  runs,
  stepTree,
  rewards,
  annotations,
  searchStatistics,
  evaluations,
  replays,
  images,
  prompts,
  pictures,
];

/** Returns the projections that a scope holds. */
export function projectionsOf(scope: Scope): readonly Projection[] {
  return scope.kind === 'all' ? projections : OF_STREAMS;
}

/**
 * Finds the streams of runs, trees, steps and rollouts in the read models of now: what was in a tree before is in it now.
 * One that is not known now was not known before either.
 */
export async function scopeOf(db: Db, { runs: ofRuns, trees, steps, rollouts }: Entities): Promise<Scope> {
  const { rows } = await sql<{ stream: string }>`
    select unnest(${[...ofRuns, ...trees]}::uuid[]) as stream
    union select tree_id from trees where run_id = any(${[...ofRuns]}::uuid[])
    union select tree_id from steps where step_id = any(${[...steps]}::uuid[])
    union select tree_id from rollouts where rollout_id = any(${[...rollouts]}::uuid[])
    order by stream`.execute(db);
  return { kind: 'streams', streams: rows.map(({ stream }) => stream) };
}
