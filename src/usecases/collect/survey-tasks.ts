import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256Hex } from '../../digest/sha256.ts';
import type { EnvironmentKind, TaskTraits } from '../../environments/environment.ts';
import { makeFolder } from '../../platform/make-folder.ts';

const survey = z.array(z.strictObject({ depth: z.number().nullable(), split: z.string().nullable() }));

/** Where the surveys of an installation lie. */
export function surveysFolder(home: string): string {
  return join(home, 'surveys');
}

/**
 * Returns depth and split of every task, in the order of the aliases: as the environment lists them, else by opening each one
 * once. One that lists no split of any task is opened where splits are wanted: it may answer them when a task begins. What was learned so is kept in a file whose name follows from the fingerprint, the aliases and the seed: the same
 * environment is not opened again. @param folder where such files lie; null keeps none.
 */
export async function surveyTasks(
  kind: EnvironmentKind,
  seed: number,
  folder: string | null,
  { wantsSplits }: { readonly wantsSplits: boolean },
): Promise<readonly TaskTraits[]> {
  const { tasks, taskAliases } = kind;
  if (tasks && !(wantsSplits && tasks.every(({ split }) => split === null)))
    return taskAliases.map((_, i) => ({ depth: tasks[i]?.depth ?? null, split: tasks[i]?.split ?? null }));
  if (folder === null) return openEach(kind, seed);
  const file = join(folder, `${sha256Hex(JSON.stringify([kind.name, kind.fingerprint, seed, taskAliases]))}.json`);
  const kept = await readSurvey(file);
  if (kept?.length === taskAliases.length) return kept;
  const opened = await openEach(kind, seed);
  await makeFolder(folder);
  const draft = `${file}.${randomBytes(4).toString('hex')}`;
  await writeFile(draft, JSON.stringify(opened));
  await rename(draft, file); // whole, or not there
  return opened;
}

async function openEach(kind: EnvironmentKind, seed: number): Promise<readonly TaskTraits[]> {
  const environment = await kind.create();
  try {
    const opened: TaskTraits[] = [];
    for (const alias of kind.taskAliases) {
      const { depth, split } = await environment.reset({ alias, seed });
      opened.push({ depth, split });
    }
    return opened;
  } finally {
    await environment.close();
  }
}

/** Reads a survey; null where there is none, or one that is damaged: it is made again. */
async function readSurvey(file: string): Promise<readonly TaskTraits[] | null> {
  try {
    return survey.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    return null;
  }
}
