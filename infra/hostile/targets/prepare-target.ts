import { access, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { DatasetError } from '../../../src/usecases/datasets/dataset-error.ts';
import { prepareDataset } from '../../../src/usecases/datasets/prepare/prepare-dataset.ts';
import { RECIPES } from '../../../src/usecases/datasets/prepare/recipes.ts';
import { change, changed, damage, damaged, RAW_TEXTS, TEXTS, write } from '../hostile-values.ts';
import { Broken, target } from '../target.ts';

interface Source {
  readonly dataset: string;
  readonly name: string;
  readonly bytes: Buffer;
  readonly malformed: 'refuse' | 'skip';
}

const FOLDER = fileURLToPath(new URL('../../../src/usecases/datasets/prepare/fixtures/', import.meta.url));
const FILES = (await readdir(FOLDER, { recursive: true }))
  .filter((name) => ['.json', '.jsonl', '.parquet'].includes(extname(name)))
  .sort();
const FIXTURES: readonly Omit<Source, 'malformed'>[] = await Promise.all(
  FILES.map(async (name) => ({
    dataset: name.split('/')[0]?.replace('-parquet', '') ?? '',
    name: basename(name),
    bytes: await readFile(join(FOLDER, name)),
  })),
);
const TEXT_FIXTURES = FIXTURES.filter(({ name }) => !name.endsWith('.parquet'));
const PARQUET = FIXTURES.filter(({ name }) => name.endsWith('.parquet'));

const malformed = fc.constantFrom<'refuse' | 'skip'>('refuse', 'skip');

/** A column of one text a million times: a few bytes of a dictionary and of run lengths. */
function repeated(rows: number): Buffer {
  const data = Array.from({ length: rows }, () => 'x'.repeat(1_000));
  return Buffer.from(
    parquetWriteBuffer({
      columnData: [
        { name: 'question', data },
        { name: 'answer', data },
      ],
      rowGroupSize: rows,
    }),
  );
}

/** Pages that say they are a few bytes long and inflate to 512 MB. */
function inflating(): Buffer {
  const zeros = gzipSync(Buffer.alloc(512 * 2 ** 20), { level: 1 });
  const data = ['x', 'y', 'z'];
  const columnData = [
    { name: 'question', data },
    { name: 'answer', data },
  ];
  return Buffer.from(parquetWriteBuffer({ columnData, codec: 'GZIP', compressors: { GZIP: () => zeros } }));
}

/** `espalier prepare`: JSON and Parquet of anybody. The folder appears whole or not at all. */
export const prepareTarget = target<Source>({
  name: 'prepare',
  always: [
    ...FIXTURES.map((fixture): Source => ({ ...fixture, malformed: 'refuse' })),
    ...RAW_TEXTS.map((text): Source => ({ dataset: 'gsm8k', name: 'train.jsonl', bytes: Buffer.from(text), malformed: 'skip' })),
    ...TEXTS.map(
      (text): Source => ({
        dataset: 'gsm8k',
        name: 'train.jsonl',
        bytes: Buffer.from(JSON.stringify({ question: text, answer: `${text} #### ${text}` })),
        malformed: 'skip',
      }),
    ),
    { dataset: 'gsm8k', name: 'train.parquet', bytes: repeated(200_000), malformed: 'refuse' },
    { dataset: 'gsm8k', name: 'train.parquet', bytes: inflating(), malformed: 'refuse' },
    { dataset: 'gsm8k', name: 'train.parquet', bytes: gzipSync(Buffer.alloc(2 ** 20)), malformed: 'refuse' },
    { dataset: 'gsm8k', name: 'train.parquet', bytes: Buffer.from('PAR1PAR1'), malformed: 'refuse' },
    { dataset: 'gsm8k', name: 'train.parquet', bytes: Buffer.from('PAR1\xff\xff\xff\x7fPAR1', 'latin1'), malformed: 'refuse' },
  ],
  cases: fc.oneof(
    {
      weight: 2,
      arbitrary: fc
        .record({ fixture: fc.constantFrom(...TEXT_FIXTURES), all: fc.array(change, { minLength: 1, maxLength: 3 }), malformed })
        .map(
          ({ fixture, all, malformed: mode }): Source => ({
            ...fixture,
            bytes: Buffer.from(write(all.reduce<unknown>(changed, rowsOf(fixture)))),
            malformed: mode,
          }),
        ),
    },
    {
      weight: 1,
      arbitrary: fc.record({ fixture: fc.constantFrom(...TEXT_FIXTURES), harm: damage, malformed }).map(
        ({ fixture, harm, malformed: mode }): Source => ({
          ...fixture,
          bytes: damaged(fixture.bytes, harm),
          malformed: mode,
        }),
      ),
    },
    // Most of a Parquet file is its footer and the headers of its pages: lengths, counts, codecs.
    {
      weight: 3,
      arbitrary: fc
        .record({ fixture: fc.constantFrom(...PARQUET), harms: fc.array(damage, { minLength: 1, maxLength: 3 }), malformed })
        .map(
          ({ fixture, harms, malformed: mode }): Source => ({
            ...fixture,
            bytes: harms.reduce(damaged, fixture.bytes),
            malformed: mode,
          }),
        ),
    },
  ),
  way: {
    process: 'inside',
    async within({ folder }, { dataset, name, bytes, malformed: mode }) {
      const recipe = RECIPES[dataset];
      if (recipe === undefined) throw new Broken(`there is no recipe ${dataset}`);
      const [from, out] = [join(folder, 'from', name), join(folder, 'out')];
      await mkdir(dirname(from), { recursive: true });
      await writeFile(from, bytes);
      try {
        await prepareDataset({
          recipe,
          from,
          out,
          existing: 'refuse',
          seed: 1,
          train: null,
          test: null,
          malformed: mode,
          instruction: null,
          codeVersion: 'hostile',
          signal: AbortSignal.timeout(60_000),
          onRow: () => undefined,
        });
        await access(join(out, 'manifest.json'));
        return { kind: 'accepted', appended: 0 };
      } catch (error) {
        if (!(error instanceof DatasetError)) throw error;
        const left = (await readdir(folder)).filter((each) => each !== 'from');
        if (left.length > 0) throw new Broken(`refused, and left ${left.join(', ')}`);
        return { kind: 'refused', code: error.code };
      }
    },
  },
});

/** The rows of a fixture, whether it is one array or a line each. */
function rowsOf({ bytes }: Pick<Source, 'bytes'>): unknown {
  const text = bytes.toString('utf8').trim();
  return text.startsWith('[') ? JSON.parse(text) : text.split('\n').map((line) => JSON.parse(line));
}
