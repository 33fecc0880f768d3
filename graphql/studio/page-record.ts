/** What a page that opens without a server holds: answers of the studio's operations, and the steps from which others follow. */
export interface PageRecord {
  /** What is shown, and when and from what it was made. */
  readonly title: string;
  readonly madeAt: string;
  readonly source: string;
  /** The address that is shown first. */
  readonly first: string;
  /** What there was no room for, in sentences. */
  readonly leftOut: readonly string[];
  /** Answers by `answerKey`. */
  readonly answers: Readonly<Record<string, unknown>>;
  /** The trees of each run, as `RunTrees` lists them, in the order in which they were opened. */
  readonly runTrees: Readonly<Record<string, readonly object[]>>;
  readonly trees: Readonly<Record<string, PageTree>>;
}

/** A tree: every step as all operations of the studio together ask of it. */
export interface PageTree {
  readonly steps: readonly PageStep[];
}

export interface PageStep {
  readonly id: string;
  readonly parentId: string | null;
  readonly depth: number;
  readonly logOffset: number;
  readonly rolloutId: string | null;
  /** False where the page holds no prompt and no tokens of it, for want of room. */
  readonly whole: boolean;
}

/** Names the answer of an operation to variables, in whatever order they come. */
export function answerKey(name: string, variables: unknown): string {
  const given = Object.entries(variables as object).filter(([, value]) => value !== undefined && value !== null);
  return `${name} ${JSON.stringify(Object.fromEntries(given.sort(([a], [b]) => (a < b ? -1 : 1))))}`;
}
