import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

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
  readonly renderMs: number;
}

/** Sums up the images of runs: a row for each id, of zeroes where a run shows none. */
export async function readImageTotalsOfRuns(db: Db, runs: readonly string[]): Promise<readonly ImageTotals[]> {
  return totals(db, runs, sql`select run_id as of_id, h.* from history_images h where run_id = any(${[...runs]}::uuid[])`);
}

/** Sums up the images of the steps that rollouts took. Their trees narrow the search. */
export async function readImageTotalsOfRollouts(
  db: Db,
  trees: readonly string[],
  rollouts: readonly string[],
): Promise<readonly ImageTotals[]> {
  return totals(
    db,
    rollouts,
    sql`select s.rollout_id as of_id, h.* from history_images h join steps s using (step_id)
        where h.tree_id = any(${[...trees]}::uuid[]) and s.rollout_id = any(${[...rollouts]}::uuid[])`,
  );
}

async function totals(db: Db, ids: readonly string[], shown: RawBuilder<unknown>): Promise<readonly ImageTotals[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<ImageTotals>`
    with sums as (select h.of_id, ${imageSums('h')} from (${shown}) h group by h.of_id)
    select c.of_id, coalesce(steps, 0) as steps, coalesce(images, 0) as images, coalesce(vision_tokens, 0) as vision_tokens,
           coalesce(text_tokens, 0) as text_tokens, coalesce(saved, 0) as saved, coalesce(segments, 0) as segments,
           coalesce(hits, 0) as hits, coalesce(misses, 0) as misses, hit_rate, coalesce(pixels, 0) as pixels, mean_factor,
           coalesce(cut_segments, 0) as cut_segments, coalesce(cut_lines, 0) as cut_lines, coalesce(outside, 0) as outside,
           coalesce(render_ms, 0) as render_ms
    from unnest(${[...ids]}::uuid[]) as c (of_id) left join sums using (of_id)`.execute(db);
  return rows;
}

/**
 * What is summed up over rows of `history_images`, in one order, so that the same rows have the same bits. Ids are compared by
 * their bytes: to compare 36,000 of them by the rules of a language is most of the time.
 */
export function imageSums(table: string): RawBuilder<Omit<ImageTotals, 'ofId'>> {
  const h = (column: string) => sql.ref(`${table}.${column}`);
  const sum = (column: string) => sql`sum(${h(column)})::bigint`;
  const misses = sql`sum(jsonb_array_length(${h('missed')}))::bigint`;
  return sql`
    count(*) as steps, count(distinct ${h('image_id')} collate "C") as images, ${sum('vision_tokens')} as vision_tokens,
    ${sum('text_tokens')} as text_tokens, ${sum('text_tokens')} - ${sum('vision_tokens')} as saved, ${sum('length')} as segments,
    ${sum('length')} - ${misses} as hits, ${misses} as misses,
    (${sum('length')} - ${misses}) / nullif(${sum('length')}, 0)::float8 as hit_rate,
    sum(${h('width')}::bigint * ${h('height')})::bigint as pixels, avg(${h('factor')} order by ${h('step_id')}) as mean_factor,
    ${sum('cut_segments')} as cut_segments, ${sum('cut_lines')} as cut_lines, ${sum('outside')} as outside,
    sum(${h('render_ms')} order by ${h('step_id')}) as render_ms`;
}
