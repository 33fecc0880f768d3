import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { type OfTree, pairsOf } from '../of-tree.ts';

/** The texts of a step that are searched. */
export type TextField = 'observation' | 'action' | 'thought';
export const TEXT_FIELDS: readonly TextField[] = ['observation', 'action', 'thought'];

/** Words as `websearch_to_tsquery` reads them: `craft "oak log" or stick -bowl`. */
export interface TextQuery {
  readonly words: string;
  /** Up to when the texts of steps are indexed; null where they are not. */
  readonly mark: Date | null;
  /** The texts that must match by themselves; all three together where none is named. */
  readonly fields: readonly TextField[];
  /** Words that the arm `holding` does not ask the index for (`SearchSize.common`). */
  readonly spared?: readonly string[];
}

/** Words that no index can look up. The message says what to do. */
export class UnsearchableText extends RangeError {
  override readonly name = 'UnsearchableText';
}

/**
 * The text of a row that is searched, as the index holds it: a statement uses the index only where the expression is the same
 * (`text-indexes.ts`). English stems, because `opened` is to find `open`; words of other languages are looked up as they are.
 * A text over 64 KiB lies in the blob store, and its column is '': it is not searched.
 */
export function stepWords(steps: string): RawBuilder<unknown> {
  const [observation, action, thought] = TEXT_FIELDS.map((field) => sql.ref(`${steps}.${field}`));
  return sql`to_tsvector('english'::regconfig, ${observation} || ' ' || ${action} || ' ' || ${thought})`;
}

/** The goal of a task, as the index holds it. */
export function goalWords(trees: string): RawBuilder<unknown> {
  return sql`to_tsvector('english'::regconfig, ${sql.ref(`${trees}.goal`)})`;
}

/**
 * The steps that are searched by themselves: those whose texts an index holds, those taken since, or all where there is none;
 * `holding` are those among the first that hold the words, wherever these lie in them, and others that they are to lack.
 */
export type TextArm = 'indexed' | 'since' | 'all' | 'holding';

/**
 * Returns what a search is to read one by one and join: in one condition with `or` Postgres would make the words of every step
 * again that the index finds.
 */
export function textArms({ mark }: TextQuery): readonly TextArm[] {
  return mark === null ? ['all'] : ['indexed', 'since'];
}

/**
 * Returns the condition that the steps of an alias match. Where single texts must match, the index finds those whose three texts
 * hold the words that are asked for, and each text is then looked at by itself.
 */
export function stepsMatching(steps: string, { words, fields, mark, spared }: TextQuery, arm: TextArm): RawBuilder<boolean> {
  const query = queryOf(words);
  const taken = sql.ref(`${steps}.occurredAt`);
  const of: RawBuilder<unknown>[] = [];
  // as the predicate of the index says it
  if (arm === 'indexed' || arm === 'holding') of.push(sql`${taken} < ${mark}::timestamptz`);
  if (arm === 'since') of.push(sql`${taken} >= ${mark}::timestamptz`);
  // without the places of the words, which the index does not hold: it would make the words of every text again that it finds
  if (arm === 'holding')
    of.push(
      sql`${stepWords(steps)} @@ ${without(sql`regexp_replace(querytree(${query}), '<(-|[0-9]+)>', '&', 'g')::tsquery`, spared)}`,
    );
  else if (fields.length === 0) of.push(stepMatches(steps, { words, fields }));
  else of.push(sql`${stepWords(steps)} @@ querytree(${query})::tsquery`, stepMatches(steps, { words, fields }));
  return sql`(${sql.join(of, sql` and `)})`;
}

/** Leaves words out of a query that asks for all of its words. */
function without(query: RawBuilder<unknown>, words: readonly string[] = []): RawBuilder<unknown> {
  const quoted = (word: string) => `'${word.replace(/['\\]/g, (sign) => sign + sign)}'`;
  return words.reduce((rest, word) => sql`ts_rewrite(${rest}, ${quoted(word)}::tsquery, ''::tsquery)`, query);
}

