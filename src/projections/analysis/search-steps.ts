import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { joinPages, type Page, type PageRequest, readPage, readPages } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import { keyInTree, type OfTree, pairsOf } from '../of-tree.ts';
import { measureSearch, type SearchSize } from './plan-search.ts';
import { STEP_ORDERINGS, type StepFilter, stepsOf } from './step-query.ts';
import { stepMatches, type TextQuery } from './text-query.ts';
import { type TreeRange, treeRanges } from './tree-ranges.ts';

/** How the steps are found whose texts are looked at: by the index of words, or one after the other. */
export type SearchPlan =
  | {
      readonly kind: 'index';
      /** The index says by itself which match. */
      readonly exact: boolean;
      /** The share of all trees that is searched first. */
      readonly share: number;
      /** Words that the index is not asked for: most texts hold them, and those that are found are looked at anyway. */
      readonly spared: readonly string[];
    }
  | { readonly kind: 'look-through' };

/** A search of texts that an index holds. */
export type IndexedFilter = StepFilter & { readonly text: TextQuery & { readonly mark: Date } };

type Found = Page<OfTree>['rows'][number];

/** Bytes of texts whose words one page makes again, 0.2 ms of CPU a kilobyte; then the page ends where it is. */
const WORK = 192 * 1_024;
const FIRST = 64; // texts at once: more than a page of what every step matches
const MOST = 512;
/**
 * Steps that the index finds at once, in milliseconds: beyond it a bitmap of them outgrows `work_mem`, and every text is looked
 * at.
 */
const BY_INDEX = 30_000;
const BY_INDEX_SORTED = 4_000; // where all of them are sorted by another order than that of the trees
const AT_ONCE = 4_000; // steps that are read sooner than an index has named the steps of a share of all trees: 14 ms in place of 20
const FEW = 400; // steps that are looked through sooner than an index is asked

/**
 * Reads the ids of one page of the steps whose texts match, in any order but that of visits. What one page looks at is bounded:
 * of words that the index cannot decide by itself (a phrase, words left out, single texts), and of words that a large share of
 * all texts holds, texts are looked at one after the other. A page that has looked at enough ends with fewer steps than it may
 * have: `resume` is then the cursor of the last one that was looked at, and `hasNext` says that the search goes on behind it.
 * @throws InvalidCursor.
 */
export async function searchSteps(
  db: Db,
  filter: IndexedFilter,
  ordering: Ordering,
  page: PageRequest,
  options: { readonly plan?: SearchPlan; readonly work?: number; readonly first?: number } = {},
): Promise<Page<OfTree>> {
  const plan = options.plan ?? planOf(await measureSearch(db, filter.text, filter), ordering, page.limit);
  const { found, stopped } = await walk({
    db,
    filter,
    ordering,
    page,
    plan,
    work: options.work ?? WORK,
    first: options.first ?? FIRST,
  });
  const forwards = page.towards === 'forwards';
  const rows = found.slice(0, page.limit);
  const more = found.length > page.limit;
  const indexed: Page<OfTree> = {
    rows: forwards ? rows : rows.reverse(),
    hasPrevious: forwards ? page.after !== null : more,
    hasNext: forwards ? more : page.before !== null,
  };
  const whole = plan.kind === 'index' ? await withLater(indexed) : indexed;
  if (stopped === null || (forwards ? whole.hasNext : whole.hasPrevious)) return whole;
  return { ...whole, ...(forwards ? { hasNext: true } : { hasPrevious: true }), resume: stopped };

  /** Adds what the index does not hold yet, as far as it was searched. */
  async function withLater(searched: Page<OfTree>): Promise<Page<OfTree>> {
    const end = more ? (found.at(-1)?.cursor ?? null) : stopped;
    const until = end === null ? {} : { [forwards ? 'before' : 'after']: end };
    const later = stepsOf(db, filter, 'since').select(['steps.stepId as id', 'steps.treeId']);
    return joinPages([searched, ...(await readPages(db, [later], ordering, { ...page, ...until }))], ordering, page);
  }
}

/** Returns how a search of this size is answered. */
export function planOf({ steps, matches, within, exact, common }: SearchSize, ordering: Ordering, limit: number): SearchPlan {
  const byTree = ordering.name === STEP_ORDERINGS.TREE.name;
  if (steps <= FEW || matches > (byTree ? BY_INDEX : BY_INDEX_SORTED)) return { kind: 'look-through' };
  const wanted = exact ? 2 * limit : MOST; // the ids of trees are hashes: a share of them holds its share of the matches
  const share = byTree && matches > AT_ONCE ? Math.min(1, wanted / Math.max(1, within)) : 1;
  // of two words and more Postgres expects a few steps, and would read all that hold them to choose some trees: 18,000 of a
  // word in 40 and one of every step, 60 ms of CPU more than of the first word alone
  return { kind: 'index', exact, share, spared: exact ? [] : common };
}

