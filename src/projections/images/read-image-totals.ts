import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { exactMean, exactSum } from '../../postgres/exact-sum.ts';
import { type OfTree, pairsOf } from '../of-tree.ts';

/**
 * What showing histories as images amounts to, over the steps of a run or of a rollout. Shares are null while there is nothing to
 * divide by.
 */
export interface ImageTotals {
  /** The run or the rollout. */
  readonly ofId: string;
  /** Steps whose prompt showed an image. */
  readonly steps: number;
  /** Images that differ. */
  readonly images: number;
  readonly visionTokens: number;
  /** What the same histories cost as text, by the tokenizers that the steps name. */
  readonly textTokens: number;
  /** textTokens − visionTokens: less than 0 where images cost more. */
  readonly saved: number;
  /** Segments over all images; those that a cache held, and those that had to be drawn. */
  readonly segments: number;
  readonly hits: number;
  readonly misses: number;
  readonly hitRate: number | null;
  /** Pixels of the images, with their borders. */
  readonly pixels: number;
  readonly meanFactor: number | null;
  readonly cutSegments: number;
  readonly cutLines: number;
  readonly outside: number;
  readonly unshaped: number;
  readonly renderMs: number;
}

const summed = (column: string, as = column) => sql`coalesce(sum(s.${sql.ref(column)}), 0)::bigint as ${sql.ref(as)}`;
const MISSES = sql`coalesce(sum(jsonb_array_length(s.missed)), 0)::bigint`;

/** What showing images amounts to, of rows `s` of `history_images`; decimals have one sum in any order. */
export const IMAGE_TOTALS = sql`count(s.step_id) as steps, ${summed('vision_tokens')}, ${summed('text_tokens')},
  coalesce(sum(s.text_tokens - s.vision_tokens), 0)::bigint as saved, ${summed('length', 'segments')},
  coalesce(sum(s.length), 0)::bigint - ${MISSES} as hits, ${MISSES} as misses,
  (sum(s.length) - ${MISSES})::float8 / nullif(sum(s.length), 0)::float8 as hit_rate,
  coalesce(sum(s.width::bigint * s.height), 0)::bigint as pixels, ${exactMean(sql`s.factor`)} as mean_factor, ${summed('cut_segments')},
  ${summed('cut_lines')}, ${summed('outside')}, ${summed('unshaped')}, coalesce(${exactSum(sql`s.render_ms`)}, 0) as render_ms`;

/** The sums alone: how many images differ is another reading. */
export type ImageSums = Omit<ImageTotals, 'images'>;

/** Sums up the images of runs: a row for each id, of zeroes where a run shows none. */
export async function readImageTotalsOfRuns(db: Db, runs: readonly string[]): Promise<readonly ImageSums[]> {
  const { rows } = await sql<ImageSums>`
    select c.of_id, p.* from unnest(${[...runs]}::uuid[]) as c (of_id)
    cross join lateral (select ${IMAGE_TOTALS} from history_images s where s.run_id = c.of_id) p`.execute(db);
  return rows;
}

/** Counts the images of runs that differ: ids that are compared by their bytes, in the order of an index. */
export async function countDifferingImages(
  db: Db,
  runs: readonly string[],
): Promise<readonly { readonly runId: string; readonly images: number }[]> {
  const { rows } = await sql<{ runId: string; images: number }>`
    select c.run_id, h.images from unnest(${[...runs]}::uuid[]) as c (run_id)
    cross join lateral (
      select count(distinct h.image_id collate "C") as images from history_images h where h.run_id = c.run_id) h`.execute(db);
  return rows;
}

/** Sums up the images of the steps that rollouts took. Their trees narrow the search. */
export async function readImageTotalsOfRollouts(
  db: Db,
  rollouts: readonly OfTree[],
): Promise<readonly (ImageTotals & { readonly treeId: string })[]> {
  if (rollouts.length === 0) return [];
  const trees = [...new Set(rollouts.map(({ treeId }) => treeId))];
  const { rows } = await sql<ImageTotals & { readonly treeId: string }>`
    select c.tree_id, c.id as of_id, ${IMAGE_TOTALS}, count(distinct s.image_id collate "C") as images from ${pairsOf(rollouts)} c
    left join (
      select o.rollout_id, h.* from history_images h join steps o using (step_id, tree_id)
      where h.tree_id = any(${trees}::uuid[]) and o.rollout_id = any(${rollouts.map(({ id }) => id)}::uuid[])
    ) s on s.rollout_id = c.id and s.tree_id = c.tree_id
    group by c.tree_id, c.id`.execute(db);
  return rows;
}
