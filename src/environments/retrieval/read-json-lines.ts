import { createReadStream } from 'node:fs';
import type { z } from 'zod';
import { readLines } from './read-lines.ts';

const MOST = 1_000_000; // items of a file

/** What the lines of a file describe. */
interface Described<Data extends { readonly id?: string | number | undefined }, Item> {
  /** Of a line. */
  readonly shape: z.ZodType<Data>;
  /** Names an item in messages. */
  readonly what: string;
  /** Of what is wrong with the file. */
  readonly Failed: new (
    message: string,
    options?: ErrorOptions,
  ) => Error;
  /** Makes an item of a line, or returns what the line lacks. */
  readonly itemOf: (data: Data, alias: string) => Item | string;
}

/**
 * Reads a .jsonl file whose lines each describe an item; the alias of an item is the `id` of its line, or else the line's number.
 * Fields that the shape does not have are passed over. @throws Failed naming file and line.
 */
export async function readJsonLines<
  Data extends { readonly id?: string | number | undefined },
  Item extends { readonly alias: string },
>(file: string, { shape, what, Failed, itemOf }: Described<Data, Item>): Promise<Item[]> {
  const items = new Map<string, Item>();
  try {
    const tooLong = ({ number, problem }: { number: number; problem: string }) => new Failed(`${file}:${number}: ${problem}`);
    for await (const { number, text } of readLines(createReadStream(file), tooLong)) {
      const place = `${file}:${number}`;
      const item = read(text, number, place);
      if (items.has(item.alias)) throw new Failed(`${place}: the id ${JSON.stringify(item.alias)} came before`);
      if (items.size === MOST) throw new Failed(`${place}: there are more than ${MOST} ${what}s`);
      items.set(item.alias, item);
    }
  } catch (cause) {
    if (cause instanceof Failed) throw cause;
    throw new Failed(`${file}: cannot be read (${(cause as NodeJS.ErrnoException).code ?? String(cause)})`, { cause });
  }
  if (items.size === 0) throw new Failed(`${file}: holds no ${what}`);
  return [...items.values()];

  function read(line: string, number: number, place: string): Item {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch (cause) {
      // JSON.parse throws nothing but SyntaxError
      throw new Failed(`${place}: is no JSON (${(cause as Error).message})`, { cause });
    }
    const parsed = shape.safeParse(value);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      throw new Failed(`${place}: is no ${what}: ${issue?.path.join('.') || 'the line'}: ${issue?.message}`);
    }
    const item = itemOf(parsed.data, String(parsed.data.id ?? number));
    if (typeof item === 'string') throw new Failed(`${place}: ${item}`);
    return item;
  }
}
