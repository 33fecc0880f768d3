/** What a document may ask for. Every limit is refused with its name, what the document has, and the remedy. */
export interface Limits {
  /** Characters of a document. */
  readonly documentSize: number;
  /** Lexical tokens of a document; also bounds what validation can cost. */
  readonly tokens: number;
  /**
   * Brackets of any kind that stand open at once: lists and objects in arguments too. Who reads or checks a document goes as
   * deep.
   */
  readonly nesting: number;
  /** Nested fields; introspection has its own limit in graphql-js. */
  readonly depth: number;
  readonly aliases: number;
  /** Selected fields, each fragment counted at every place that spreads it. */
  readonly fields: number;
  /** Objects that the answer may hold at most, by `@listSize` and `@cost`; see cost.ts. */
  readonly cost: number;
}

export const LIMITS: Limits = {
  documentSize: 100_000,
  tokens: 5_000,
  nesting: 200,
  depth: 16,
  aliases: 50,
  fields: 1_000,
  // A whole tree (2,000 steps) with rewards, revisions, statistics and tool calls costs about 30,000. An object takes about 10
  // µs.
  cost: 150_000,
};