interface Walk {
  readonly db: Db;
  readonly filter: IndexedFilter;
  readonly ordering: Ordering;
  readonly page: PageRequest;
  readonly plan: SearchPlan;
  readonly work: number;
  readonly first: number;
}

/** Finds one step more than a page has, in the direction of the page; `stopped` is where the work was used up before that. */
async function walk({
  db,
  filter,
  ordering,
  page,
  plan,
  work,
  first,
}: Walk): Promise<{ found: Found[]; stopped: string | null }> {
  const found: Found[] = [];
  const forwards = page.towards === 'forwards';
  const decided = plan.kind === 'index' && plan.exact;
  const ranges = plan.kind === 'index' && plan.share < 0.5 ? [...treeRanges(ordering, page, plan.share)] : [null];
  // what the index costs to find the steps is spared on their texts
  let [left, size] = [plan.kind === 'index' && !plan.exact ? work / 2 : work, first];
  for (const range of ranges) {
    let at = page;
    for (let more = true; more; ) {
      // The index is asked for as many as a page may look at: to be asked again costs as much as some hundred texts.
      const limit = decided ? page.limit + 1 - found.length : plan.kind === 'index' ? MOST : size;
      const chunk = await readChunk({ db, filter, plan, range }, ordering, { ...at, limit });
      const rows = forwards ? chunk.rows : [...chunk.rows].reverse();
      more = (forwards ? chunk.hasNext : chunk.hasPrevious) && rows.length > 0;
      for (let from = 0; from < rows.length; ) {
        const some = rows.slice(from, decided ? rows.length : from + size);
        from += some.length;
        const matching = plan.kind === 'index' && !plan.exact ? await readMatching(db, filter.text, some) : null;
        let [bytes, last] = [0, null as string | null];
        for (const { row, cursor } of some) {
          if (matching === null ? row.matches : matching.has(keyInTree(row.treeId, row.id)))
            found.push({ row: { treeId: row.treeId, id: row.id }, cursor });
          if (found.length > page.limit) return { found, stopped: null };
          bytes += row.bytes;
          last = cursor;
        }
        left -= bytes;
        const goesOn = more || from < rows.length || range !== ranges.at(-1);
        if (!decided && left <= 0 && last !== null && goesOn) return { found, stopped: last };
        size = Math.max(1, Math.min(MOST, Math.floor((left * some.length) / Math.max(1, bytes))));
        at = { ...at, [forwards ? 'after' : 'before']: last };
      }
    }
  }
  return { found, stopped: null };
}

/** Looks at the texts of steps that may match; returns those that do, by `keyInTree`. */
async function readMatching(db: Db, text: TextQuery, steps: readonly Found[]): Promise<ReadonlySet<string>> {
  const wanted = pairsOf(steps.map(({ row }) => row));
  const { rows } = await sql<OfTree>`
    select s.tree_id, s.step_id as id from ${wanted} w join steps s on s.step_id = w.id and s.tree_id = w.tree_id
    where ${stepMatches('s', text)}`.execute(db);
  return new Set(rows.map(({ treeId, id }) => keyInTree(treeId, id)));
}

interface Chunk {
  readonly db: Db;
  readonly filter: IndexedFilter;
  readonly plan: SearchPlan;
  readonly range: TreeRange | null;
}

/**
 * Reads steps that may match, each with whether it does, where the index says so or all are looked through: that is computed of
 * those alone that are returned.
 */
async function readChunk(
  { db, filter, plan, range }: Chunk,
  ordering: Ordering,
  page: PageRequest,
): Promise<Page<OfTree & { readonly matches: boolean; readonly bytes: number }>> {
  const asked = plan.kind === 'index' ? { ...filter, text: { ...filter.text, spared: plan.spared } } : filter;
  const candidates = plan.kind === 'index' ? stepsOf(db, asked, 'holding', range) : stepsOf(db, asked);
  const query = candidates.select([
    'steps.stepId as id',
    'steps.treeId',
    (plan.kind === 'index' ? sql<boolean>`true` : stepMatches('steps', filter.text)).as('matches'),
    sql<number>`octet_length(steps.observation) + octet_length(steps.action) + octet_length(steps.thought)`.as('bytes'),
  ]);
  return readPage(db, query, ordering, page);
}
