import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Command } from 'commander';
import { newId } from '../events/new-id.ts';
import type { Platform } from '../platform/open-platform.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { type OpenAiServer, startOpenAiServer } from '../testing/openai-server.ts';
import { textCraftAgent } from '../testing/textcraft-agent.ts';
import { ROW_FORMATS } from '../usecases/datasets/rows/row-options.ts';
import { addCollect } from './collect.ts';
import { addDataset } from './dataset.ts';
import { addExport } from './export.ts';
import { addRevise } from './revise.ts';

let platform: Platform & { readonly home: string };
let server: OpenAiServer;
const kept = { ...process.env };
beforeAll(async () => {
  server = await startOpenAiServer({ model: 'crafter', reply: textCraftAgent });
});
afterAll(() => server.close());
beforeEach(async () => {
  platform = await openTestPlatform();
  Object.assign(process.env, environmentOf(platform));
});
afterEach(async () => {
  process.env = { ...kept };
  await platform.close();
});

/** Runs a command in this process, from its words to what it prints. */
async function espalier(...words: string[]): Promise<string> {
  const program = new Command('espalier').option('--json').exitOverride();
  for (const add of [addCollect, addRevise, addDataset, addExport]) add(program);
  let printed = '';
  const outputs = [process.stdout, process.stderr].map((stream) =>
    jest.spyOn(stream, 'write').mockImplementation((text) => {
      if (stream === process.stdout) printed += String(text);
      return true;
    }),
  );
  try {
    await program.parseAsync(words, { from: 'user' });
  } finally {
    for (const output of outputs) output.mockRestore();
  }
  return printed;
}

/** The sequence of the README: search, revise, release, export in every format. */
async function sequence(collecting: readonly string[], judge: string) {
  const run = newId();
  const file = (name: string) => join(platform.home, `${name}.jsonl`);
  const rows = (name: string): readonly Record<string, unknown>[] =>
    readFileSync(file(name), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)); // as they were written
  const collected = JSON.parse(await espalier('--json', 'collect', '--search', 'mcts', '--run', run, ...collecting));
  const revised = JSON.parse(await espalier('--json', 'revise', '--run', run, '--judge', judge));
  const released = JSON.parse(
    await espalier('--json', 'dataset', 'release', '--name', 'textcraft', '--run', run, '--out', file('release')),
  );
  for (const format of ROW_FORMATS)
    await espalier('export', '--run', run, '--format', format, '--data', 'revisions', '--context', 'keep', '--out', file(format));
  return { run, collected, revised, released, rows };
}

const SMALL = ['--task', '5', '10', '77', '--iterations', '4', '--candidates', '2', '--max-depth', '8'];
const TIGHT = ['--task', '5', '10', '77', '--iterations', '4', '--candidates', '3', '--max-depth', '5'];

async function faults(): Promise<readonly unknown[]> {
  const { db } = platform.database;
  return [
    ...(await db.selectFrom('anomalies').selectAll().execute()),
    ...(await db.selectFrom('quarantine').selectAll().execute()),
  ];
}

describe('search, revision, release and export from the command line', () => {
  test.each([
    ['the linear policy, judged by the planner', () => ['--policy', 'linear', ...SMALL], 'planner'],
    [
      'a model behind an OpenAI-compatible server, judged by itself',
      () => ['--policy', `openai:crafter@${server.url}`, ...TIGHT],
      'self',
    ],
  ])('one command each searches, revises, releases and exports with %s', async (_, collecting, judge) => {
    const { run, collected, revised, released, rows } = await sequence(collecting(), judge);
    expect(collected).toMatchObject({ run, state: 'completed', trees: 3 });
    expect(revised).toMatchObject({ run, state: 'completed', trees: 3 });
    expect(revised.verified).toBeGreaterThan(0);
    expect(released).toMatchObject({
      kind: 'released',
      dataset: { name: 'textcraft', version: 1, format: 'xtuner', runs: [run] },
    });
    const { counts } = released.dataset;
    expect(rows('release')).toHaveLength(counts.lines);
    expect(counts.good).toBeGreaterThan(0);
    expect(counts.revisions).toBeGreaterThan(0);
    for (const format of ROW_FORMATS) {
      const written = rows(format);
      expect(written.length).toBeGreaterThan(0);
      const sources = written.map(({ metadata }) => metadata as { kind: string; state: string; run: string }); // `RowSource`
      expect(new Set(sources.map(({ kind, state, run: from }) => `${kind} ${state} ${from}`))).toEqual(
        new Set([`revision verified ${run}`]),
      );
    }
    const examples = await platform.database.db.selectFrom('datasetExamples').selectAll().execute();
    expect(examples).toHaveLength(counts.good + counts.revisions);
    expect(await faults()).toEqual([]);
  });
});

test('a collection whose model answers nonsense reports how many rollouts failed, and why', async () => {
  server.fail({ kind: 'body', body: '{"choices": "none"}' });
  const policy = JSON.stringify({ kind: 'openai', baseUrl: server.url, model: 'crafter', attempts: 1 });
  const printed = await espalier('collect', '--policy', policy, '--tasks', '1', '--rollouts', '2', '--concurrency', '1');
  expect(printed).toMatch(/completed: 2 rollouts, .*\n1 of 2 rollouts failed: .*choices/);
});
