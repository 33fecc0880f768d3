import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fingerprintCorpus, openLocalRetriever } from './local-retriever.ts';
import { cutPassages } from './passages.ts';
import { readCorpus } from './read-corpus.ts';

describe('search in memory', () => {
  test('the document with the rarer words of the query ranks first', async () => {
    const retriever = await openLocalRetriever([
      { id: 'a', contents: 'The harbour of Tolmar.' },
      { id: 'b', contents: 'The harbour of Kessin is old.' },
      { id: 'c', contents: 'The harbour of Lund.' },
    ]);
    const [found] = await retriever.search(['harbour KESSIN'], 2);
    expect(found?.map(({ id }) => id)).toEqual(['b', 'a']);
    expect(found?.[0]?.score).toBeGreaterThan(found?.[1]?.score ?? Number.NaN);
  });

  test('equal scores are ordered by id, whatever the order of the documents', async () => {
    const documents = ['d', 'b', 'a', 'c'].map((id) => ({ id, contents: 'the same words' }));
    for (const order of [documents, documents.toReversed()]) {
      const [found] = await (await openLocalRetriever(order)).search(['words'], 3);
      expect(found?.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    }
  });

  test('words of any script are found, in any case and compatibility form', async () => {
    const retriever = await openLocalRetriever([
      { id: 'el', contents: 'Η Αθήνα' },
      { id: 'ja', contents: '東京 は 首都' },
      { id: 'lig', contents: 'a ﬁne day' },
    ]);
    const found = await retriever.search(['ΑΘΉΝΑ', '首都', 'FINE'], 1);
    expect(found.map((documents) => documents[0]?.id)).toEqual(['el', 'ja', 'lig']);
  });

  test('words of scripts without spaces are found inside sentences, alone or next to other scripts', async () => {
    const retriever = await openLocalRetriever([
      { id: 'ja', contents: '東京は日本の首都です。人口は2024年に1400万人。' },
      { id: 'kyoto', contents: '京都は日本の古い首都でした。' },
      { id: 'zh', contents: '我爱北京天安门。iPhone的价格' },
      { id: 'ko', contents: '서울은 대한민국의 수도이다' },
      { id: 'th', contents: 'กรุงเทพเป็นเมืองหลวง' },
    ]);
    const queries = ['東京', '京都', '天安门', '서울', 'เมือง', 'iphone 价格', '2024', 'コンピューター'];
    const found = await retriever.search(queries, 1);
    expect(found.map((documents) => documents[0]?.id)).toEqual(['ja', 'kyoto', 'zh', 'ko', 'th', 'zh', 'ja', undefined]);
    const [one] = await retriever.search(['爱'], 5);
    expect(one?.map(({ id }) => id)).toEqual(['zh']);
  });

  test.each([
    ['Straße', 'STRASSE'],
    ['straße', 'strasse'],
    ['İstanbul', 'istanbul'],
    ['Istanbul', 'İSTANBUL'],
    ['ΟΔΟΣ', 'οδοσ'],
    ['ŒUVRE', 'œuvre'],
    ['ﬁne', 'FINE'],
  ])('%s is found by %s, since case is folded completely', async (written, asked) => {
    const retriever = await openLocalRetriever([
      { id: 'other', contents: 'nothing of it' },
      { id: 'this', contents: `the word ${written} here` },
    ]);
    expect((await retriever.search([asked], 1))[0]?.[0]?.id).toBe('this');
  });

  test('a word counts once, however often a query repeats it', async () => {
    const retriever = await openLocalRetriever([
      { id: 'a', contents: 'x' },
      { id: 'b', contents: 'y y' },
    ]);
    expect(await retriever.search(['y y y x'], 2)).toEqual(await retriever.search(['x y'], 2));
  });

  test('any query returns documents of the corpus, best first, or none', async () => {
    const retriever = await openLocalRetriever([
      { id: 'a', contents: 'constructor __proto__ toString' },
      { id: 'b', contents: 'x y z' },
    ]);
    expect(await retriever.search(['', '?!', 'unknown', 'x '.repeat(500_000)], 5)).toMatchObject([[], [], [], [{ id: 'b' }]]);
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), async (query) => {
        const [found = []] = await retriever.search([query], 5);
        expect(found.map(({ score }) => score)).toEqual(found.map(({ score }) => score).toSorted((p, q) => (q ?? 0) - (p ?? 0)));
      }),
    );
    expect((await retriever.search(['__proto__'], 1))[0]?.[0]?.id).toBe('a');
  });

  test('the fingerprint changes for a corpus whose words are cut differently than before, and for no other', () => {
    const plain = [{ id: 'a', contents: 'The harbour of Tolmar, Ärger und Öl.' }];
    expect(fingerprintCorpus(plain)).toBe('ee03b54132ea38f98a7f7052c4b8c38a9457eb010707d86c84af40a0cc32a84a');
    for (const [contents, digest] of [
      ['Die Straße', 'f8c7db2d9233a8aa8e66f4dda9d2f2fe1abfa991aed7af28211c294f94ef5704'],
      ['東京', 'cb8323ad06335115eabceb24ddab5f1f002210210fe4a21d5be20007d4548859'],
    ])
      expect(fingerprintCorpus([{ id: 'a', contents: contents ?? '' }])).toBe(digest);
  });

  test('the fingerprint depends on every document and not on their order', () => {
    const documents = [
      { id: '1', contents: 'one' },
      { id: '2', contents: 'two' },
    ];
    expect(fingerprintCorpus(documents.toReversed())).toBe(fingerprintCorpus(documents));
    expect(fingerprintCorpus([{ id: '1', contents: 'One' }, ...documents.slice(1)])).not.toBe(fingerprintCorpus(documents));
    expect(documents.map(({ id }) => id)).toEqual(['1', '2']);
  });
});

