import type { Situation } from './situation.ts';
import { wordsOf } from './words.ts';

/**
 * What the goal still demands, read from the texts alone: lines of the form `craft 4 oak planks using 1 oak logs` are recipes,
 * and `Got 2 …`, `Crafted 4 …`, `Inventory: [...] (n)` show what is held. Texts without such lines demand nothing, and the
 * features built on it stay silent. It relates a candidate to the goal over several hops, which a linear model over words cannot
 * do by itself.
 */
export interface Demand {
  /** Item → how many are still missing, and how many recipes lie between it and the goal (0 is the goal itself). */
  readonly missing: ReadonlyMap<string, { readonly count: number; readonly hop: number }>;
  readonly held: ReadonlyMap<string, number>;
}

export interface Amount {
  readonly item: string;
  readonly count: number;
}

export interface Recipe {
  readonly output: Amount;
  readonly inputs: readonly Amount[];
}

const LINE_LIMIT = 500; // characters read of an action or recipe line; the longest of TextCraft has about 150

/** Works out the demand of a situation. */
export function demandOf(situation: Situation): Demand {
  const recipes = recipesIn(situation.firstObservation);
  const held = heldAfter(situation);
  const missing = new Map<string, { count: number; hop: number }>();
  if (recipes.length > 0) expand(goalItem(situation.goal), recipes, new Map(held), missing);
  return { missing, held };
}

/** Reads `craft [n] output using n input, …`; null for any other text. */
export function parseCraft(text: string): Recipe | null {
  const match = /^\s*craft (.+?) using (.+?)\s*$/i.exec(text.slice(0, LINE_LIMIT));
  if (!match) return null;
  return { output: amountOf(match[1] ?? ''), inputs: (match[2] ?? '').split(',').map(amountOf) };
}

/** Reads `get n item`; null for any other text. */
export function parseGet(text: string): Amount | null {
  const match = /^\s*get ([0-9]+ .+?)\s*$/i.exec(text.slice(0, LINE_LIMIT));
  return match ? amountOf(match[1] ?? '') : null;
}

/** Finds an item in a map by its name, or under the name of a group it belongs to: `oak planks` serves a demand for `planks`. */
export function findItem<V>(map: ReadonlyMap<string, V>, item: string): V | undefined {
  const exact = map.get(item);
  if (exact !== undefined) return exact;
  for (const [name, value] of map) if (item.endsWith(` ${name}`)) return value;
  return undefined;
}

/** Returns how many of an ingredient are held, counting the members of the group it may name. */
export function inventoryOf(held: ReadonlyMap<string, number>, ingredient: string): number {
  let most = held.get(ingredient) ?? 0;
  // Two different members cannot be put together in one craft, so the largest pile counts.
  for (const [item, count] of held) if (count > most && item.endsWith(` ${ingredient}`)) most = count;
  return most;
}

function expand(
  goal: string,
  recipes: readonly Recipe[],
  spare: Map<string, number>,
  missing: Map<string, { count: number; hop: number }>,
): void {
  let budget = 256; // hostile or deep recipe texts end here; TextCraft's deepest goal needs about 30
  const need = (item: string, wanted: number, hop: number, path: readonly string[]): void => {
    if (budget-- <= 0 || path.includes(item)) return;
    const left = wanted - (hop === 0 ? 0 : takeSpare(spare, item, wanted));
    if (left <= 0) return;
    const before = missing.get(item);
    missing.set(item, { count: (before?.count ?? 0) + left, hop: Math.min(before?.hop ?? hop, hop) });
    const recipe = recipes.find((r) => r.output.item === item) ?? recipes.find((r) => r.output.item.endsWith(` ${item}`));
    if (!recipe) return;
    const crafts = Math.ceil(left / Math.max(1, recipe.output.count));
    for (const input of recipe.inputs) need(input.item, input.count * crafts, hop + 1, [...path, item]);
  };
  need(goal, 1, 0, []);
}

function takeSpare(spare: Map<string, number>, item: string, wanted: number): number {
  let taken = 0;
  for (const [name, count] of spare) {
    if (name !== item && !name.endsWith(` ${item}`)) continue;
    const take = Math.min(count, wanted - taken);
    spare.set(name, count - take);
    taken += take;
  }
  return taken;
}

/** The recipes of the first observations that were read last: they stand in every state of an episode. */
const recipesOf = new Map<string, readonly Recipe[]>();
const MOST_TEXTS = 64; // of at most 65,536 letters each

function recipesIn(text: string): readonly Recipe[] {
  const known = recipesOf.get(text);
  if (known) return known;
  const recipes = readRecipes(text);
  if (text.length > RECIPE_LETTERS) return recipes;
  for (const oldest of recipesOf.keys()) {
    if (recipesOf.size < MOST_TEXTS) break;
    recipesOf.delete(oldest);
  }
  recipesOf.set(text, recipes);
  return recipes;
}

