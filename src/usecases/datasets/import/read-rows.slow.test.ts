import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseJson, type Row, readRows } from './read-rows.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-rows-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function rowsOf(content: string | Buffer): Promise<Row[]> {
  const path = join(folder, 'file');
  await writeFile(path, content);
  const rows: Row[] = [];
  for await (const row of readRows(path)) rows.push(row);
  return rows;
}
const valuesOf = async (content: string) => (await rowsOf(content)).map(({ value }) => value);

describe('reading rows', () => {
  test('any array is read element by element, whatever its layout', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue()), fc.constantFrom(0, 2), async (values, indent) => {
        expect(await valuesOf(`\n ${JSON.stringify(values, null, indent)}\n`)).toEqual(JSON.parse(JSON.stringify(values)));
      }),
      { numRuns: 60 },
    );
  });

  test('any objects, one per line, are read line by line, and blank lines do not count', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { minLength: 1 }), async (values) => {
        const text = values.map((value) => JSON.stringify(value)).join('\r\n\n');
        expect(await valuesOf(text)).toEqual(JSON.parse(JSON.stringify(values)));
      }),
      { numRuns: 60 },
    );
  });

  test('any objects over several lines each are read one by one, and a broken first line does not hide the next ones', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), { minLength: 1 }), async (values) => {
        const text = values.map((value) => JSON.stringify(value, null, 2)).join('\n');
        expect(await valuesOf(text)).toEqual(JSON.parse(JSON.stringify(values)));
      }),
      { numRuns: 60 },
    );
    for (const end of ['', '\n', '\r\n']) {
      const text = ['{"messages": [', '{"role": "user"}, {"role": "system"},', '{"role": "assistant"}', ']}', '{"messages": []}'];
      const read = [{ messages: [{ role: 'user' }, { role: 'system' }, { role: 'assistant' }] }, { messages: [] }];
      expect(await valuesOf(`${text.join(end || '\n')}${end}`)).toEqual(read);
      expect(await valuesOf(`{"a":${end || '\n'}{"b": "}"}}${end}`)).toEqual([{ a: { b: '}' } }]);
    }
    expect((await rowsOf('{"a":\n 1}\n\n{\n"b":2}')).map(({ line }) => line)).toEqual([1, 4]);
    for (const rest of ['{"b":1}\n', '{"b":1}', '{"b":1}\n{"c":2}'])
      await expect(rowsOf(`{"a": [\n${rest}`)).rejects.toThrow('line 1: is not UTF-8 JSON');
  });

  test('rows longer than a read buffer, with quotes and brackets in their strings, are read whole', async () => {
    const long = { text: '"]},\\[{ü'.repeat(100_000) };
    expect(await valuesOf(JSON.stringify([long, 1, long]))).toEqual([long, 1, long]);
  });

  test('a row reports the line that it begins on', async () => {
    expect((await rowsOf('[\n{"a":\n1},\n\n{"b":2}]')).map(({ line }) => line)).toEqual([2, 5]);
    expect((await rowsOf('{"a":1}\n\n{"b":2}\n')).map(({ line }) => line)).toEqual([1, 3]);
  });

  test('a row over the limit is refused with what to do', async () => {
    const row = Buffer.concat([Buffer.from('{"a":"'), Buffer.alloc(64 * 1024 * 1024, 'x'), Buffer.from('"}')]);
    await expect(rowsOf(row)).rejects.toThrow('write it as several rows or files (a log of Inspect as .eval)');
  });

  test('numbers that are none become null next to a string of any length, and in strings they stay', () => {
    const long = 'x\n'.repeat(10_000_000);
    const value = { long, said: 'NaN "-Infinity" \\', end: '\\' };
    const text = JSON.stringify({ a: 'A', ...value, b: 'B' })
      .replace('"A"', 'NaN')
      .replace('"B"', '[-Infinity,Infinity]');
    expect(parseJson(Buffer.from(text), 'null')).toEqual({ kind: 'row', value: { a: null, ...value, b: [null, null] } });
  });

  test('a byte order mark is skipped', async () => {
    expect(await valuesOf('\uFEFF[1]')).toEqual([1]);
  });

  test.each([
    ['', 'line 1: is empty'],
    ['  \n', 'line 1: is empty'],
    ['hello', 'line 1: is neither a JSON array nor JSON lines'],
    ['[1, 2', 'cut off inside row 2'],
    ['[1, ', 'cut off after row 1'],
    ['[{"a": "b', 'cut off inside row 1'],
    ['[1,\n,2]', 'line 2: a comma is in the place of a row'],
    ['[1,\n2,]', 'line 2: a comma is in the place of a row'],
    ['[1]\n[2]', 'line 2: something follows the end of the array'],
    ['[1,\n{a}]', 'line 2: is not UTF-8 JSON'],
    ['{"a":1}\n{"b":', 'line 2: is not UTF-8 JSON'],
    ['{\n"a":1\n}\n{\n"b":', 'line 4: the object that begins here is not closed'],
  ])('%j is refused: %s', async (content, message) => {
    await expect(rowsOf(content)).rejects.toThrow(message);
  });

  test('bytes that are not UTF-8 are refused with their line', async () => {
    await expect(rowsOf(Buffer.concat([Buffer.from('{"a":1}\n{"b":"'), Buffer.from([0xff]), Buffer.from('"}')]))).rejects.toThrow(
      'line 2: is not UTF-8 JSON',
    );
  });

  test('a missing file and a folder are one clear error', async () => {
    const read = (path: string) => readRows(path).next();
    await expect(read(join(folder, 'nothing'))).rejects.toThrow('there is no such file');
    await expect(read(folder)).rejects.toThrow('it is a folder');
  });
});
