import type { ChatRequest } from './openai-server.ts';

/**
 * Replies as a model would that plays TextCraft and judges its steps: all it knows it reads from the messages. Its first choice
 * is a step that the goal needs; the choices after it lose time (it looks at what it carries) or take a raw item again. A judge's
 * question it answers by whether the step got something new.
 */
export function textCraftAgent({ messages }: Pick<ChatRequest, 'messages'>, choice: number): string {
  const texts = messages.map(({ content }) => content);
  const question = texts.at(-1) ?? '';
  if (question.includes('Current_Action:')) return judge(question);
  const recipes = recipesOf(texts.join('\n'));
  const goal = /^Goal: craft (.+)\.$/m.exec(texts.join('\n'))?.[1] ?? '';
  const carried = carriedAfter(messages);
  const needed = nextStep(goal, 1, recipes, carried) ?? 'inventory';
  const others = ['inventory', ...[...carried.keys()].filter((item) => !recipes.has(item)).map((item) => `get 1 ${item}`)];
  const action = choice === 0 ? needed : (others[(choice - 1) % others.length] ?? 'inventory');
  const thought = choice === 0 ? `The goal is ${goal}; this is the next step to it.` : 'I am not sure what to do; I try this.';
  return `Thought: ${thought}\nAction: ${action}`;
}

interface Recipe {
  readonly command: string;
  readonly count: number;
  readonly uses: readonly (readonly [item: string, count: number])[];
}

function recipesOf(text: string): ReadonlyMap<string, Recipe> {
  const found = [...text.matchAll(/^craft (\d+) (.+) using (.+)$/gm)];
  return new Map(
    found.map(([command, count = '', item = '', uses = '']) => [item, { command, count: Number(count), uses: amounts(uses) }]),
  );
}

function amounts(text: string): readonly (readonly [string, number])[] {
  return text.split(', ').map((part) => {
    const [count = '', ...item] = part.split(' ');
    return [item.join(' '), Number(count)];
  });
}

/** What is carried after the conversation: actions that the environment confirmed. */
function carriedAfter(messages: ChatRequest['messages']): Map<string, number> {
  const carried = new Map<string, number>();
  const add = (item: string, count: number) => carried.set(item, (carried.get(item) ?? 0) + count);
  for (const [i, { role, content }] of messages.entries()) {
    const action = role === 'user' ? /Action: (.+)$/.exec(messages[i - 1]?.content ?? '')?.[1] : undefined;
    if (action === undefined) continue;
    const [, count = '', item = '', uses] = /^(?:get|craft) (\d+) (.+?)(?: using (.+))?$/.exec(action) ?? [];
    if (item === '' || !/^(Got|Crafted) /.test(content)) continue;
    add(item, Number(count));
    if (uses !== undefined) for (const [used, n] of amounts(uses)) add(used, -n);
  }
  return carried;
}

/** The first step on the way to have so many of an item; null when they are carried. */
function nextStep(
  item: string,
  count: number,
  recipes: ReadonlyMap<string, Recipe>,
  carried: ReadonlyMap<string, number>,
): string | null {
  const missing = count - (carried.get(item) ?? 0);
  if (missing <= 0) return null;
  const recipe = recipes.get(item);
  if (!recipe) return `get ${missing} ${item}`;
  for (const [used, n] of recipe.uses) {
    const before = nextStep(used, n, recipes, carried);
    if (before !== null) return before;
  }
  return recipe.command;
}

function judge(question: string): string {
  const observation = /^Current_Observation: (.*)$/m.exec(question)?.[1] ?? '';
  const good = /^(Got|Crafted) /.test(observation);
  return `The environment answered "${observation}".\nJudgement: ${good ? '<Good>' : '<Bad>'}`;
}
