import type { Element, MakeElement, RendererInput, RendererStep } from '../renderer.ts';

interface Recipe {
  readonly command: string;
  readonly makes: number;
  readonly item: string;
  readonly parts: readonly { readonly count: number; readonly item: string }[];
}

/** TextCraft: what is carried, and the recipes behind the goal with what is done of them. */
export function render({ steps, at, task }: RendererInput, h: MakeElement): readonly (Element | string)[] {
  const opening = steps[0]?.observation ?? '';
  const goal = /Goal: craft (.+?)\.?\s*$/m.exec(opening)?.[1] ?? /craft (.+?)\.?$/.exec(task.goal)?.[1] ?? task.goal;
  const recipes = new Map<string, Recipe[]>();
  const all: Recipe[] = [];
  for (const line of opening.split('\n')) {
    const recipe = readRecipe(line);
    if (!recipe) continue;
    all.push(recipe);
    recipes.set(recipe.item, [...(recipes.get(recipe.item) ?? []), recipe]);
  }
  const { carried, made } = play(steps.slice(1, at + 1));
  const used = new Set<Recipe>();
  const shown = { count: 0 };

  const style = h(
    'style',
    null,
    `.carried{display:flex;flex-wrap:wrap;gap:.3rem;list-style:none;padding:0}.carried li{background:var(--raised);border:1px solid var(--line);border-radius:6px;padding:.1rem .45rem}
.new{border-color:var(--accent)!important}.graph,.graph ul{list-style:none;margin:0;padding-left:1.05rem}.graph{padding-left:0}.graph ul{border-left:1px solid var(--line);margin-left:.45rem}
.graph li{padding:.12rem 0}.done{color:var(--good)}.faint{color:var(--faint)}b.n{font-variant-numeric:tabular-nums}.command{font-family:ui-monospace,Menlo,"DejaVu Sans Mono",monospace;font-size:.88em}`,
  );
  const last = steps[at];
  const newest = last ? gained(last)?.item : undefined;
  const things = [...carried].filter(([, count]) => count > 0);
  return [
    style,
    h('h3', null, 'Inventory'),
    things.length === 0
      ? h('p', { class: 'faint' }, 'Nothing is carried.')
      : h(
          'ul',
          { class: 'carried' },
          things.map(([item, count]) =>
            h('li', { class: item === newest ? 'new' : null }, h('b', { class: 'n' }, `${count} × `), item),
          ),
        ),
    h('h3', null, 'Recipes of the goal'),
    h('ul', { class: 'graph' }, node(goal, 1, false, [])),
    others(),
  ].filter((each) => each !== '');

  /** An item that is needed: whether it is done, and what it is made of. */
  function node(item: string, needed: number, above: boolean, path: readonly string[]): Element {
    const recipe = recipeFor(item);
    const had = nameable(item).reduce((sum, each) => sum + (made.get(each) ?? 0), 0);
    const holds = nameable(item).reduce((sum, each) => sum + (carried.get(each) ?? 0), 0);
    const done = above || had >= needed;
    if (recipe) used.add(recipe);
    const inner = recipe && !path.includes(item) && ++shown.count < 200 ? recipe.parts : [];
    const times = recipe ? Math.ceil(needed / recipe.makes) : 1;
    return h(
      'li',
      { class: done ? 'done' : null },
      `${done ? '✓' : '○'} `,
      h('b', { class: 'n' }, `${needed} × `),
      item,
      h('span', { class: 'faint' }, done ? '' : ` (${holds} carried${recipe ? '' : ', to get'})`),
      inner.length === 0
        ? null
        : h(
            'ul',
            null,
            inner.map((part) => node(part.item, part.count * times, done, [...path, item])),
          ),
    );
  }

  /** A recipe for an item, or for what one of a kind may be: "planks" is any item that ends so. */
  function recipeFor(item: string): Recipe | undefined {
    const found = nameable(item).flatMap((each) => recipes.get(each) ?? []);
    return found.find((each) => (made.get(each.item) ?? 0) > 0) ?? found[0];
  }

  function nameable(item: string): readonly string[] {
    const known = new Set([...recipes.keys(), ...made.keys()]);
    if (recipes.has(item) || made.has(item)) return [item];
    const kind = item.replace(/s$/, '');
    return [item, ...[...known].filter((each) => each.endsWith(` ${item}`) || each.endsWith(` ${kind}`))];
  }

  function others(): Element | string {
    const rest = all.filter((recipe) => !used.has(recipe));
    if (rest.length === 0) return '';
    return h(
      'details',
      null,
      h('summary', { class: 'faint' }, `${rest.length} other ${rest.length === 1 ? 'command' : 'commands'} of the task`),
      rest.map(({ command }) => h('p', { class: 'command' }, command)),
    );
  }
}

function readRecipe(line: string): Recipe | undefined {
  const [, makes, item, parts] = /^craft (\d+) (.+?) using (.+)$/.exec(line.trim()) ?? [];
  if (makes === undefined || item === undefined || parts === undefined) return undefined;
  return { command: line.trim(), makes: Number(makes), item, parts: readParts(parts) };
}

function readParts(text: string): Recipe['parts'] {
  return text.split(',').flatMap((part) => {
    const [, count, item] = /^(\d+) (.+)$/.exec(part.trim()) ?? [];
    return count === undefined || item === undefined ? [] : [{ count: Number(count), item }];
  });
}

/** What an answer says was got or crafted. */
function gained({ observation }: RendererStep): { readonly count: number; readonly item: string } | undefined {
  const [, count, item] = /^(?:Got|Crafted) (\d+) (.+)$/.exec(observation.trim()) ?? [];
  if (count === undefined || item === undefined) return undefined;
  return { count: Number(count), item: item.replace(/^minecraft:/, '').replaceAll('_', ' ') };
}

/** Follows what is carried through the answers; `made` is all that was ever got or crafted. */
function play(steps: readonly RendererStep[]): {
  readonly carried: ReadonlyMap<string, number>;
  readonly made: ReadonlyMap<string, number>;
} {
  const carried = new Map<string, number>();
  const made = new Map<string, number>();
  const add = (to: Map<string, number>, item: string, count: number) => to.set(item, (to.get(item) ?? 0) + count);
  for (const step of steps) {
    const gain = gained(step);
    if (!gain) continue;
    if (step.observation.trim().startsWith('Crafted'))
      for (const { count, item } of readParts(/ using (.+)$/m.exec(step.action)?.[1] ?? '')) add(carried, item, -count);
    add(carried, gain.item, gain.count);
    add(made, gain.item, gain.count);
  }
  return { carried, made };
}