/** Returns the condition that the texts of a step match, by themselves where single ones must. */
export function stepMatches(steps: string, { words, fields }: Pick<TextQuery, 'words' | 'fields'>): RawBuilder<boolean> {
  const query = queryOf(words);
  if (fields.length === 0) return sql<boolean>`${stepWords(steps)} @@ ${query}`;
  const alone = fields.map((field) => sql`to_tsvector('english'::regconfig, ${sql.ref(`${steps}.${field}`)}) @@ ${query}`);
  return sql<boolean>`(${sql.join(alone, sql` or `)})`;
}

/** Returns the condition that the goals of an alias match. */
export function goalsMatching(trees: string, words: string): RawBuilder<boolean> {
  return sql`${goalWords(trees)} @@ ${queryOf(words)}`;
}

/**
 * Returns the condition that the arguments and outputs of calls of tools match. No index holds them: few may be read.
 */
export function callsMatching(toolCalls: string, words: string): RawBuilder<boolean> {
  const [given, output] = [sql.ref(`${toolCalls}.arguments`), sql.ref(`${toolCalls}.output`)];
  return sql`to_tsvector('english'::regconfig, ${given} || ' ' || ${output}) @@ ${queryOf(words)}`;
}

/** Refuses words of which no index can look up one. @throws UnsearchableText. */
export async function checkWords(db: Db, words: string): Promise<void> {
  const { rows } = await sql<{ tree: string }>`select querytree(${queryOf(words)}) as tree`.execute(db);
  const tree = rows[0]?.tree ?? '';
  if (tree !== '' && tree !== 'T') return;
  throw new UnsearchableText(
    `${JSON.stringify(words)} names no word to look up: words such as "the" are not indexed, and words that are left out (-word) or alternatives to them find nothing by themselves; add a word that must occur`,
  );
}

/** Where a text matches, with what is around it. */
export interface Highlight {
  readonly treeId: string;
  readonly stepId: string;
  readonly field: TextField;
  /** Fragments of the text; each match lies between `MATCH` and `MATCH_END`. */
  readonly text: string;
}

/** What encloses a match: characters of the private use area, which no markup of a caller can be confused with. */
export const MATCH = '\ue000';
export const MATCH_END = '\ue001';
const FRAGMENTS = `StartSel="${MATCH}", StopSel="${MATCH_END}", MaxFragments=3, MaxWords=24, MinWords=8, FragmentDelimiter=" … "`;

/** Reads where the texts of steps match, observation, action and thought in this order; a text without a match is left out. */
export async function readHighlights(
  db: Db,
  { words, fields }: TextQuery,
  steps: readonly OfTree[],
): Promise<readonly Highlight[]> {
  const chosen = fields.length === 0 ? TEXT_FIELDS : TEXT_FIELDS.filter((field) => fields.includes(field));
  const texts = chosen.map(
    (field, i) =>
      sql`select s.tree_id, s.step_id, ${sql.lit(i)} as place, ${sql.lit(field)} as field, s.${sql.ref(field)} as text`,
  );
  const each = texts.map(
    (text) => sql`${text} from ${pairsOf(steps)} w join steps s on s.step_id = w.id and s.tree_id = w.tree_id`,
  );
  const { rows } = await sql<Highlight>`
    select * from (
      select t.tree_id, t.step_id, t.field, ts_headline('english'::regconfig, t.text, ${queryOf(words)}, ${FRAGMENTS}) as text
      from (${sql.join(each, sql` union all `)}) t order by t.tree_id, t.step_id, t.place
    ) h where position(${MATCH} in h.text) > 0`.execute(db);
  return rows;
}

function queryOf(words: string): RawBuilder<unknown> {
  return sql`websearch_to_tsquery('english'::regconfig, ${words})`;
}
