/** What a JSON text says. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/**
 * Which numbers of a value were written as floats: the value itself, or those below the names and places of it. A tree and no
 * list of pointers: a long name with many floats below it would be written down once for each.
 */
export type Floats = 'float' | ReadonlyMap<string, Floats>;
const NO_FLOATS: Floats = new Map();

export type ReadJson =
  | {
      readonly kind: 'value';
      readonly value: Json;
      /** The numbers that were written as floats: Python calls 1.0 no integer, and JavaScript cannot distinguish it from 1. */
      readonly floats: Floats;
      /** Of an object: the text of each member's value as it was written, last one of a name. */
      readonly members: ReadonlyMap<string, string>;
    }
  | { readonly kind: 'broken'; readonly at: number };

const DEEPEST = 200; // Python gives up near 1,000 with another error than the one that its callers catch
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const NAMES: readonly (readonly [string, Json])[] = [
  ['null', null],
  ['true', true],
  ['false', false],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
];
const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', '/': '/' };

/**
 * Reads JSON as Python's `json.loads` does: NaN and the infinities are numbers, a repeated name keeps its last value, no control
 * character occurs in a text. Integers beyond 2^53 are rounded (the text in `members` is not). Nesting deeper than 200 is broken.
 */
export function readPythonJson(text: string): ReadJson {
  const members = new Map<string, string>();
  let at = 0;
  let floats = NO_FLOATS; // of the value that was read last

  const fail = (): never => {
    throw new Broken(at);
  };
  const blank = (): void => {
    while (at < text.length && ' \t\n\r'.includes(text.charAt(at))) at++;
  };

  function value(depth: number): Json {
    if (depth > DEEPEST) fail();
    floats = NO_FLOATS;
    const first = text.charAt(at);
    if (first === '{') return object(depth);
    if (first === '[') return list(depth);
    if (first === '"') return string();
    for (const [name, named] of NAMES) {
      if (!text.startsWith(name, at)) continue;
      at += name.length;
      return named;
    }
    NUMBER.lastIndex = at;
    const [written = '', fraction, exponent] = NUMBER.exec(text) ?? fail();
    at += written.length;
    if (fraction !== undefined || exponent !== undefined) floats = 'float';
    return Number(written);
  }

  function object(depth: number): Json {
    const entries: [string, Json][] = [];
    const below = new Map<string, Floats>();
    at++;
    blank();
    if (text.charAt(at) === '}') return skip({});
    for (;;) {
      if (text.charAt(at) !== '"') fail();
      const name = string();
      blank();
      if (text.charAt(at) !== ':') fail();
      at++;
      blank();
      const from = at;
      entries.push([name, value(depth + 1)]);
      mark(below, name);
      if (depth === 0) members.set(name, text.slice(from, at));
      blank();
      if (text.charAt(at) === '}') return marked(below, Object.fromEntries(entries)); // makes "__proto__" a name like any other
      comma();
    }
  }

  function list(depth: number): Json {
    const items: Json[] = [];
    const below = new Map<string, Floats>();
    at++;
    blank();
    if (text.charAt(at) === ']') return skip(items);
    for (;;) {
      items.push(value(depth + 1));
      mark(below, String(items.length - 1));
      blank();
      if (text.charAt(at) === ']') return marked(below, items);
      comma();
    }
  }

  function comma(): void {
    if (text.charAt(at) !== ',') fail();
    at++;
    blank();
  }

  /** Notes the floats of the value that was just read; the last value of a repeated name counts. */
  function mark(below: Map<string, Floats>, name: string): void {
    if (floats === 'float' || floats.size > 0) below.set(name, floats);
    else below.delete(name);
  }

  function marked<T>(below: Floats, read: T): T {
    floats = below;
    return skip(read);
  }

  function skip<T>(read: T): T {
    at++;
    return read;
  }

  function string(): string {
    let read = '';
    for (let from = ++at; ; ) {
      const unit = text.charCodeAt(at); // NaN behind the end
      if (!(unit >= 0x20)) return fail();
      if (unit === 0x22) return skip(read + text.slice(from, at));
      if (unit !== 0x5c) {
        at++;
        continue;
      }
      read += text.slice(from, at) + escaped();
      from = at;
    }
  }

  function escaped(): string {
    const letter = text.charAt(at + 1);
    const code = /^[0-9a-fA-F]{4}$/.exec(text.slice(at + 2, at + 6))?.[0];
    if (letter === 'u' && code !== undefined) {
      at += 6;
      return String.fromCharCode(Number.parseInt(code, 16));
    }
    const meant = Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined;
    if (meant === undefined) return fail();
    at += 2;
    return meant;
  }

  try {
    blank();
    const read = value(0);
    blank();
    return at === text.length ? { kind: 'value', value: read, floats, members } : { kind: 'broken', at };
  } catch (error) {
    if (error instanceof Broken) return { kind: 'broken', at: error.at };
    throw error;
  }
}

class Broken extends Error {
  readonly at: number;
  constructor(at: number) {
    super('broken');
    this.at = at;
  }
}

/** Returns whether a value is an object, neither list nor null. */
export function isJsonObject(value: Json | undefined): value is { readonly [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
