/*
 * What a chat says, read in time in proportion to its length: it comes from anybody, 16 MB at most, and a pattern that goes back
 * over blanks or quotes would hold the server for minutes.
 */

/** Reads the action of a reply: what is between action tags, else its last line `Action: …`, else all of it. */
export function actionOf(reply: string): string {
  return (taggedIn(reply) ?? lastActionIn(reply) ?? reply).trim();
}

function taggedIn(reply: string): string | undefined {
  const from = reply.indexOf(OPEN);
  const to = from < 0 ? -1 : reply.indexOf('</action>', from);
  return to < 0 ? undefined : reply.slice(from + OPEN.length, to);
}
const OPEN = '<action>';

/** The text may stand on the line below its name. */
function lastActionIn(reply: string): string | undefined {
  const lines = reply
    .slice(-2_000)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const [before, last] = [lines.at(-2), lines.at(-1)];
  if (before === ACTION) return last;
  return last?.startsWith(ACTION) ? last.slice(ACTION.length) : undefined;
}
const ACTION = 'Action:';

/**
 * Reads the goal of an opening: what follows `Goal: craft`, `Goal:`, `Your task:` or `Question:` at the beginning of a line;
 * empty where it names none.
 */
export function goalOf(opening: string): string {
  // Behind the beginning of a line and not behind any blanks: those of many empty lines would be tried from each of them.
  const [, goal = ''] = /(?<![^\n])[^\S\n]*(?:Goal: craft|Goal:|Your task:|Question:)\s*([^\n]+)/.exec(opening) ?? [];
  return goal.trim().replace(/\.$/, '');
}

const MARK = 'What you can do now:';
const MOST_LISTS = 16; // of one message; an environment writes one
const TAIL = 200_000; // characters of a message that are looked at

/** Reads the list `What you can do now: ['…'` line by line `'…']` of a message; null where there is none. */
export function listedIn(message: string): readonly string[] | null {
  const text = message.slice(-TAIL);
  let at = text.indexOf(MARK);
  for (let tried = 0; at >= 0 && tried < MOST_LISTS; tried++) {
    const from = at + MARK.length;
    const list = /^\s*\[/.exec(text.slice(from, from + 100));
    const items = list ? itemsFrom(text, from + list[0].length) : null;
    if (items) return items;
    at = text.indexOf(MARK, from);
  }
  return null;
}

/**
 * Items stand on lines of their own, a comma behind them or none; quotes within an item need no mark. The last ends with `']`.
 */
function itemsFrom(text: string, from: number): readonly string[] | null {
  const items: string[] = [];
  let ending: { readonly behind: number; readonly last: string } | null = null;
  for (const line of text.slice(from).split('\n')) {
    const item = line.trim();
    if (item === '' && items.length > 0) continue;
    if (!item.startsWith("'")) break;
    const end = item.lastIndexOf("']");
    if (end > 0) ending = { behind: items.length, last: item.slice(1, end) };
    const whole = item.endsWith(',') ? item.slice(0, -1).trimEnd() : item;
    if (whole.length < 2 || !whole.endsWith("'")) break;
    items.push(whole.slice(1, -1));
  }
  return ending === null ? null : [...items.slice(0, ending.behind), ending.last];
}
