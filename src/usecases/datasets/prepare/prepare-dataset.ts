import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AtomicFile, type Existing } from '../export/atomic-file.ts';
import type { ByteSink } from '../export/format.ts';
import { fillFolder } from './atomic-folder.ts';
import { type CollectedQuestions, collectQuestions, type DrawnQuestion, type PrepareCounts } from './collect-questions.ts';
import { findSourceFiles, type ReadFile } from './read-source.ts';
import type { Recipe } from './recipe.ts';
import { type CorpusSource, type PreparedTask, taskLine, writeCorpus, writeVerlTasks } from './verl-tasks.ts';

export interface PrepareOptions {
  readonly recipe: Recipe;
  /** A file of the data set, or a folder of them. */
  readonly from: string;
  /** The folder to make. */
  readonly out: string;
  readonly existing: Existing;
  readonly seed: number;
  /** How many questions to draw; null is all that there are. */
  readonly train: number | null;
  readonly test: number | null;
  readonly malformed: 'refuse' | 'skip';
  /** What a prompt says after the question; null is the recipe's own. */
  readonly instruction: string | null;
  readonly codeVersion: string;
  readonly signal: AbortSignal;
  readonly onRow: (rows: number) => void;
}

/** What was made of what. It holds no clock and no path of this machine: the same files and options give the same bytes. */
export interface PrepareManifest {
  readonly schema: typeof SCHEMA;
  readonly dataset: string;
  readonly dataSource: string;
  readonly groundTruth: Recipe['groundTruth'];
  readonly options: Pick<PrepareOptions, 'seed' | 'train' | 'test' | 'malformed'> & { readonly instruction: string };
  readonly sampling: string;
  readonly codeVersion: string;
  readonly files: readonly ReadFile[];
  readonly passedOver: readonly string[];
  readonly counts: PrepareCounts & { readonly train: number; readonly test: number };
  readonly available: CollectedQuestions['available'];
  readonly malformed: readonly string[];
  readonly outputs: readonly { readonly name: string; readonly rows: number; readonly bytes: number; readonly sha256: string }[];
}

const CORPUS = 'corpus';
const SCHEMA = 'espalier-prepared/1';
const SAMPLING = 'those with the smallest seedFrom(draw, seed, side, id), in that order; without replacement';

/**
 * Makes tasks of a published data set: `tasks.jsonl` for our environments, `train.parquet` and `test.parquet` as verl reads them,
 * `corpus/` with the passages of the questions where the data set has any, and `manifest.json`. The folder appears whole or not at all. @throws DatasetError.
 */
export async function prepareDataset(options: PrepareOptions): Promise<PrepareManifest> {
  const { recipe, from, out, existing, seed, train, test, malformed, codeVersion } = options;
  const mark = JSON.stringify({ schema: SCHEMA }).slice(0, -1);
  return fillFolder(out, { existing, mark }, async (folder) => {
    const { files, passedOver } = await findSourceFiles(from);
    const collected = await collectQuestions({ ...options, files });
    const instruction = options.instruction ?? recipe.instruction;
    const tasks = { train: numbered(collected.train, 'train'), test: numbered(collected.test, 'test') };
    const outputs = [
      await writeFile(folder, 'tasks.jsonl', async (file) => {
        const all = [...tasks.train, ...tasks.test];
        for (const task of all) await file.write(taskLine(task, recipe));
        return all.length;
      }),
      await writeFile(folder, 'train.parquet', async (file) => {
        await writeVerlTasks(file, tasks.train, { recipe, instruction });
        return tasks.train.length;
      }),
      await writeFile(folder, 'test.parquet', async (file) => {
        await writeVerlTasks(file, tasks.test, { recipe, instruction });
        return tasks.test.length;
      }),
    ];
    const questions = new Set([...tasks.train, ...tasks.test].map(({ id }) => id));
    const corpus = await corpusIn(folder, { ...options, files, questions });
    if (corpus) outputs.push(corpus);
    const manifest: PrepareManifest = {
      schema: SCHEMA,
      dataset: recipe.name,
      dataSource: recipe.dataSource,
      groundTruth: recipe.groundTruth,
      options: { seed, train, test, malformed, instruction },
      sampling: SAMPLING,
      codeVersion,
      files: collected.files,
      passedOver,
      counts: { ...collected.counts, train: tasks.train.length, test: tasks.test.length },
      available: collected.available,
      malformed: collected.malformed,
      outputs,
    };
    await writeFile(folder, 'manifest.json', async (file) => {
      await file.write(`${JSON.stringify(manifest, null, 2)}\n`);
      return 1;
    });
    return manifest;
  });
}

async function corpusIn(
  folder: string,
  source: Pick<PrepareOptions, 'recipe' | 'malformed' | 'signal'> & Pick<CorpusSource, 'files' | 'questions'>,
): Promise<PrepareManifest['outputs'][number] | null> {
  const { passages: reader } = source.recipe;
  if (reader === null) return null;
  const path = join(folder, CORPUS);
  await mkdir(path);
  const written = await writeFile(path, 'passages.jsonl', (file) => writeCorpus(file, { ...source, reader }));
  if (written.rows > 0) return { ...written, name: `${CORPUS}/${written.name}` };
  await rm(path, { recursive: true });
  return null;
}

function numbered(questions: readonly DrawnQuestion[], split: 'train' | 'test'): readonly PreparedTask[] {
  return questions.map((source, index) => ({ id: source.id, split, index, source }));
}

async function writeFile(
  folder: string,
  name: string,
  write: (file: ByteSink) => Promise<number>,
): Promise<PrepareManifest['outputs'][number]> {
  const file = await AtomicFile.open(join(folder, name), 'refuse');
  try {
    const rows = await write(file);
    const sealed = await file.seal();
    await file.publish();
    return { name, rows, ...sealed };
  } finally {
    await file.discard();
  }
}
