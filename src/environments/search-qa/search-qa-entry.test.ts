import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startRetrieveServer } from '../../testing/retrieve-server.ts';
import { openEnvironment, parseEnvironment } from '../open-environment.ts';
import { openLocalRetriever } from '../retrieval/local-retriever.ts';
import { generateWorld } from './world/generate-world.ts';

describe('addresses of search environments', () => {
  const usual = { environment: 'search-qa', dialect: 'query', timeout: 60, topk: 3, turns: 4, manner: 'sound' };
  test.each([
    ['search-qa', usual],
    ['search-qa:', usual],
    ['search-qa:seed=7;size=20;turns=3', { ...usual, seed: 7, size: 20, turns: 3 }],
    [
      'search-qa:corpus=a b/c;questions=d.jsonl;topk=5;manner=as-published',
      { ...usual, corpus: 'a b/c', questions: 'd.jsonl', topk: 5, manner: 'as-published' },
    ],
    [
      'search-qa:retriever=http://a:8000/retrieve?x=1,http://b:8000;questions=d.jsonl;dialect=queries;timeout=6',
      {
        ...usual,
        retriever: ['http://a:8000/retrieve?x=1', 'http://b:8000'],
        questions: 'd.jsonl',
        dialect: 'queries',
        timeout: 6,
      },
    ],
  ])('the address %s is read', (text, address) => {
    expect(parseEnvironment(text)).toEqual(address);
  });

  test.each([
    [
      'search-qa:top=5',
      '"top=5" is no option of search-qa; write search-qa[:KEY=VALUE;…]; there are corpus=FOLDER, retriever=URL,…',
    ],
    ['search-qa:corpus', 'is no option'],
    ['search-qa:topk=', 'is no option'],
    ['search-qa:topk=0', 'topk=0 must be a whole number from 1 to 100'],
    ['search-qa:size=1', 'size=1 must be a whole number from 2 to 500'],
    ['search-qa:seed=1;seed=2', 'seed is given twice'],
    ['search-qa:corpus=a', 'a corpus needs questions=FILE'],
    ['search-qa:questions=a', 'questions need corpus=FOLDER or retriever=URL'],
    ['search-qa:corpus=a;retriever=http://b;questions=c', 'exclude each other'],
    ['search-qa:retriever=http://b;hybrid=rrf', 'hybrid=rrf, which needs both'],
    ['search-qa:corpus=a;questions=c;seed=2', 'seed and size are for the generated world'],
    ['search-qa:manner=best', 'manner=best must be sound or as-published'],
  ])('the address %s is refused', (text, message) => {
    expect(() => parseEnvironment(text)).toThrow(message);
  });
});

describe('search environments opened by address', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'search-qa-'));
    await mkdir(join(folder, 'corpus'));
    await writeFile(join(folder, 'corpus', 'birds.txt'), 'The canary comes from the Canary Islands.');
  });
  afterAll(() => rm(folder, { recursive: true }));
  const questionsFile = async (...lines: readonly string[]) => {
    await writeFile(join(folder, 'q.jsonl'), lines.join('\n'));
    return `search-qa:corpus=${join(folder, 'corpus')};questions=${join(folder, 'q.jsonl')}`;
  };

  test('a folder with questions of every shape is played', async () => {
    const kind = await openEnvironment(
      await questionsFile(
        '{"question": "Whence?", "ground_truth": {"target": ["The Canary Islands"]}, "data_source": "nq", "split": "dev"}',
        '{"id": "b", "question": "What?", "golden_answers": ["canary", "bird"]}',
        '{"id": 7, "question": "Who?", "answer": "nobody", "metadata": {}}',
      ),
    );
    expect(kind.taskAliases).toEqual(['1', 'b', '7']);
    const environment = await kind.create();
    expect(await environment.reset({ alias: '1', seed: 0 })).toMatchObject({
      split: 'dev',
      admissibleActions: null,
      depth: null,
    });
    expect(await environment.expertAction?.()).toBeNull();
    expect((await environment.step('<search>canary</search>')).observation).toBe(
      '<information>{"result": "Doc 1: \\"birds\\"\\nThe canary comes from the Canary Islands."}</information>',
    );
    expect(await environment.step('<answer>Canary Islands.</answer>')).toMatchObject({ success: true });
    await kind.close();
  });

  test.each([
    ['no JSON', '{"question": "a", "answer": "b"}\n{', 'q.jsonl:2: is no JSON'],
    ['no question', '{"answer": "b"}', 'q.jsonl:1: is no question: question: '],
    ['no answer', '{"question": "a", "golden_answers": []}', 'q.jsonl:1: has no answer'],
    [
      'an id twice',
      '{"id": 1, "question": "a", "answer": "b"}\n{"id": "1", "question": "a", "answer": "b"}',
      'q.jsonl:2: the id "1" came before',
    ],
    ['an empty file', '', 'holds no question'],
  ])('questions with %s are refused by file and line', async (_what, text, message) => {
    await expect(openEnvironment(await questionsFile(text))).rejects.toMatchObject({
      name: 'EnvironmentError',
      message: expect.stringContaining(message),
    });
  });

  test('a missing file or folder is reported', async () => {
    const form = await questionsFile('{"question": "a", "answer": "b"}');
    await expect(openEnvironment(form.replace('q.jsonl', 'r.jsonl'))).rejects.toThrow('r.jsonl: cannot be read (ENOENT)');
    await expect(openEnvironment(form.replace('corpus;', 'none;'))).rejects.toThrow('none: cannot be read as a folder (ENOENT)');
  });

  test('the planner plays the generated questions over a server that has their corpus', async () => {
    const local = await openLocalRetriever(generateWorld(3, 2).documents);
    const server = await startRetrieveServer(local);
    const kind = await openEnvironment(`search-qa:seed=3;size=2;retriever=${server.url}`);
    try {
      const environment = await kind.create();
      for (const alias of kind.taskAliases.slice(-6)) {
        await environment.reset({ alias, seed: 0 });
        let success: boolean | null = null;
        while (success === null) success = (await environment.step((await environment.expertAction?.()) ?? '')).success;
        expect(success).toBe(true);
      }
    } finally {
      await kind.close();
      await server.close();
    }
    await expect(openEnvironment(`search-qa:seed=3;size=2;retriever=${server.url}`)).rejects.toMatchObject({
      code: 'unreachable',
    });
  });
});
