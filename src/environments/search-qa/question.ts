/** A question to be answered by searching. */
export interface Question {
  readonly alias: string;
  readonly text: string;
  /** The answers that count as right; at least one. */
  readonly targets: readonly [string, ...string[]];
  /** The data set it is from, as in verl's rows. */
  readonly dataSource: string;
  readonly split: string | null;
  /** The searches that lead to the answer, in order, where they are known. */
  readonly hops: readonly Hop[] | null;
  /**
   * The words that a search may join to an entity's name, where the choice is finite: those that the question needs, and others.
   */
  readonly relationWords: readonly string[] | null;
}

/** One search on the way to an answer: a query, and the document with the fact that it is meant to find. */
export interface Hop {
  readonly query: string;
  readonly documentId: string;
}
