/** A query, mutation or subscription of the studio with the types of its variables and answer. */
export interface Operation<Answer, Variables> {
  readonly name: string;
  readonly text: string;
  /** The same as of a moment (`$atPosition`, `$atTime`), one level deeper in the answer; null for all but a query. */
  readonly asOf: string | null;
  /** No value: what TypeScript knows of the operation. */
  readonly types?: (variables: Variables) => Answer;
}
