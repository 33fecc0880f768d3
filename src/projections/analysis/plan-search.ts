import { sql } from 'kysely';
import { boundMatches, hasAllWords, hasOnlyWords, wordsOf } from '../../domain/text/bound-matches.ts';
import type { Db } from '../../postgres/database.ts';
import { readLiveVersions } from '../live-versions.ts';
import { schemaNameOf } from '../projection.ts';
import { textIndexOf } from './text-indexes.ts';
import type { TextQuery } from './text-query.ts';
import { type OfTrees, treesOf } from './trees-of.ts';

/** What a search can meet at most, by the statistics of the index of texts. */
export interface SearchSize {
  /** The steps that are searched, whatever their texts are. */
  readonly steps: number;
  /** The steps of the whole record that can hold the words. */
  readonly matches: number;
  /** The same, of the steps that are searched. */
  readonly within: number;
  /** The index says by itself which steps match; else the texts of those that hold the words are looked at. */
  readonly exact: boolean;
  /** Words that must occur and that most texts hold: the index need not be asked for them where texts are looked at anyway. */
  readonly common: readonly string[];
}

/** A search that would look at too many texts. The message says what to do. */
export class SearchTooWide extends Error {
  override readonly name = 'SearchTooWide';
}

/** What the statistics of a column keep nothing of is rarer than what they keep; where there are none yet, as rare as this. */
const UNKNOWN = 0.002;
const COMMON = 0.5;

/** The parts of a filter that few trees belong to, whose number the indexes know. */
export type SearchScope = OfTrees & { readonly rolloutId?: string; readonly under?: string };

/** Measures a search of texts that are indexed, without reading a text. */
export async function measureSearch(
  db: Db,
  { words, fields, mark }: TextQuery & { readonly mark: Date },
  scope: SearchScope,
): Promise<SearchSize> {
  const schema = schemaNameOf({ name: 'step-tree', version: (await readLiveVersions(db)).get('step-tree') ?? 1 });
  const { rows: asked } = await sql<{ whole: string; wide: string; steps: number; trees: number }>`
    select q.words::text as whole, querytree(q.words) as wide,
           (select greatest(reltuples, 0)::float8 from pg_class where oid = to_regclass(${`${schema}.steps`})) as steps,
           (select greatest(reltuples, 1)::float8 from pg_class where oid = to_regclass(${`${schema}.trees`})) as trees
    from (select websearch_to_tsquery('english'::regconfig, ${words}) as words) q`.execute(db);
  const [{ whole, wide, steps, trees } = NOTHING] = asked;
  const all = wordsOf(wide);
  const shares = await readShares(db, schema, textIndexOf(mark), all);
  const rarest = shares.get(null) ?? UNKNOWN;
  const matches = steps * boundMatches(wide, (word) => shares.get(word) ?? rarest);
  const common = hasAllWords(wide) ? [...new Set(all)].filter((word) => (shares.get(word) ?? 0) >= COMMON) : [];
  const share = Math.min(1, (await countTrees(db, scope, trees)) / trees);
  return {
    steps: steps * share,
    matches,
    within: matches * share,
    exact: fields.length === 0 && hasOnlyWords(whole),
    common: all.every((word) => common.includes(word)) ? [] : common,
  };
}

const NOTHING = { whole: "''", wide: "''", steps: 0, trees: 1 };

/** The share of texts that hold each word; under null the share of the rarest word that statistics are kept of. */
async function readShares(
  db: Db,
  schema: string,
  index: string,
  words: readonly string[],
): Promise<ReadonlyMap<string | null, number>> {
  const { rows } = await sql<{ word: string | null; share: number }>`
    select e.word, min(e.share)::float8 as share from pg_stats s
    cross join lateral unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs) as e (word, share)
    where s.schemaname = ${schema} and s.tablename = ${index} and (e.word is null or e.word = any(${[...words]}::text[]))
    group by e.word`.execute(db);
  return new Map(rows.map(({ word, share }) => [word, share]));
}

/** The trees that a search is limited to; all of them where their number is not known by an index. */
async function countTrees(db: Db, { runId, treeId, taskId, rolloutId, under }: SearchScope, all: number): Promise<number> {
  if (treeId !== undefined || rolloutId !== undefined || under !== undefined) return 1;
  const named = { ...(runId === undefined ? {} : { runId }), ...(taskId === undefined ? {} : { taskId }) };
  const condition = treesOf('trees.treeId', named);
  if (condition === null) return all;
  const { rows } = await sql<{ count: number }>`select count(*) as count from trees where ${condition}`.execute(db);
  return rows[0]?.count ?? 0;
}
