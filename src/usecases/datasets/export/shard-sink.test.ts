import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { sha256Hex } from '../../../digest/sha256.ts';
import { readParquet } from '../prepare/read-source.ts';
import { ParquetFile, text } from './parquet-file.ts';
import { ShardSink } from './shard-sink.ts';

const GROUP = 16 * 1024 * 1024; // an estimate of this size makes a row group of its own

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-shards-'));
  await mkdir(join(folder, 'data'));
});
afterEach(() => rm(folder, { recursive: true }));

test('lines go on in the next file where one is full, and every file is named with how many there are', async () => {
  const sink = new ShardSink(folder, { split: 'train', ending: '.jsonl' }, 10);
  for (const line of ['{"a":1}\n', '{"a":2}\n', '{"a":3}\n']) await sink.write(line);
  const shards = await sink.finish();
  expect(shards.map(({ path, bytes }) => [path, bytes])).toEqual([
    ['data/train-00000-of-00002.jsonl', 16],
    ['data/train-00001-of-00002.jsonl', 8],
  ]);
  expect(shards[1]?.sha256).toBe(sha256Hex(await readFile(join(folder, 'data/train-00001-of-00002.jsonl'))));
});

test('Parquet goes on in the next file behind a full row group, and each file is one that readers take', async () => {
  const sink = new ShardSink(folder, { split: 'test', ending: '.parquet' }, 10);
  const file = new ParquetFile(sink, { columns: [text('said')], name: 'test/1' });
  const said = ['first', 'second', 'third'].map((word) => word.repeat(100));
  for (const each of said) await file.write({ said: each }, GROUP);
  await file.finish();
  const shards = await sink.finish();
  expect(shards.map(({ path }) => path)).toEqual([0, 1, 2].map((i) => `data/test-0000${i}-of-00003.parquet`));
  const read: unknown[] = [];
  for (const { path } of shards) for await (const row of readParquet(join(folder, path), ['said'])) read.push(row.said);
  expect(read).toEqual(said);
});

test('a split without rows leaves no file', async () => {
  const sink = new ShardSink(folder, { split: 'test', ending: '.jsonl' });
  await sink.discard();
  expect(await readdir(join(folder, 'data'))).toEqual([]);
});