describe('corpus folders', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corpus-'));
  });
  afterEach(() => rm(folder, { recursive: true }));
  const given = async (name: string, text: string) => {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  };

  test('lines, texts and nested folders become documents; other and hidden files do not', async () => {
    await given('b.jsonl', '\uFEFF{"id": 5, "contents": "five"}\r\n\n{"title": "Six", "text": "six words"}');
    await given('a/tale-of-two.txt', 'It was.\n');
    await given('readme.md', '# Notes\n\nOne.\n');
    await given('picture.png', 'no');
    await given('.git/notes.md', 'no');
    expect(await readCorpus(folder)).toEqual([
      { id: 'a/tale-of-two.txt#1', contents: '"tale of two"\nIt was.' },
      { id: '5', contents: 'five' },
      { id: 'b.jsonl:3', contents: '"Six"\nsix words' },
      { id: 'readme.md#1', contents: '"Notes"\n# Notes One.' },
    ]);
  });

  test.each([
    ['not JSON', '{"id": "1", "contents": "x"}\n{"id": ', 'c.jsonl:2: is no JSON'],
    ['no document', '{"name": "x"}', 'c.jsonl:1: is no document {"id", "contents"} or {"title", "text"}'],
    ['no object', '7', 'c.jsonl:1: is no document'],
    ['empty contents', '{"id": "1", "contents": ""}', 'c.jsonl:1: is no document'],
    ['an id twice', '{"id": 1, "contents": "x"}\n{"id": "1", "contents": "y"}', 'c.jsonl:2: the id "1" is that of'],
    ['a line without end', `{"id": "1", "contents": "${'x'.repeat(5 * 1024 * 1024)}`, 'c.jsonl:1: is longer than'],
    ['nothing', '\n\n', 'holds no .jsonl, .txt or .md file with text'],
  ])('a corpus with %s is refused by file and line', async (_what, text, message) => {
    await given('c.jsonl', text);
    await expect(readCorpus(folder)).rejects.toMatchObject({ name: 'CorpusError', message: expect.stringContaining(message) });
  });

  test('too many documents, an oversized text and a missing folder are refused', async () => {
    await given('c.jsonl', '{"contents": "x"}\n{"contents": "y"}\n{"contents": "z"}');
    await expect(readCorpus(folder, { documents: 2 })).rejects.toThrow('c.jsonl:3: the corpus has more than 2 documents');
    await given('d.txt', 'x'.repeat(100));
    await expect(readCorpus(folder, { fileBytes: 99 })).rejects.toThrow('d.txt: has 100 bytes, more than 99');
    await expect(readCorpus(join(folder, 'none'))).rejects.toThrow('cannot be read as a folder (ENOENT)');
  });

  test('passages have at most 100 words and lose none', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.constantFrom('one', 'two', 'three'), { maxLength: 250 }), { maxLength: 6 }),
        (paragraphs) => {
          const passages = cutPassages('x.txt', paragraphs.map((words) => words.join(' ')).join('\n\n'));
          const words = passages.map(({ contents }) => contents.replace('"x"\n', '').split(' '));
          expect(words.flat()).toEqual(paragraphs.flat());
          for (const passage of words) expect(passage.length).toBeLessThanOrEqual(100);
          expect(new Set(passages.map(({ id }) => id)).size).toBe(passages.length);
        },
      ),
    );
  });
});
