import { StringDecoder } from 'node:string_decoder';

export interface Line {
  /** Counted from 1. */
  readonly number: number;
  readonly text: string;
}

const LINE_LIMIT = 4 * 1024 * 1024; // characters; a file without line ends must not fill the memory

/**
 * Reads the lines of a UTF-8 stream that have something on them.
 * @param refuse makes the error for a line that is too long. @throws what `refuse` makes.
 */
export async function* readLines(
  stream: AsyncIterable<Buffer | string>,
  refuse: (line: { readonly number: number; readonly problem: string }) => Error,
  limit = LINE_LIMIT,
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
      if (bare.length > limit) throw refuse({ number, problem: `is longer than ${limit} characters` });
      if (bare.trim() !== '') yield { number, text: bare };
    }
    if (rest.length > limit) throw refuse({ number: number + 1, problem: `is longer than ${limit} characters` });
  };
  for await (const chunk of stream) yield* split(typeof chunk === 'string' ? chunk : decoder.write(chunk), false);
  yield* split(decoder.end(), true);
}
