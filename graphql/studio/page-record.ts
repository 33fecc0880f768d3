import type { PageStepsQuery, PageStepsWithPromptsQuery } from './generated/operations.ts';

/** A step as all operations of the studio together ask for it, with its prompt and tokens while there is room. */
export type PageStep = StepsOf<PageStepsQuery> | StepsOf<PageStepsWithPromptsQuery>;
type StepsOf<Answer extends { readonly tree: { readonly steps: readonly unknown[] } | null }> = NonNullable<
  Answer['tree']
>['steps'][number];

/** What a page without a server holds: answers of the studio's operations, and the steps that its views read one by one. */
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
  /** The steps of its trees, each tree in the order of the log. */
  readonly steps: readonly PageStep[];
}

/** Whether a page holds the prompt and the tokens of a step. */
export function hasPrompt(step: PageStep): boolean {
  return 'prompt' in step;
}

/** Names the answer of an operation to variables, in whatever order they come. */
export function answerKey(name: string, variables: unknown): string {
  const given = Object.entries(variables as object).filter(([, value]) => value !== undefined && value !== null);
  return `${name} ${JSON.stringify(Object.fromEntries(given.sort(([a], [b]) => (a < b ? -1 : 1))))}`;
}
