/** What a document may ask for, and what may be read and answered for it. Every limit is refused with its name, what the document has, and the remedy. */
export interface Limits {
  /** Lexical tokens of a document; also bounds what reading and checking it can cost. */
  readonly tokens: number;
  /** Nested fields; introspection has its own limit in graphql-js. */
  readonly depth: number;
  readonly aliases: number;
  /** Objects that the answer may hold at most, by `@listSize` and `@cost`; see cost.ts. */
  readonly cost: number;
  /** Rows of all statements of a query. */
  readonly rows: number;
  /** Fields that are resolved: an alias repeats what is read once. */
  readonly answerFields: number;
  /** Of names and values, without what JSON puts around them; a number counts as 8. */
  readonly answerCharacters: number;
}

export const LIMITS: Limits = {
  tokens: 5_000,
  depth: 16,
  aliases: 50,
  // A whole tree (2,000 steps) with rewards, revisions, statistics and tool calls costs about 30,000. An object takes about 10
  // µs.
  cost: 150_000,
  // Such a query takes some 250 MB of heap. A whole tree with rewards, revisions, statistics and tool calls reads about 20,000
  // rows.
  rows: 100_000,
  answerFields: 1_500_000,
  answerCharacters: 32 * 2 ** 20,
};
