import type { Recipe, SourceQuestion } from './recipe.ts';

/** A question as it leaves: a line of `tasks.jsonl`, and a row of `train.parquet` or `test.parquet`. */
export interface PreparedTask {
  readonly id: string;
  readonly split: 'train' | 'test';
  /** Its place among the rows of its split. */
  readonly index: number;
  readonly source: SourceQuestion;
}

/** Writes a task for our environments: `search-qa:questions=FILE` and `tool-env:tasks=FILE` read these fields. */
export function taskLine({ id, split, source }: PreparedTask, recipe: Recipe): string {
  const task = {
    id,
    question: source.question,
    ground_truth: groundTruth(source, recipe),
    data_source: recipe.dataSource,
    ability: recipe.ability,
    split,
    ...source.info,
  };
  return `${JSON.stringify(task)}\n`;
}

/** Returns the answers that count as right, in the one type that the data set's rows have. */
export function groundTruth({ answers }: SourceQuestion, { groundTruth: type }: Recipe): string | readonly string[] {
  return type === 'text' ? answers[0] : answers;
}

/** Writes what a model is asked. @param instruction replaces the recipe's own. */
export function promptOf({ question }: SourceQuestion, { prefix }: Recipe, instruction: string): string {
  return instruction === '' ? `${prefix}${question}` : `${prefix}${question}\n\n${instruction}`;
}
