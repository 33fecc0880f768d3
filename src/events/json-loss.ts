import { pathIn } from './free-form.ts';

/** What a reader of JSON does not keep of a text. */
export interface JsonLoss {
  /** Where, as `data.config.seed`; items of lists by their numbers. */
  readonly path: string;
  readonly message: string;
  readonly remedy: string;
}

/** Only such a number is an integer that a double does not hold, or beyond the doubles; what precedes it keeps ids in hexadecimal out. */
const LONG_NUMBER = /(?:^|[:,[\s])-?(?:\d{16}|\d[\d.]*[eE]\+?\d{3})/;
/** A key that `keysWritten` does not count. */
const UNCOUNTED_KEY = /"\s+:/;

/**
 * Looks for what `JSON.parse` loses without a word: an integer that a double does not hold, a number beyond the doubles, and a key
 * that occurs twice in one object. @param value what it made of the text. Returns the first one.
 */
export function jsonLoss(text: string, value: unknown): JsonLoss | undefined {
  // The text is read a second time only where there may be something.
  return LONG_NUMBER.test(text) || mayRepeatKeys(text, value) ? firstLoss(text) : undefined;
}

const MOST_LOSSES = 20; // of one text

/** Lists what `JSON.parse` loses without a word, in words: the first twenty, but for numbers of keys that are `ignored`. */
export function jsonLosses(text: string, value: unknown, ignored?: Walker['ignored']): readonly string[] {
  if (jsonLoss(text, value) === undefined) return [];
  const losses: string[] = [];
  walkJson(text, value, {
    onLoss: ({ path, message }) => losses.push(`${path} ${message}`) === MOST_LOSSES,
    ...(ignored ? { ignored } : {}),
  });
  return losses;
}

/** Whether a key may occur twice in one object of a text. */
export function mayRepeatKeys(text: string, value: unknown): boolean {
  return UNCOUNTED_KEY.test(text) || keysWritten(text) !== keysIn(value);
}

/** Counts the keys of a text without an `UNCOUNTED_KEY`. */
function keysWritten(text: string): number {
  let count = 0;
  for (let at = text.indexOf('":'); at >= 0; at = text.indexOf('":', at + 2)) if (endsString(text, at)) count += 1;
  return count;
}

function keysIn(value: unknown): number {
  const waiting = [value];
  let count = 0;
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next !== 'object' || next === null) continue;
    const items = Object.values(next);
    if (!Array.isArray(next)) count += items.length;
    for (const item of items) if (typeof item === 'object') waiting.push(item);
  }
  return count;
}

interface Level {
  readonly keys: Set<string> | null;
  readonly from: number;
  /** What the parser made of it; undefined where a later member of the same key took its place. */
  readonly value: unknown;
  /** The key or the number of the item that is read. */
  at: string;
  item: number;
}

/** What a walk over a JSON text meets; `onLoss` and `onRewritten` return whether to stop. */
interface Walker {
  /** A part that a reader of JSON loses. Its path takes as long as it is deep. */
  readonly onLoss?: (loss: JsonLoss) => boolean;
  /** Keys whose numbers are no loss. */
  readonly ignored?: (key: string) => boolean;
  /** A number that `JSON.stringify` writes in another way, or a part that is lost. */
  readonly onRewritten?: () => void;
  readonly onClose?: (value: unknown, from: number, to: number) => void;
  readonly onOpen?: () => void;
}

function firstLoss(text: string): JsonLoss | undefined {
  let first: JsonLoss | undefined;
  walkJson(text, undefined, {
    onLoss: (loss) => {
      first = loss;
      return true;
    },
  });
  return first;
}

/** Walks over a text that is JSON. @param root what `JSON.parse` made of it. */
export function walkJson(text: string, root: unknown, { onLoss, ignored, onRewritten, onOpen, onClose }: Walker): void {
  const levels: Level[] = [];
  const path = () => levels.reduce((before, { at }) => pathIn(before, at), '');
  const tokens = /["{}[\],]|-?\d[\d.eE+-]*/g;
  let isKey = false; // whether the next string is one
  for (let found = tokens.exec(text); found; found = tokens.exec(text)) {
    const [token] = found;
    const level = levels.at(-1);
    if (token === '{' || token === '[') {
      const value = level === undefined ? root : memberOf(level.value, level.at);
      const keys = token === '{' ? new Set<string>() : null;
      levels.push({ keys, from: found.index, value, at: token === '{' ? '' : '0', item: 0 });
      onOpen?.();
      isKey = token === '{';
    } else if (token === '}' || token === ']') {
      levels.pop();
      onClose?.(level?.value, level?.from ?? 0, tokens.lastIndex);
      isKey = false;
    } else if (token === ',') {
      if (level && !level.keys) level.at = String(++level.item);
      isKey = level?.keys != null;
    } else if (token === '"') {
      tokens.lastIndex = endOfString(text, found.index);
      if (!isKey || !level?.keys) continue;
      level.at = JSON.parse(text.slice(found.index, tokens.lastIndex));
      isKey = false;
      if (level.keys.has(level.at)) {
        onRewritten?.();
        if (onLoss?.({ path: path(), message: 'occurs twice in its object', remedy: 'write each key of an object once' })) return;
      }
      level.keys.add(level.at);
    } else {
      if (String(Number(token)) !== token) onRewritten?.();
      const message = onLoss && !ignored?.(level?.at ?? '') ? lossOfNumber(token) : undefined;
      if (message && onLoss?.({ path: path(), message, remedy: 'write it as a text' })) return;
    }
  }
}

function memberOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, unknown>>)[key] // as just seen
    : undefined;
}

/** Returns the place behind a string that begins at a place. */
export function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); ; end = text.indexOf('"', end + 1)) if (endsString(text, end)) return end + 1;
}

/** Whether a quotation mark within a string is not escaped. */
function endsString(text: string, quote: number): boolean {
  let escapes = 0;
  while (text[quote - 1 - escapes] === '\\') escapes += 1;
  return escapes % 2 === 0;
}

function lossOfNumber(token: string): string | undefined {
  const read = Number(token);
  if (!Number.isFinite(read)) return `is ${shown(token)}, which is beyond the range of a double`;
  // JavaScript writes large doubles by their first seventeen digits, which are read back as the same double.
  if (!/^-?\d+$/.test(token) || String(read) === token || BigInt(token) === BigInt(read)) return undefined;
  return `is ${shown(token)}, which a reader of JSON takes for ${BigInt(read)}`;
}

function shown(token: string): string {
  return token.length > 40 ? `${token.slice(0, 40)}…` : token;
}
