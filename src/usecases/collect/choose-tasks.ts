import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256Hex } from '../../digest/sha256.ts';
import type { EnvironmentKind, TaskTraits } from '../../environments/environment.ts';
import { makeFolder } from '../../runtime/make-folder.ts';

export interface TaskChoice {
  readonly alias: string;
  readonly depth: number | null;
}

/** What `chooseTasks` cannot choose. */
export class TasksRefused extends RangeError {
  override readonly name = 'TasksRefused';
}

/**
 * Chooses `count` tasks spread evenly over the depths an environment has, and over the tasks of each depth: the same ones every
 * time. @param split only tasks of this one; null takes all. @param surveys where it is kept what was learned by opening the
 * tasks of an environment that does not list them; null opens them each time.
 */
export async function chooseTasks(
  kind: EnvironmentKind,
  count: number,
  taskSeed: number,
  split: string | null = null,
  surveys: string | null = null,
): Promise<readonly TaskChoice[]> {
  const traits = await surveyTasks(kind, taskSeed, surveys, { wantsSplits: split !== null });
  const byDepth = new Map<number, TaskChoice[]>();
  for (const [i, alias] of kind.taskAliases.entries()) {
    const { depth = null, split: own = null } = traits[i] ?? {};
    if (split !== null && own !== split) continue;
    const same = byDepth.get(depth ?? 0) ?? [];
    same.push({ alias, depth });
    byDepth.set(depth ?? 0, same);
  }
  const depths = [...byDepth.keys()].sort((a, b) => a - b);
  const shares = divide(
    count,
    depths.map((depth) => byDepth.get(depth)?.length ?? 0),
  );
  return depths.flatMap((depth, i) => spread(byDepth.get(depth) ?? [], shares[i] ?? 0));
}

/**
 * Finds the tasks that are named. @throws TasksRefused for one that the environment does not have.
 */
export function namedTasks(kind: EnvironmentKind, aliases: readonly string[]): readonly { readonly alias: string }[] {
  const unknown = aliases.find((alias) => !kind.taskAliases.includes(alias));
  if (unknown === undefined) return aliases.map((alias) => ({ alias }));
  throw new TasksRefused(
    `${kind.name} has no task ${JSON.stringify(unknown)}; it has ${kind.taskAliases.length}, ${kind.taskAliases[0]} to ${kind.taskAliases.at(-1)}`,
  );
}

/** Divides a count over groups as evenly as their sizes allow. */
function divide(count: number, sizes: readonly number[]): number[] {
  const shares = sizes.map(() => 0);
  for (
    let left = Math.min(
      count,
      sizes.reduce((sum, size) => sum + size, 0),
    );
    left > 0;
  ) {
    for (let i = 0; i < sizes.length && left > 0; i++) {
      if ((shares[i] ?? 0) >= (sizes[i] ?? 0)) continue;
      shares[i] = (shares[i] ?? 0) + 1;
      left--;
    }
  }
  return shares;
}

function spread<T>(items: readonly T[], count: number): T[] {
  return Array.from({ length: count }, (_, i) => items[Math.floor((i * items.length) / count)]).filter(
    (item) => item !== undefined,
  );
}

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
async function surveyTasks(
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
  const survey = await readSurvey(file);
  if (survey?.length === taskAliases.length) return survey;
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
