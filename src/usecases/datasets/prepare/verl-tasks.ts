import { sha256Hex } from '../../../digest/sha256.ts';
import { withTitle } from '../../../environments/retrieval/passages.ts';
import { DatasetError } from '../dataset-error.ts';
import type { ByteSink } from '../export/format.ts';
import { int64, list, optional, ParquetFile, type ParquetShape, struct, text } from '../export/parquet-file.ts';
import { readSource, type SourceFile } from './read-source.ts';
import type { QuestionPassages, Recipe, RowReader, SourceQuestion } from './recipe.ts';

/**
 * Writes tasks as the Parquet rows that verl trains from: `data_source`, `prompt` (a chat), `ability`, `reward_model` and
 * `extra_info` (specification of Agent-R1, §1.5). The ground truth is a text or a list of texts, as the data set's scorer takes
 * it.
 */
export async function writeVerlTasks(
  sink: ByteSink,
  tasks: Iterable<PreparedTask>,
  { recipe, instruction }: { readonly recipe: Recipe; readonly instruction: string },
): Promise<void> {
  const file = new ParquetFile(sink, verlTaskShape(recipe));
  for (const task of tasks) {
    const { source, split, index, id } = task;
    const content = promptOf(source, recipe, instruction);
    const row = {
      data_source: recipe.dataSource,
      prompt: [{ role: 'user', content }],
      ability: recipe.ability,
      reward_model: { style: 'rule', ground_truth: groundTruth(source, recipe) },
      extra_info: { split, index: BigInt(index), id, question: source.question, answer: source.answer, ...source.info },
    };
    await file.write(row, 500 + 2 * (content.length + source.question.length + source.answer.length));
  }
  await file.finish();
}

function verlTaskShape({ groundTruth: type, info }: Recipe): ParquetShape {
  const truth = type === 'text' ? text('ground_truth') : list('ground_truth', text('element'));
  const extra = [text('split'), int64('index'), text('id'), text('question'), text('answer')];
  return {
    name: 'verl-tasks/1',
    columns: [
      text('data_source'),
      list('prompt', struct('element', [text('role'), text('content')])),
      text('ability'),
      struct('reward_model', [text('style'), truth]),
      struct('extra_info', [...extra, ...info.map((name) => optional(text(name)))]),
    ],
  };
}

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

/** What a corpus is made of. */
export interface CorpusSource {
  readonly files: readonly SourceFile[];
  readonly reader: RowReader<QuestionPassages>;
  /** The ids of the questions whose passages it holds. */
  readonly questions: ReadonlySet<string>;
  readonly malformed: 'refuse' | 'skip';
  readonly signal: AbortSignal;
}

/**
 * Writes the passages of questions, each once, as lines `{"id", "contents"}` in the order of the files: `search-qa:corpus=FOLDER`
 * and `index-corpus` read them. The files are read a second time, so that no more than a row is in memory. Returns how many there
 * are. @throws DatasetError `bad-row` with file and row.
 */
export async function writeCorpus(
  file: ByteSink,
  { files, reader, questions, malformed, signal }: CorpusSource,
): Promise<number> {
  const written = new Set<string>();
  for (const source of files)
    for await (const { place, row } of readSource(source, reader)) {
      signal.throwIfAborted();
      if (row.kind === 'bad') {
        if (malformed === 'skip') continue;
        throw new DatasetError(
          'bad-row',
          `${place}: ${row.field} ${row.problem}; nothing was written. Rows like this can be left out with --skip-bad`,
        );
      }
      if (!questions.has(row.id)) continue;
      for (const { title, text } of row.passages) {
        const contents = withTitle(title, text);
        const digest = sha256Hex(contents);
        if (text === '' || written.has(digest)) continue;
        await file.write(`${JSON.stringify({ id: `${written.size}`, contents })}\n`);
        written.add(digest);
      }
    }
  return written.size;
}
