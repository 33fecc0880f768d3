import { endOfString, jsonLosses, mayRepeatKeys, walkJson } from './json-loss.ts';

/** The texts that objects and lists came as: readers pass values on by reference, and what is not kept here is written anew. */
const TEXTS = new WeakMap<object, string>();

/** A number that `JSON.stringify` writes in another way than it may have come. */
const REWRITTEN = /[:[,]\s*(?:-0(?![.\d])|-?(?:\d+\.\d*0(?!\d)|[\d.]+[eE]|0\.0{6}|[\d.]{16}))/;

/**
 * Parses JSON so that `jsonText` writes an object or a list of it as it came: numbers keep their digits, and members of one key all
 * their values. @throws SyntaxError.
 */
export function parseJsonText(text: string): unknown {
  const value: unknown = JSON.parse(text);
  keepJsonText(value, text);
  if (!REWRITTEN.test(text) && !mayRepeatKeys(text, value)) return value;
  const rewritten: boolean[] = []; // of the objects and lists that are open
  walkJson(text, value, {
    onOpen: () => rewritten.push(false),
    onRewritten: () => {
      if (rewritten.length > 0) rewritten[rewritten.length - 1] = true;
    },
    onClose: (each, from, to) => {
      const isRewritten = rewritten.pop() === true;
      // Of members of one key the value is the last: that of an earlier one may have been kept for it.
      if (isRewritten || isKept(each)) keepJsonText(each, text.slice(from, to));
      if (isRewritten && rewritten.length > 0) rewritten[rewritten.length - 1] = true;
    },
  });
  return value;
}

/** Parses JSON as `parseJsonText` does; undefined for a text that is none. */
export function tryJsonText(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch {
    return undefined;
  }
}

/** Lists what a reader of JSON loses of the text that a value came as. */
export function lossesOfText(value: object): readonly string[] {
  const text = TEXTS.get(value);
  return text === undefined ? [] : jsonLosses(text, value);
}

/** Says that a value came as a text: a validated copy of it, or the value itself. */
export function keepJsonText(value: unknown, text: string): void {
  if (typeof value === 'object' && value !== null) TEXTS.set(value, text);
}

function isKept(value: unknown): boolean {
  return typeof value === 'object' && value !== null && TEXTS.has(value);
}

/** Writes a value as JSON: what `parseJsonText` read as it came, other values compactly. */
export function jsonText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const text = TEXTS.get(value);
  // A copy: a slice of the text would keep the whole of it in memory.
  if (text !== undefined) return text.isWellFormed() ? Buffer.from(text).toString() : text;
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  const members = Object.entries(value).filter(([, each]) => each !== undefined);
  return `{${members.map(([key, each]) => `${JSON.stringify(key)}:${jsonText(each)}`).join(',')}}`;
}

/**
 * Changes members of an object, or items of a list, in its text: the rest stays as it came. `change` returns the text to put in place
 * of one, null to take it out, or undefined to keep it. @param added members to put at the end, but for those that are there.
 */
export function changeJsonText(
  text: string,
  change: (key: string, value: string) => string | null | undefined,
  added: Readonly<Record<string, string>> = {},
): string {
  const container = partsOf(text);
  if (container === null) return text;
  const { open, parts, tail } = container;
  const kept: string[] = [];
  const keep = (lead: string, rest: string) => kept.push(`${kept.length === 0 ? lead.replace(',', '') : lead || ','}${rest}`);
  for (const { lead, key, head, value } of parts) {
    const next = change(key, value);
    if (next !== null) keep(lead, `${head}${next ?? value}`);
  }
  const keys = new Set(parts.map(({ key }) => key));
  for (const [key, value] of Object.entries(added)) if (!keys.has(key)) keep(',', `${JSON.stringify(key)}:${value}`);
  return `${open}${kept.join('')}${tail}`;
}

/** Puts members into the text of an object, in place of those of the same keys. */
export function setJsonMembers(text: string, members: Readonly<Record<string, string>>): string {
  return changeJsonText(text, (key) => (Object.hasOwn(members, key) ? members[key] : undefined), members);
}

interface Part {
  /** What is before it: a comma and blanks. */
  readonly lead: string;
  /** Empty for an item of a list. */
  readonly key: string;
  /** The key as it is written, up to the value. */
  readonly head: string;
  readonly value: string;
}

/** Cuts the text of an object or a list into its parts; null for another value. */
function partsOf(text: string): { readonly open: string; readonly parts: readonly Part[]; readonly tail: string } | null {
  let at = behindBlanks(text, 0);
  const isObject = text[at] === '{';
  if (!isObject && text[at] !== '[') return null;
  at += 1;
  const open = text.slice(0, at);
  const parts: Part[] = [];
  for (;;) {
    const from = at;
    at = behindBlanks(text, at);
    if (text[at] === ',') at = behindBlanks(text, at + 1);
    if (text[at] === '}' || text[at] === ']') return { open, parts, tail: text.slice(from) };
    const start = at;
    let key = '';
    if (isObject) {
      at = endOfString(text, start);
      key = JSON.parse(text.slice(start, at));
      at = behindBlanks(text, behindBlanks(text, at) + 1); // the colon
    }
    const end = endOfValue(text, at);
    parts.push({ lead: text.slice(from, start), key, head: text.slice(start, at), value: text.slice(at, end) });
    at = end;
  }
}

function behindBlanks(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at += 1;
  return at;
}

function endOfValue(text: string, from: number): number {
  const first = text[from];
  if (first === '"') return endOfString(text, from);
  let at = from;
  if (first !== '{' && first !== '[') {
    while (at < text.length && !/[\s,}\]]/.test(text[at] ?? '')) at += 1;
    return at;
  }
  for (let depth = 0; ; ) {
    const each = text[at];
    if (each === '"') {
      at = endOfString(text, at);
      continue;
    }
    at += 1;
    if (each === '{' || each === '[') depth += 1;
    if (each === '}' || each === ']') depth -= 1;
    if (depth === 0) return at;
  }
}
