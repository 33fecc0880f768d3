import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { type Page, type PageRequest, readPage } from '../../postgres/keyset.ts';
import { keyInTree } from '../of-tree.ts';
import { measureSearch } from './plan-search.ts';
import { SAMPLE_ORDERING, type SampleFilter, samplesOf } from './sample-query.ts';
import { stepMatches, type TextQuery } from './text-query.ts';

/** A search of the texts of steps, by the samples that took them. */
export type SearchedSamples = SampleFilter & { readonly text: TextQuery };
/** How the samples are found whose texts are looked at: by the index of words, or one after the other. */
export type SamplePlan = 'index' | 'look-through';
type Id = { readonly rolloutId: string; readonly treeId: string };
type Found = Page<Id>['rows'][number];

/** Bytes of texts whose words one page makes again, 0.2 ms of CPU a kilobyte; then the page ends where it is. */
const WORK = 256 * 1_024;
const FIRST = 16; // samples whose texts are looked at together
const MOST = 512;
const BY_INDEX = 4_000; // steps that hold the words: so many are found sooner than the samples of a run are looked through

/**
 * Reads the ids of one page of the samples that took a step whose texts match, where few samples are chosen otherwise. They are
 * gone through in their order, and each up to its first step that matches, so that a page of what many took ends soon. What one
 * page looks at is bounded: one that has looked at enough ends with fewer samples than it may have, `resume` is then the cursor
 * of the last one that was looked at, and what is known to lie behind it is said as in a full page. @throws InvalidCursor.
 */
export async function searchSamples(
  db: Db,
  filter: SearchedSamples,
  page: PageRequest,
  options: { readonly plan?: SamplePlan; readonly work?: number; readonly first?: number } = {},
): Promise<Page<Id>> {
  const plan = options.plan ?? (await planSamples(db, filter));
  const { found, stopped } = await walk({ db, filter, page, plan, work: options.work ?? WORK, first: options.first ?? FIRST });
  const forwards = page.towards === 'forwards';
  const more = found.length > page.limit || stopped !== null;
  const rows = found
    .slice(0, page.limit)
    .map(({ row: { rolloutId, treeId }, cursor }) => ({ row: { rolloutId, treeId }, cursor }));
  return {
    rows: forwards ? rows : rows.reverse(),
    hasPrevious: forwards ? page.after !== null : more,
    hasNext: forwards ? more : page.before !== null,
    ...(stopped === null ? {} : { resume: stopped }),
  };
}

/** Returns how a search by texts is answered. */
export async function planSamples(db: Db, filter: SearchedSamples): Promise<SamplePlan> {
  const { mark } = filter.text;
  if (mark === null) return 'look-through';
  const { matches, steps } = await measureSearch(db, { ...filter.text, mark }, filter);
  return matches <= Math.min(BY_INDEX, steps) ? 'index' : 'look-through';
}

interface Walk {
  readonly db: Db;
  readonly filter: SearchedSamples;
  readonly page: PageRequest;
  readonly plan: SamplePlan;
  readonly work: number;
  readonly first: number;
}

/** Finds one sample more than a page has, in the direction of the page; `stopped` is where the work was used up before that. */
async function walk({ db, filter, page, plan, work, first }: Walk): Promise<{ found: Found[]; stopped: string | null }> {
  const found: Found[] = [];
  const forwards = page.towards === 'forwards';
  const chosen = samplesOf(db, filter, plan === 'index' ? ['holding'] : []).select(['samples.rolloutId', 'samples.treeId']);
  let [left, size, at] = [work, first, page];
  for (let more = true; more; ) {
    const limit = plan === 'index' ? MOST : size; // the index is asked for as many as a page may look at
    const chunk = await readPage(db, chosen, SAMPLE_ORDERING, { ...at, limit });
    const rows = forwards ? chunk.rows : [...chunk.rows].reverse();
    more = (forwards ? chunk.hasNext : chunk.hasPrevious) && rows.length > 0;
    for (let from = 0; from < rows.length; ) {
      const some = rows.slice(from, from + size);
      from += some.length;
      const looked = await lookAt(db, filter.text, some);
      let [bytes, last] = [0, null as string | null];
      for (const sample of some) {
        const { matches = false, length = 0 } = looked.get(keyInTree(sample.row.treeId, sample.row.rolloutId)) ?? {};
        if (matches) found.push(sample);
        if (found.length > page.limit) return { found, stopped: null };
        bytes += matches ? length / 2 : length; // on average, where the first step that matches ends the looking
        last = sample.cursor;
      }
      left -= bytes;
      if (left <= 0 && last !== null && (more || from < rows.length)) return { found, stopped: last };
      size = Math.max(1, Math.min(MOST, Math.floor((left * some.length) / Math.max(1, bytes))));
      at = { ...at, [forwards ? 'after' : 'before']: last };
    }
  }
  return { found, stopped: null };
}

/** Looks at the texts of the steps of samples, of each up to the first that matches. */
async function lookAt(
  db: Db,
  text: TextQuery,
  samples: readonly Found[],
): Promise<ReadonlyMap<string, { readonly matches: boolean; readonly length: number }>> {
  const [rollouts, trees] = [samples.map(({ row }) => row.rolloutId), samples.map(({ row }) => row.treeId)];
  const taken = sql`steps s where s.tree_id = c.tree_id and s.rollout_id = c.rollout_id`;
  const { rows } = await sql<{ id: string; treeId: string; matches: boolean; length: number }>`
    select c.rollout_id as id, c.tree_id, exists (select from ${taken} and ${stepMatches('s', text)} offset 0) as matches,
      (select coalesce(sum(octet_length(s.observation) + octet_length(s.action) + octet_length(s.thought)), 0)::float8 from ${taken}) as length
    from unnest(${rollouts}::uuid[], ${trees}::uuid[]) as c (rollout_id, tree_id)`.execute(db);
  return new Map(rows.map((row) => [keyInTree(row.treeId, row.id), row]));
}