const RECIPE_LETTERS = 65_536;

function readRecipes(text: string): Recipe[] {
  const recipes: Recipe[] = [];
  for (const line of text.slice(0, RECIPE_LETTERS).split('\n')) {
    const recipe = parseCraft(line);
    if (recipe) recipes.push(recipe);
    if (recipes.length === 200) break;
  }
  return recipes;
}

function heldAfter(situation: Situation): Map<string, number> {
  const held = new Map<string, number>();
  const add = (amount: Amount): void => {
    held.set(amount.item, (held.get(amount.item) ?? 0) + amount.count);
  };
  for (const { action, observation } of situation.history) {
    const gained = /^(?:got|crafted) ([0-9]+ .+)$/i.exec(observation.slice(0, 200).trim());
    if (gained) {
      for (const input of parseCraft(action)?.inputs ?? []) add({ item: input.item, count: -input.count });
      add(amountOf(gained[1] ?? ''));
    } else if (/^inventory:/i.test(observation)) {
      held.clear();
      for (const [, item, count] of observation.slice(0, 8_192).matchAll(/\[([^[\]]+)\] \(([0-9]+)\)/g)) {
        add({ item: itemName(item ?? ''), count: Number(count) });
      }
    }
  }
  return held;
}

function amountOf(text: string): Amount {
  const match = /^\s*([0-9]{1,6}) (.*)$/.exec(text);
  return match ? { count: Number(match[1]), item: itemName(match[2] ?? '') } : { count: 1, item: itemName(text) };
}

function goalItem(goal: string): string {
  return itemName(goal.replace(/^\s*(?:goal:\s*)?(?:craft|make|get)\s+/i, ''));
}

function itemName(text: string): string {
  return wordsOf(text.replace(/minecraft:/gi, ''), 16).join(' ');
}

/**
 * How a candidate of searching relates to the question and to what was found, read from the texts alone. The question names its
 * relations with the last hop first (`the owner of the employer of NAME`), so a word's place among those before `of` shows which
 * hop it is. Returns one name for the whole relation of an action; null for an action that is no search and no answer, so that
 * other worlds are not touched.
 * - source of the name: the question, a document, neither;
 * - hop of the search word: the first, a later one, not asked for (answers have none);
 * - linked: a sentence holds the name together with the word and the name of an earlier search for the hop just before.
 */
export function createEvidence(situation: Situation): (action: string) => string | null {
  const sentences = situation.history.flatMap(({ observation }) => sentencesIn(observation));
  const searches = situation.history.flatMap(({ action }) => {
    const read = readAction(action);
    return read?.verb === 'search' ? [read] : [];
  });
  const question = wordsOf(situation.goal, 40);
  const hops = question.filter((_, i) => question[i + 1] === 'of');

  return (action) => {
    const read = readAction(action);
    if (read === null) return null;
    const { verb, name, key } = read;
    const hop = key === null ? -1 : hops.indexOf(key);
    const before = hops[hop + 1]; // of an answer the last hop, of a search the one before it
    const mentions = sentences.filter((sentence) => holds(sentence, name));
    const linked =
      before !== undefined &&
      (verb === 'answer' || hop >= 0) &&
      searches.some(
        (search) =>
          search.key === before &&
          search.name.join(' ') !== name.join(' ') &&
          mentions.some((sentence) => sentence.includes(before) && holds(sentence, search.name)),
      );
    const source = holds(question, name) ? 'question' : mentions.length > 0 ? 'document' : 'nowhere';
    const place = verb === 'answer' ? 'answer' : hop < 0 ? 'unasked' : hop === hops.length - 1 ? 'first' : 'later';
    return `${source}|${place}|${linked}`;
  };
}

function readAction(
  action: string,
): { readonly verb: 'search' | 'answer'; readonly name: readonly string[]; readonly key: string | null } | null {
  const [, verb, text = ''] = /^<(search|answer)>([^<]{0,500})<\//.exec(action) ?? [];
  const words = wordsOf(text, 16);
  if (verb === 'search') return { verb, name: words.slice(0, -1), key: words.at(-1) ?? null };
  return verb === 'answer' ? { verb, name: words, key: null } : null;
}

function sentencesIn(observation: string): readonly (readonly string[])[] {
  if (!observation.startsWith('<information>')) return [];
  return observation
    .slice(0, 8_192)
    .split(/Doc \d+: /)
    .slice(1, 11)
    .map((text) => wordsOf(text.replaceAll('\\n', ' '), 40));
}

function holds(words: readonly string[], part: readonly string[]): boolean {
  return part.length > 0 && words.some((_, i) => part.every((word, j) => words[i + j] === word));
}
