import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EnvironmentError } from '../environment.ts';
import { parseRecipeFile, type RecipeFile } from './recipe-file.ts';

/**
 * Reads the crafting recipes of a folder in listing order: by file name (code units) unless `listing` names the files one by one,
 * which reproduces a world that was loaded in a machine's own directory order. Files of other recipe types are passed over.
 * @throws EnvironmentError `unreachable` when a file cannot be read, `protocol` when one is malformed or there is no recipe at
 * all.
 */
export async function readRecipes(folder: string, listing?: readonly string[]): Promise<readonly RecipeFile[]> {
  const names = listing ?? (await reachable(folder, () => listJson(folder)));
  const recipes: RecipeFile[] = [];
  for (const name of names) {
    const path = join(folder, name);
    const text = await reachable(path, () => readFile(path, 'utf8'));
    const parsed = parseRecipeFile(parseJson(path, text));
    if (parsed.kind === 'malformed')
      throw new EnvironmentError('protocol', `${path} is no recipe: ${parsed.reason}; repair it or take it out of the folder`);
    if (parsed.kind === 'recipe') recipes.push(parsed.recipe);
  }
  if (recipes.length === 0)
    throw new EnvironmentError(
      'protocol',
      `${folder} holds no crafting recipe (*.json, shaped or shapeless): name a folder of recipes`,
    );
  return recipes;
}

async function listJson(folder: string): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith('.json')).sort();
}

async function reachable<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    throw new EnvironmentError(
      'unreachable',
      `cannot read recipes at ${path}: ${cause instanceof Error ? cause.message : cause}; name a folder that can be read`,
      { cause },
    );
  }
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new EnvironmentError(
      'protocol',
      `${path} is no JSON: ${cause instanceof Error ? cause.message : cause}; repair it or take it out of the folder`,
      { cause },
    );
  }
}
