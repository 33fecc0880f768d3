import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACK } from './pack-table.ts';

/**
 * Writes the recipe files of the shipped pack from its table, in the data-pack format: `npx tsx
 * src/environments/textcraft/make-pack.ts`. The same table yields the same bytes. A line reads `name*count = 2 item, 1 #tag,
 * item|alternative @group : file`, or `type = ingredient > result : file` for a type that crafting ignores.
 */
const FOLDER = fileURLToPath(new URL('./recipes', import.meta.url));

/** Makes the content of every recipe file, by file name. */
export function makePack(table: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const line of table.split('\n').map((text) => text.trim())) {
    if (line === '' || line.startsWith('--')) continue;
    const { file, recipe } = line.includes('>') ? ignoredRecipe(line) : craftingRecipe(line);
    const name = `${file}.json`;
    if (files.has(name)) throw new Error(`two recipes for ${name}`);
    files.set(name, `${JSON.stringify(recipe, null, 2)}\n`);
  }
  return files;
}

interface PackFile {
  readonly file: string;
  readonly recipe: object;
}

const CRAFTING = /^(?<item>\w+)(?:\*(?<count>\d+))? = (?<ingredients>[^@:]+?)(?: @(?<group>\w+))?(?: : (?<file>\w+))?$/;
const IGNORED = /^(?<type>\w+) = (?<ingredient>\w+) > (?<item>\w+) : (?<file>\w+)$/;

function craftingRecipe(line: string): PackFile {
  const { item, count, ingredients, group, file } = match(CRAFTING, line);
  const parts = (ingredients ?? '').split(', ').map(readPart);
  const result = count === undefined ? { item: `minecraft:${item}` } : { item: `minecraft:${item}`, count: Number(count) };
  const total = parts.reduce((sum, part) => sum + part.count, 0);
  if (total > 9) throw new Error(`more than nine ingredients: ${line}`);
  const form = total <= 2 ? shapeless(parts) : shaped(parts, total);
  return { file: file ?? item ?? '', recipe: { ...form, result, ...(group === undefined ? {} : { group }) } };
}

function ignoredRecipe(line: string): PackFile {
  const { type, ingredient, item, file } = match(IGNORED, line);
  const recipe = { type: `minecraft:${type}`, ingredient: { item: `minecraft:${ingredient}` }, result: `minecraft:${item}` };
  return { file: file ?? '', recipe };
}

interface Part {
  readonly count: number;
  readonly of: object;
}

function readPart(text: string): Part {
  const { count, names } = match(/^(?:(?<count>\d) )?(?<names>[#\w|]+)$/, text);
  const of = (names ?? '')
    .split('|')
    .map((name) => (name.startsWith('#') ? { tag: `minecraft:${name.slice(1)}` } : { item: `minecraft:${name}` }));
  return { count: Number(count ?? 1), of: of.length === 1 ? (of[0] ?? {}) : of };
}

function shapeless(parts: readonly Part[]): object {
  return {
    type: 'minecraft:crafting_shapeless',
    ingredients: parts.flatMap(({ count, of }) => Array.from({ length: count }, () => of)),
  };
}

/** Lays the ingredients on the grid row by row: four or fewer fill a 2 × 2 one, more a 3 × 3 one. */
function shaped(parts: readonly Part[], total: number): object {
  const symbols = ['#', '/', 'o', 'x', '*'];
  const key = Object.fromEntries(parts.map(({ of }, i) => [symbols[i], of]));
  const cells = parts.map(({ count }, i) => (symbols[i] ?? '').repeat(count)).join('');
  const width = total <= 4 ? 2 : 3;
  const pattern = Array.from({ length: Math.ceil(total / width) }, (_, row) =>
    cells.slice(row * width, (row + 1) * width).padEnd(width),
  );
  return { type: 'minecraft:crafting_shaped', pattern, key };
}

function match(pattern: RegExp, text: string): Record<string, string | undefined> {
  const groups = pattern.exec(text)?.groups;
  if (groups === undefined) throw new Error(`cannot read: ${text}`);
  return groups;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await mkdir(FOLDER, { recursive: true });
  for (const old of await readdir(FOLDER)) await rm(join(FOLDER, old));
  for (const [name, content] of makePack(PACK)) await writeFile(join(FOLDER, name), content);
}
