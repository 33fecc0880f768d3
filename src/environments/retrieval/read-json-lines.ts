import { createReadStream } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import type { z } from 'zod';

const MOST = 1_000_000; // items of a file
const LINE_LIMIT = 4 * 1024 * 1024; // characters; a file without line ends must not fill the memory

/** What the lines of a file describe. */
interface Described<Data> {
  /** Of a line; fields that it does not have are passed over. */
  readonly shape: z.ZodType<Data>;
  /** Names an item in messages. */
  readonly what: string;
  /** Of what is wrong with the file. */
  readonly Failed: new (
    message: string,
    options?: ErrorOptions,
  ) => Error;
}

/** Reads a .jsonl file whose lines each describe an item, with the place of each. @throws Failed naming file and line. */
export async function* readJsonLines<Data>(
  file: string,
  { shape, what, Failed }: Described<Data>,
): AsyncGenerator<{ readonly data: Data; readonly number: number; readonly place: string }> {
  try {
    const tooLong = ({ number, problem }: { number: number; problem: string }) => new Failed(`${file}:${number}: ${problem}`);
    for await (const { number, text } of readLines(createReadStream(file), tooLong)) {
      const place = `${file}:${number}`;
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch (cause) {
        // JSON.parse throws nothing but SyntaxError
        throw new Failed(`${place}: is no JSON (${(cause as Error).message})`, { cause });
      }
      const parsed = shape.safeParse(value);
      if (!parsed.success) {
        const [issue] = parsed.error.issues;
        throw new Failed(`${place}: is no ${what}: ${issue?.path.join('.') || 'the line'}: ${issue?.message}`);
      }
      yield { data: parsed.data, number, place };
    }
  } catch (cause) {
    if (cause instanceof Failed) throw cause;
    throw new Failed(`${file}: cannot be read (${(cause as NodeJS.ErrnoException).code ?? String(cause)})`, { cause });
  }
}

/**
 * Reads the items of a .jsonl file; the alias of one is the `id` of its line, or else the line's number. @param itemOf makes an
 * item of a line, or returns what the line lacks. @throws Failed as `readJsonLines`.
 */
export async function readItems<
  Data extends { readonly id?: string | number | undefined },
  Item extends { readonly alias: string },
>(
  file: string,
  { itemOf, ...described }: Described<Data> & { readonly itemOf: (data: Data, alias: string) => Item | string },
): Promise<Item[]> {
  const { what, Failed } = described;
  const items = new Map<string, Item>();
  for await (const { data, number, place } of readJsonLines(file, described)) {
    const item = itemOf(data, String(data.id ?? number));
    if (typeof item === 'string') throw new Failed(`${place}: ${item}`);
    if (items.has(item.alias)) throw new Failed(`${place}: the id ${JSON.stringify(item.alias)} came before`);
    if (items.size === MOST) throw new Failed(`${place}: there are more than ${MOST} ${what}s`);
    items.set(item.alias, item);
  }
  if (items.size === 0) throw new Failed(`${file}: holds no ${what}`);
  return [...items.values()];
}

interface Line {
  /** Counted from 1. */
  readonly number: number;
  readonly text: string;
}

/**
 * Reads the lines of a UTF-8 stream that have something on them. @throws what `refuse` makes of a line that is too long.
 */
async function* readLines(
  stream: AsyncIterable<Buffer | string>,
  refuse: (line: { readonly number: number; readonly problem: string }) => Error,
): AsyncGenerator<Line> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  let number = 0;
  const split = function* (text: string, isLast: boolean): Generator<Line> {
    const lines = (rest + text).split('\n');
    rest = isLast ? '' : (lines.pop() ?? '');
    for (const line of lines) {
      number++;
      const bare = number === 1 ? line.replace(/^\uFEFF/, '') : line;
      if (bare.length > LINE_LIMIT) throw refuse({ number, problem: `is longer than ${LINE_LIMIT} characters` });
      if (bare.trim() !== '') yield { number, text: bare };
    }
    if (rest.length > LINE_LIMIT) throw refuse({ number: number + 1, problem: `is longer than ${LINE_LIMIT} characters` });
  };
  for await (const chunk of stream) yield* split(typeof chunk === 'string' ? chunk : decoder.write(chunk), false);
  yield* split(decoder.end(), true);
}
