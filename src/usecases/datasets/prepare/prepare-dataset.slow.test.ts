import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { goldsOf } from '../../../domain/reward/scored-episode.ts';
import { scorerOfSource } from '../../../domain/reward/scorers.ts';
import { readCorpus } from '../../../environments/retrieval/read-corpus.ts';
import { readQuestions } from '../../../environments/search-qa/read-questions.ts';
import { readTasks } from '../../../environments/tool-env/read-tasks.ts';
import type { DatasetError } from '../dataset-error.ts';
import { type PrepareOptions, prepareDataset } from './prepare-dataset.ts';
import { RECIPES } from './recipes.ts';

const FIXTURES = fileURLToPath(new URL('./fixtures', import.meta.url));
let folder: string;
let duckdb: DuckDBInstance;
beforeAll(async () => {
  duckdb = await DuckDBInstance.create(':memory:');
});
afterAll(() => duckdb.closeSync());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-prepare-'));
});
afterEach(() => rm(folder, { recursive: true }));

const out = () => join(folder, 'out');

function prepare(dataset: string, from: string, change: Partial<PrepareOptions> = {}) {
  const recipe = RECIPES[dataset];
  if (recipe === undefined) throw new Error(`no recipe ${dataset}`);
  return prepareDataset({
    recipe,
    from,
    out: out(),
    existing: 'refuse',
    seed: 1,
    train: null,
    test: null,
    malformed: 'refuse',
    instruction: null,
    codeVersion: 'test',
    signal: new AbortController().signal,
    onRow: () => undefined,
    ...change,
  });
}
const fixture = (name: string) => join(FIXTURES, name);
const read = (name: string, from = out()) => readFile(join(from, name), 'utf8');
const tasks = async (): Promise<Record<string, unknown>[]> =>
  (await read('tasks.jsonl'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
async function rows(name: string): Promise<Record<string, unknown>[]> {
  const connection = await duckdb.connect();
  try {
    return (await connection.runAndReadAll(`select * from '${join(out(), name)}'`)).getRowObjectsJson();
  } finally {
    connection.closeSync();
  }
}
const refusal = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'nothing was refused',
    (error: DatasetError) => `${error.code}: ${error.message}`,
  );

describe('data sets prepared from their own files', () => {
  test('HotpotQA takes the answer as ground truth, writes facts as JSON text, and omits unanswered test rows and repeated questions', async () => {
    const manifest = await prepare('hotpotqa', fixture('hotpotqa'));
    expect(manifest.counts).toEqual({
      rows: 21,
      unanswerable: 0,
      withoutAnswer: 1,
      malformed: 0,
      duplicates: 5,
      leaked: 1,
      train: 9,
      test: 5,
    });
    const task = (await tasks()).find(({ id }) => id === '5a7a06935542990000000001');
    expect(task).toEqual({
      id: '5a7a06935542990000000001',
      question: 'Which lake does the river number 1 of the north flow into?',
      ground_truth: 'Lake Ilm 1',
      data_source: 'hotpotqa/hotpot_qa',
      ability: 'multihop_qa',
      split: 'train',
      type: 'bridge',
      level: 'hard',
      supporting_facts: '[["Ilm",0],["The \\"North\\" 1",2]]',
    });
  });

  test('MuSiQue omits questions without an answer in their paragraphs, and accepts aliases', async () => {
    const manifest = await prepare('musique', fixture('musique'));
    expect(manifest.counts).toMatchObject({ rows: 17, unanswerable: 3, withoutAnswer: 1, duplicates: 0, train: 9, test: 4 });
    const all = await tasks();
    expect(all.find(({ id }) => id === '2hop__2_3')?.ground_truth).toEqual(['City 2', 'The City 2', 'C2']);
    expect(all.find(({ id }) => id === '3hop1__50_51')).toMatchObject({
      type: '3hop1',
      supporting_facts: '[["Town 50",0],["Land 50",2]]',
    });
  });

  test('GSM8K takes the last number without commas as ground truth, and names a question by its place', async () => {
    await prepare('gsm8k', fixture('gsm8k'));
    const all = await tasks();
    expect(all.find(({ id }) => id === 'train-3')).toMatchObject({
      ground_truth: '4000',
      data_source: 'openai/gsm8k',
      split: 'train',
    });
    expect(all.find(({ id }) => id === 'test-0')).toMatchObject({ ground_truth: '101000', split: 'test' });
  });

  test.each(['hotpotqa', '2wiki', 'gsm8k'])(
    '%s prepared from Parquet, in any compression, equals the one from JSON',
    async (dataset) => {
      await prepare(dataset, fixture(dataset));
      const files = ['tasks.jsonl', 'train.parquet', 'test.parquet'];
      const fromJson = await Promise.all(files.map((name) => readFile(join(out(), name))));
      await prepare(dataset, fixture(`${dataset}-parquet`), { existing: 'replace' });
      const fromParquet = await Promise.all(files.map((name) => readFile(join(out(), name))));
      expect(fromParquet.map((bytes, i) => bytes.equals(fromJson[i] ?? Buffer.alloc(0)))).toEqual([true, true, true]);
    },
  );
});

describe('the corpus of a data set', () => {
  test.each(['hotpotqa', '2wiki', 'musique'])(
    '%s holds every passage of the drawn questions once, as a search reads it',
    async (dataset) => {
      const { outputs } = await prepare(dataset, fixture(dataset), { train: 2, test: 1 });
      const documents = await readCorpus(join(out(), 'corpus'));
      expect(outputs.find(({ name }) => name === 'corpus/passages.jsonl')?.rows).toBe(documents.length);
      expect(new Set(documents.map(({ contents }) => contents)).size).toBe(documents.length);
      const titles = new Set(documents.map(({ contents }) => contents.split('\n')[0]?.slice(1, -1))); // without its quotes
      for (const { supporting_facts: facts } of await tasks())
        for (const [title] of JSON.parse(String(facts))) expect(titles).toContain(title);
    },
  );

  test.each(['hotpotqa', '2wiki'])('%s gives the same corpus from Parquet', async (dataset) => {
    await prepare(dataset, fixture(dataset));
    const contents = async () => (await readCorpus(join(out(), 'corpus'))).map((document) => document.contents).sort();
    const fromJson = await contents();
    await prepare(dataset, fixture(`${dataset}-parquet`), { existing: 'replace' });
    expect(await contents()).toEqual(fromJson);
  });

  test('questions without passages have no corpus, and a broken one is refused by its row, or left out', async () => {
    expect((await prepare('gsm8k', fixture('gsm8k'))).outputs.map(({ name }) => name)).not.toContain('corpus/passages.jsonl');
    const file = join(folder, 'train.json');
    const row = { question: 'q?', answer: 'a', supporting_facts: [] };
    const context = [['Ilm', [' A lake. ', 'Deep.', '']]];
    await writeFile(
      file,
      JSON.stringify([
        { _id: '1', ...row, question: 'p?', context },
        { _id: '2', ...row, context: [['x', 3]] },
      ]),
    );
    expect(await refusal(prepare('hotpotqa', file, { existing: 'replace' }))).toMatch(
      /^bad-row: .*train.json line 1, row 1: context /,
    );
    await prepare('hotpotqa', file, { existing: 'replace', malformed: 'skip' });
    expect(await read('corpus/passages.jsonl')).toBe('{"id":"0","contents":"\\"Ilm\\"\\nA lake. Deep."}\n');
  });
});

describe('prepared files', () => {
  test.each([
    ['hotpotqa', 'hotpotqa', 'qa-em-format'],
    ['musique', 'musique', 'qa-em-format'],
    ['2wiki', '2wiki', 'qa-em-format'],
    ['gsm8k', 'gsm8k', 'gsm8k-format'],
  ])(
    'the tasks of %s name the data set by which Agent-R1 chooses the scorer, and the scorer finds their answers',
    async (dataset, name, scorer) => {
      await prepare(dataset, fixture(name));
      for (const task of await readTasks(join(out(), 'tasks.jsonl'))) {
        expect(scorerOfSource(task.dataSource).name).toBe(scorer);
        expect(goldsOf(task.groundTruth).length).toBeGreaterThan(0);
      }
    },
  );

  test('verl reads a prompt, a ground truth of one type and the source of the row', async () => {
    await prepare('musique', fixture('musique'), { instruction: 'Be short.', train: 3 });
    const [first, ...others] = await rows('train.parquet');
    const [task] = await tasks();
    expect(others).toHaveLength(2);
    expect(first).toEqual({
      data_source: 'bdsaglam/musique',
      prompt: [{ role: 'user', content: `Question: ${task?.question}\n\nBe short.` }],
      ability: 'multihop_qa',
      reward_model: { style: 'rule', ground_truth: task?.ground_truth },
      extra_info: {
        split: 'train',
        index: '0',
        id: task?.id,
        question: task?.question,
        answer: [task?.ground_truth].flat()[0],
        type: task?.type,
        supporting_facts: task?.supporting_facts,
      },
    });
    expect(await rows('test.parquet')).toHaveLength(4);
  });

  test('our environments read the tasks unchanged', async () => {
    await prepare('musique', fixture('musique'));
    const [line] = await tasks();
    const [question] = await readQuestions(join(out(), 'tasks.jsonl'));
    expect(question).toMatchObject({ alias: line?.id, text: line?.question, targets: line?.ground_truth, split: 'train' });
    const [task] = await readTasks(join(out(), 'tasks.jsonl'));
    expect(task).toMatchObject({
      alias: line?.id,
      groundTruth: line?.ground_truth,
      dataSource: 'bdsaglam/musique',
      split: 'train',
    });
  });

  test('the manifest names its sources, and the same files yield the same bytes in another folder', async () => {
    const first = await prepare('gsm8k', fixture('gsm8k'), { train: 4, test: 2 });
    const copy = join(folder, 'elsewhere');
    await cp(fixture('gsm8k'), copy, { recursive: true });
    const second = await prepare('gsm8k', copy, { train: 4, test: 2, out: join(folder, 'again') });
    expect(second).toEqual(first);
    expect(await read('manifest.json', join(folder, 'again'))).toBe(await read('manifest.json'));
    expect(first.files.map(({ name, side, rows: count }) => [name, side, count])).toEqual([
      ['test.jsonl', 'test', 3],
      ['train.jsonl', 'train', 8],
    ]);
    expect(first.options).toMatchObject({ seed: 1, train: 4, test: 2 });
    expect(first.outputs.map(({ name, rows: count }) => [name, count])).toEqual([
      ['tasks.jsonl', 6],
      ['train.parquet', 4],
      ['test.parquet', 2],
    ]);
  });
});

describe('drawing', () => {
  test('another seed draws other questions, and a larger draw begins with the smaller one', async () => {
    const idsOf = async (change: Partial<PrepareOptions>) => {
      await prepare('hotpotqa', fixture('hotpotqa'), { existing: 'replace', test: 0, ...change });
      return (await tasks()).map(({ id }) => id);
    };
    const five = await idsOf({ train: 5 });
    expect(await idsOf({ train: 8 })).toEqual([...five, expect.anything(), expect.anything(), expect.anything()]);
    expect(await idsOf({ train: 5, seed: 2 })).not.toEqual(five);
  });

  test('a question of the test side is never trained on, drawn for the test or not', async () => {
    await prepare('hotpotqa', fixture('hotpotqa'), { test: 0 });
    expect((await tasks()).map(({ id }) => id)).not.toContain('5a7a06935542990000000003');
  });

  test('a single file is one pool: the test is drawn out of it, and the rest is for training', async () => {
    const manifest = await prepare('hotpotqa', fixture('hotpotqa/hotpot_train_v1.1.json'), { test: 3 });
    expect(manifest.counts).toMatchObject({ train: 7, test: 3 });
    expect(new Set((await tasks()).map(({ id }) => id)).size).toBe(10);
  });

  test('a draw of more than there are is refused', async () => {
    expect(await refusal(prepare('gsm8k', fixture('gsm8k'), { train: 9 }))).toBe(
      'nothing-matches: --train 9 asks for more questions than there are: 8 are left of 11 rows; ask for fewer',
    );
  });
});

describe('refused preparations', () => {
  const write = async (name: string, text: string) => {
    await mkdir(join(folder, 'in'), { recursive: true });
    await writeFile(join(folder, 'in', name), text);
    return join(folder, 'in', name);
  };
  const good = '{"question": "How many?", "answer": "#### 1"}\n';

  test.each<[string, string, string, string]>([
    ['no JSON', 'gsm8k', `${good}{"question": nope}\n`, 'line 2, row 1: the row is not UTF-8 JSON'],
    ['a missing field', 'gsm8k', `${good}${good.replace('question', 'query')}`, 'line 2, row 1: question Invalid input'],
    [
      'an answer without its number',
      'gsm8k',
      '{"question": "q", "answer": "7"}',
      'line 1, row 0: answer does not end in "#### "',
    ],
    [
      'a nested field',
      'hotpotqa',
      '[{"_id": "a", "question": "q", "answer": "b", "supporting_facts": [["A"]]}]',
      'row 0: supporting_facts',
    ],
    [
      'an id of two questions',
      'hotpotqa',
      '[{"_id": "a", "question": "q", "answer": "b"}, {"_id": "a", "question": "r", "answer": "b"}]',
      'row 1: id "a" came before, with another question',
    ],
  ])('%s is refused by file, row and field without leaving anything, or skipped and counted', async (_, dataset, text, said) => {
    const from = await write('train.json', text);
    const message = await refusal(prepare(dataset, from));
    expect(message).toContain(from);
    expect(message).toContain(said);
    expect(await readdir(folder)).toEqual(['in']);
    const more = '{"_id": "z", "question": "And now?", "answer": "Seven. #### 7"}\n';
    const added = await write('train-2.jsonl', more);
    const manifest = await prepare(dataset, join(folder, 'in'), { malformed: 'skip' });
    expect(manifest.counts.malformed).toBe(1);
    expect(manifest.malformed[0]).toContain(said);
    expect(manifest.files.map(({ name }) => name)).toContain(added.slice(join(folder, 'in').length + 1));
  });

  test.each(['refuse', 'skip'] as const)(
    'a truncated file is refused, also where broken rows are skipped (%s)',
    async (malformed) => {
      const from = await write('train.json', '[{"_id": "a", "question": "q", "answer": "b"}, {"_id": "b", "ques');
      expect(await refusal(prepare('hotpotqa', from, { malformed }))).toContain('cut off inside row 2');
      const cut = join(folder, 'in', 'train.parquet');
      await writeFile(cut, (await readFile(fixture('2wiki-parquet/train.parquet'))).subarray(0, 3_000));
      expect(await refusal(prepare('2wiki', cut, { malformed }))).toContain(`cannot read ${cut} as Parquet`);
      expect(await readdir(folder)).toEqual(['in']);
    },
  );

  test('files of another data set, an empty folder and a missing path are refused', async () => {
    expect(await refusal(prepare('hotpotqa', fixture('hotpotqa/hotpot_test_fullwiki_v1.json')))).toContain(
      'of 1 rows none is a question with an answer',
    );
    expect(await refusal(prepare('gsm8k', folder))).toContain('holds no .json, .jsonl or .parquet file whose name says train');
    expect(await refusal(prepare('gsm8k', join(folder, 'nowhere')))).toContain('there is nothing of that name');
  });

  test('an existing folder is replaced by --force if it is one of ours, and never otherwise', async () => {
    await prepare('gsm8k', fixture('gsm8k'));
    const before = await read('manifest.json');
    expect(await refusal(prepare('gsm8k', fixture('gsm8k'), { seed: 2 }))).toContain('replace it with --force');
    expect(await read('manifest.json')).toBe(before);
    await prepare('gsm8k', fixture('gsm8k'), { seed: 2, existing: 'replace' });
    expect(await read('manifest.json')).not.toBe(before);
    await mkdir(join(folder, 'home'));
    await writeFile(join(folder, 'home', 'letters.txt'), 'dear');
    expect(await refusal(prepare('gsm8k', fixture('gsm8k'), { existing: 'replace', out: join(folder, 'home') }))).toContain(
      'was not made by this command',
    );
    expect((await readdir(folder)).sort()).toEqual(['home', 'out']);
  });

  test('a stopped preparation leaves nothing behind', async () => {
    const stopping = new AbortController();
    const work = prepare('gsm8k', fixture('gsm8k'), {
      signal: stopping.signal,
      onRow: () => stopping.abort(new Error('enough')),
    });
    expect(await refusal(work)).toContain('enough');
    expect(await readdir(folder)).toEqual([]);
  });
});
