import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { tinyIds, writeTinyTokenizer } from '../../../testing/tiny-tokenizer.ts';
import { missingTokenizers, openTokenDecoder, tokenDecoders } from './token-decoder.ts';

let folder: string;
beforeAll(async () => {
  folder = await writeTinyTokenizer(await mkdtemp(join(tmpdir(), 'espalier-decoder-')));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('a token within a character has no text, and the one that completes it has the whole', async () => {
  const decoder = await openTokenDecoder(folder);
  const text = 'a é🌳 b<|im_end|>';
  expect(decoder.texts(tinyIds(text))).toEqual(['a', ' ', '', 'é', '', '', '', '🌳', ' ', 'b', '<|im_end|>']);
  expect(decoder.texts([])).toEqual([]);
  expect(decoder.split('a é<|im_end|>')).toEqual(['a', ' ', '', 'é', '<|im_end|>']);
  expect(decoder.split('')).toEqual([]);
});

test('the texts of tokens are the text, one behind the other, however many there are', async () => {
  const decoder = await openTokenDecoder(folder);
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (text) => {
      fc.pre(!text.includes('\ufffd') && text.isWellFormed?.() !== false);
      const texts = decoder.texts(tinyIds(text));
      return texts.join('') === text && texts.length === Buffer.byteLength(text);
    }),
    { numRuns: 50 },
  );
});

test('a tokenizer is found by the first name that the installation knows, and one that cannot be read is named by its file', async () => {
  const find = tokenDecoders({ known: folder, broken: join(folder, 'nothing') });
  expect(await find(['unknown'])).toBeNull();
  expect((await find(['unknown', 'known']))?.texts(tinyIds('ok'))).toEqual(['o', 'k']);
  await expect(find(['broken'])).rejects.toThrow(/nothing.tokenizer\.json cannot be read as a tokenizer/);
  const late = tokenDecoders({ late: join(folder, 'late') });
  await expect(late(['late'])).rejects.toThrow(/cannot be read/);
});

test('a broken tokenizer.json is refused by its file', async () => {
  const broken = await mkdtemp(join(tmpdir(), 'espalier-decoder-'));
  await writeFile(join(broken, 'tokenizer.json'), '{');
  await expect(openTokenDecoder(broken)).rejects.toThrow(/tokenizer\.json cannot be read/);
  await rm(broken, { recursive: true, force: true });
});

test('a folder that holds tokenizer.json alone is enough, and one without it is named with the remedy as a server starts', async () => {
  const alone = await mkdtemp(join(tmpdir(), 'espalier-decoder-'));
  try {
    await copyFile(join(folder, 'tokenizer.json'), join(alone, 'tokenizer.json'));
    expect((await openTokenDecoder(alone)).texts(tinyIds('é ok'))).toEqual(['', 'é', ' ', 'o', 'k']);
    const gone = join(alone, 'gone');
    expect(missingTokenizers({ known: alone, gone })).toEqual([
      `the texts of tokens of gone stay unknown: there is no ${join(gone, 'tokenizer.json')}; ${REMEDY}`,
    ]);
    await expect(openTokenDecoder(gone)).rejects.toThrow(REMEDY);
    await writeFile(join(alone, 'tokenizer.json'), '{"model":{"type":"Nothing"}}');
    await expect(openTokenDecoder(alone)).rejects.toThrow(/tokenizer\.json cannot be read as a tokenizer: .*; name a folder/);
  } finally {
    await rm(alone, { recursive: true, force: true });
  }
});

const REMEDY =
  'name a folder with tokenizer.json in ESPALIER_TOKENIZERS; `AutoTokenizer.from_pretrained(MODEL).save_pretrained(FOLDER)` writes one';
