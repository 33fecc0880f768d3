import type { ByteSink } from './format.ts';
import { Float } from './json-line.ts';
import { type Column, double, each, int32, list, ParquetFile, type ParquetShape, struct, text } from './parquet-file.ts';
import type { TokenBody } from './token-body.ts';

const ids = (name: string): Column => list(name, int32('element'));

/** The column `metadata` of `rowMetadata`, in its order. */
const metadata = (): Column =>
  struct('metadata', [
    ...each(text, 'kind', 'trajectory', 'rejected', 'tree', 'run'),
    struct('task', [...each(text, 'id', 'alias', 'goal'), int32('depth'), text('split')]),
    struct('environment', each(text, 'name', 'fingerprint')),
    struct('policy', [text('id'), int32('version')]),
    int32('ordinal'),
    ...each(text, 'outcome', 'result'),
    int32('steps'),
    ...each(text, 'leaf', 'rejected_leaf', 'revision', 'state', 'judge', 'judgements', 'labels', 'rejected_labels', 'prompt'),
    struct('part', [int32('index'), int32('of'), int32('from'), int32('to')]),
    list('scores', struct('element', [text('name'), double('value')])),
  ]);

const tokenRows = (says: boolean): ParquetShape => ({
  name: 'token-rows/1',
  columns: [...each(ids, 'input_ids', 'labels', 'loss_mask', 'position_ids'), text('tokenised'), ...(says ? [metadata()] : [])],
});

/** Writes rows of token ids as Parquet: the columns of the lines, with types that no reader has to find out. */
export class TokenFile {
  readonly #file: ParquetFile;

  constructor(sink: ByteSink, format: { readonly metadata: 'include' | 'omit' }) {
    this.#file = new ParquetFile(sink, tokenRows(format.metadata === 'include'));
  }

  async write(body: TokenBody): Promise<void> {
    await this.#file.write(plain(body) as Readonly<Record<string, unknown>>, 2_000 + 32 * body.input_ids.length);
  }

  /** Writes the last row group and the footer. */
  finish(): Promise<void> {
    return this.#file.finish();
  }
}

/** Columns have their types: floats are numbers again. */
function plain(value: unknown): unknown {
  if (value instanceof Float) return value.value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return typeof value[0] === 'object' ? value.map(plain) : value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]));
}
