import { appendFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Database, openDatabase } from '../../postgres/database.ts';
import { arbitraryRecord } from '../../testing/arbitrary-record.ts';
import { createTestDatabase, type TestDatabase } from '../../testing/database.ts';
import { MemoryBlobs } from '../../testing/memory-blobs.ts';
import { givenPrepared, projectingAppender } from '../../testing/projecting-log.ts';
import { emptyReadModels, readModels } from '../../testing/read-models.ts';
import { Story } from '../../testing/story.ts';
import { exportTrajectories } from '../export/export-trajectories.ts';
import type { ExportFormat } from '../export/format.ts';
import { parseTrajectoryQuery, type QueryTexts } from '../export/trajectory-query.ts';
import { type ImportOptions, type ImportReport, importTrajectories } from './import-trajectories.ts';
import { agentTrajDefaults } from './survey-agent-traj.ts';

let testDatabase: TestDatabase;
let database: Database;
let folder: string;
let blobs: MemoryBlobs;
let file: string;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase(testDatabase.url);
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});
beforeEach(async () => {
  await emptyReadModels(database.db);
  blobs = new MemoryBlobs();
  folder = await mkdtemp(join(tmpdir(), 'espalier-import-'));
  file = join(folder, 'source');
});
afterEach(() => rm(folder, { recursive: true }));

const allEvents: ExportFormat = { kind: 'jsonl', scope: 'trajectories' };

async function exportTo(name: string, format: ExportFormat = allEvents, texts: QueryTexts = {}): Promise<string> {
  const out = join(folder, name);
  await exportTrajectories({
    db: database.db,
    blobs,
    query: parseTrajectoryQuery(texts),
    format,
    out,
    existing: 'replace',
    empty: 'allow',
    codeVersion: 'test',
    waitMs: 2_000,
    signal: new AbortController().signal,
    onProgress: () => undefined,
  });
  return out;
}

async function importing(change: Partial<ImportOptions> = {}): Promise<ImportReport> {
  const appender = projectingAppender(database.db, blobs);
  const signal = new AbortController().signal;
  const defaults = { source: file, db: database.db, appender, agentTraj: agentTrajDefaults, signal, onProgress: () => undefined };
  return importTrajectories({ ...defaults, ...change });
}

async function startAnew(): Promise<void> {
  await emptyReadModels(database.db);
  blobs = new MemoryBlobs();
}

describe('our own JSONL', () => {
  test.each(['trajectories', 'trees'] as const)(
    'any record: export → import into an empty one → export gives equal bytes (%s)',
    async (scope) => {
      const format: ExportFormat = { kind: 'jsonl', scope };
      await fc.assert(
        fc.asyncProperty(arbitraryRecord, async (events) => {
          await startAnew();
          await givenPrepared(database.db, events, blobs);
          const first = await readFile(await exportTo('first', format));
          await startAnew();
          await importing({ source: join(folder, 'first') });
          const second = await readFile(await exportTo('second', format));
          expect(second.equals(first)).toBe(true);
        }),
        { numRuns: 12 },
      );
    },
  );

  test('any record: whole trees come back as the same read models, and every chat format gives the same bytes', async () => {
    const formats: ExportFormat[] = [
      { kind: 'openai', weights: 'own', metadata: 'include' },
      { kind: 'sharegpt', weights: 'policy' },
      { kind: 'parquet', weights: 'policy' },
    ];
    const volatile = ['log_offset', 'offset', 'position', 'sequence', 'producer', 'body'];
    await fc.assert(
      fc.asyncProperty(arbitraryRecord, async (events) => {
        // A tree that no finished rollout stands in is not exported; every tree here gets one.
        await startAnew();
        await givenPrepared(database.db, events, blobs);
        const before = await Promise.all([
          ...formats.map((format) => exportTo(format.kind, format)),
          exportTo('all', { kind: 'jsonl', scope: 'trees' }),
        ]);
        const models = await readModels(database.db, volatile);
        const files = await Promise.all(before.map((path) => readFile(path)));
        await startAnew();
        await importing({ source: join(folder, 'all') });
        const after = await readModels(database.db, volatile);
        for (const [i, format] of formats.entries()) {
          const again = await readFile(await exportTo(`${format.kind}-again`, format));
          expect(again.equals(files[i] ?? Buffer.alloc(0))).toBe(true);
        }
        const finished = new Set((await treesWithTrajectories()).map(({ tree_id }) => tree_id));
        for (const table of [
          'trees',
          'steps',
          'rollouts',
          'rewards',
          'reward_revisions',
          'returns',
          'backups',
          'node_statistics',
          'tool_calls',
        ])
          expect(after[table]).toEqual(models[table]?.filter((row) => finished.has(JSON.parse(row).tree_id)));
      }),
      { numRuns: 12 },
    );
  });

  const treesWithTrajectories = () =>
    database.db.selectFrom('rollouts').select('tree_id').where('finished_at', 'is not', null).execute();

  test('a filtered export takes the prefix that another rollout walked, and comes back as it is', async () => {
    const told = new Story();
    const tree = told.tree(told.run());
    const guide = told.rollout(tree, 0);
    const shared = told.step(tree, guide, tree.rootStepId, 1);
    const own = told.step(tree, guide, shared, 2);
    told.reward(tree, shared, 0.5);
    told.reward(tree, own, 1);
    told.finishRollout(tree, guide, own);
    const branch = told.rollout(tree, 1, { fromStepId: shared });
    const leaf = told.step(tree, branch, shared, 2);
    told.finishRollout(tree, branch, leaf, { success: false });
    told.reward(tree, null, -1, { rolloutId: branch });
    await givenPrepared(database.db, told.events, blobs);
    const failed = { success: 'false' };
    const first = await readFile(await exportTo('first', allEvents, failed), 'utf8');
    const steps = first.split('\n').filter((line) => line.includes('"StepTaken"'));
    expect(steps.map((line) => JSON.parse(line).data.stepId)).toEqual([shared, leaf]);
    expect(first).not.toContain(own);
    await startAnew();
    const report = await importing({ source: join(folder, 'first') });
    expect(report).toMatchObject({ source: 'events', trees: 1, rollouts: 2, steps: 2, alreadyThere: 0 });
    expect(await database.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
    expect(await readFile(await exportTo('second', allEvents, failed), 'utf8')).toBe(first);
  });

  test('importing into the record it came from, or twice, appends nothing', async () => {
    const [events] = fc.sample(arbitraryRecord, { numRuns: 1, seed: 7 });
    await givenPrepared(database.db, events ?? [], blobs);
    const source = await exportTo('all', { kind: 'jsonl', scope: 'trees' });
    const before = await readModels(database.db);
    const appender = projectingAppender(database.db, blobs);
    const report = await importing({ source, appender });
    expect(report.events).toBeGreaterThan(0);
    expect(report.alreadyThere).toBe(report.events);
    expect(report.receipts).toEqual([]);
    expect(appender.appended).toEqual([]);
    expect(await readModels(database.db)).toEqual(before);
  });

  test('an import that was stopped in the middle goes on where it ended', async () => {
    const told = new Story();
    const runId = told.run();
    for (let i = 0; i < 200; i++) told.walk(told.tree(runId, `task ${i}`), 0, 2, 1);
    await givenPrepared(database.db, told.events, blobs);
    const source = await exportTo('all');
    const before = await readFile(source);
    await startAnew();
    const stop = new AbortController();
    const onProgress: ImportOptions['onProgress'] = (progress) => {
      if (progress.kind === 'appending') stop.abort();
    };
    await expect(importing({ source, signal: stop.signal, onProgress })).rejects.toThrow('aborted');
    const report = await importing({ source });
    expect(report.alreadyThere).toBe(500);
    expect(report.events).toBe(1 + 200 * 6);
    expect((await readFile(await exportTo('again'))).equals(before)).toBe(true);
  });

  describe('is refused whole, and nothing is appended, when', () => {
    async function refusal(edit: (lines: string[]) => string[]): Promise<string> {
      const told = new Story();
      const tree = told.tree(told.run());
      told.walk(tree, 0, 2, 1);
      await givenPrepared(database.db, told.events, blobs);
      const lines = (await readFile(await exportTo('good'), 'utf8')).trimEnd().split('\n');
      await startAnew();
      await writeFile(file, `${edit(lines).join('\n')}\n`);
      const appender = projectingAppender(database.db, blobs);
      const message = await importing({ appender }).then(
        () => 'imported',
        (error: Error) => error.message,
      );
      expect(appender.appended).toEqual([]);
      return message;
    }
    const change = (i: number, from: RegExp, to: string) => (lines: string[]) =>
      lines.map((line, k) => (k === i ? line.replace(from, to) : line));

    // 1 header, 2 run, 3 tree, 4 rollout, 5 and 6 steps, 7 reward, 8 end of rollout, 9 the end
    test.each<[string, (lines: string[]) => string[], string]>([
      ['its last line is missing', (lines) => lines.slice(0, -1), 'line 8: the file is cut off after 7 events'],
      [
        'lines are missing',
        (lines) => lines.filter((_, i) => i !== 6),
        'line 8: the file ends with 6 events where it should hold 7',
      ],
      ['it is cut inside a line', (lines) => [...lines.slice(0, 4), lines[4]?.slice(0, 50) ?? ''], 'line 5: is not UTF-8 JSON'],
      ['something follows its end', (lines) => [...lines, lines[1] ?? ''], 'line 10: something follows'],
      ['its version is another', change(0, /"version":1/, '"version":2'), 'line 1: the file has version 2 of espalier-events'],
      ['a type is unknown', change(4, /"StepTaken"/, '"StepTook"'), 'line 5: type "StepTook" is not in the catalogue'],
      ['a field is of another kind', change(4, /"depth":1/, '"depth":"1"'), 'line 5: data.depth'],
      ['a depth does not follow', change(5, /"depth":2/, '"depth":3'), 'line 6: StepTaken'],
      ['a step is missing', (lines) => lines.filter((_, i) => i !== 4), 'has no step'],
      ['a step stands before its parent', (lines) => lines.toSpliced(4, 2, lines[5] ?? '', lines[4] ?? ''), 'line 5: StepTaken'],
      ['an event stands twice', (lines) => lines.toSpliced(5, 0, lines[4] ?? ''), 'line 6: StepTaken'],
      ['a tree was not opened', (lines) => lines.filter((_, i) => i !== 2), 'line 3: RolloutStarted'],
    ])('%s', async (_, edit, message) => {
      expect(await refusal(edit)).toContain(message);
    });
  });

  test('another fact under an id of the record is a conflict that names it, and nothing is appended', async () => {
    const told = new Story();
    told.walk(told.tree(told.run()), 0, 1, 1);
    await givenPrepared(database.db, told.events, blobs);
    const text = await readFile(await exportTo('good'), 'utf8');
    await writeFile(file, text.replace('Inventory: You are not', 'Inventory: You were not'));
    const appender = projectingAppender(database.db, blobs);
    await expect(importing({ appender })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('another StepTaken'),
    });
    expect(appender.appended).toEqual([]);
  });
});

describe('AgentTraj files', () => {
  const item = (n: number, change: object = {}) => ({
    item_id: `textcraft_${n}`,
    conversations: [
      { from: 'human', loss: null, value: 'You craft.' },
      { from: 'gpt', loss: false, value: 'OK. I’ll follow.' },
      { from: 'human', loss: null, value: `Goal: craft ${n}.` },
      { from: 'gpt', loss: true, value: 'Thought:\nlook\n\nAction:\ninventory' },
      { from: 'human', loss: null, value: 'Inventory: nothing' },
      { from: 'gpt', loss: false, value: 'mumble' },
      { from: 'human', loss: null, value: 'Could not execute' },
      { from: 'gpt', loss: true, value: 'Thought:\nget\n\nAction:\nget 1 log' },
    ],
    ...change,
  });
  const write = (items: readonly unknown[]) => writeFile(file, JSON.stringify(items, null, 2));

  test('an item becomes a rollout of its task: a step per reply, the loss flag kept, reward and success where the file has them', async () => {
    await write([item(3, { reward: 50, success: 1 }), { item_id: 'textcraft_4', conversations: null }]);
    const report = await importing({ agentTraj: { ...agentTrajDefaults, rewardScale: 100, split: 'train' } });
    expect(report).toMatchObject({
      source: 'agent-traj',
      trees: 1,
      rollouts: 1,
      steps: 3,
      withoutConversation: 1,
      alreadyThere: 0,
    });
    const run = await database.db.selectFrom('runs').selectAll().executeTakeFirstOrThrow();
    expect(run).toMatchObject({ run_id: report.runs[0], kind: 'import', outcome: 'completed', policy_id: 'agent-traj' });
    const tree = await database.db.selectFrom('trees').selectAll().executeTakeFirstOrThrow();
    expect(tree).toMatchObject({
      environment: 'textcraft',
      alias: '3',
      instruction: 'You craft.',
      split: 'train',
      planned_rollouts: 1,
    });
    expect(tree.closed_at).toEqual(new Date(0));
    const steps = await database.db.selectFrom('steps').selectAll().orderBy('depth').execute();
    expect(
      steps.map(({ depth, thought, action, observation, well_formatted, termination, policy_spans }) => ({
        ...{ depth, thought, action, observation, well_formatted, termination, policy: policy_spans[0]?.policyId },
      })),
    ).toEqual([
      {
        depth: 0,
        thought: '',
        action: '',
        observation: 'Goal: craft 3.',
        well_formatted: true,
        termination: 'none',
        policy: undefined,
      },
      {
        depth: 1,
        thought: 'look',
        action: 'inventory',
        observation: 'Inventory: nothing',
        well_formatted: true,
        termination: 'none',
        policy: 'agent-traj',
      },
      {
        depth: 2,
        thought: 'mumble',
        action: '',
        observation: 'Could not execute',
        well_formatted: false,
        termination: 'none',
        policy: 'agent-traj:context',
      },
      {
        depth: 3,
        thought: 'get',
        action: 'get 1 log',
        observation: '',
        well_formatted: true,
        termination: 'terminated',
        policy: 'agent-traj',
      },
    ]);
    const reward = await database.db.selectFrom('rewards').selectAll().executeTakeFirstOrThrow();
    expect(reward).toMatchObject({ component: 'environment', value: 0.5, raw: { value: 50, scale: 100, kind: 'final' } });
    expect(await database.db.selectFrom('rollouts').select(['outcome', 'success', 'steps']).execute()).toEqual([
      { outcome: 'terminated', success: true, steps: 3 },
    ]);
    expect(await database.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
  });

  test('any file: what is exported as AgentTraj holds the conversations that were imported, loss flags included', async () => {
    const value = fc.string({ unit: 'binary', maxLength: 20 }).map((s) => s.replaceAll('\0', '0'));
    const pairs = fc.array(fc.record({ observation: value, response: value, loss: fc.boolean() }), {
      minLength: 1,
      maxLength: 5,
    });
    const anyItem = fc
      .record({ n: fc.nat(5), instruction: value.filter((s) => s !== ''), pairs })
      .map(({ n, instruction, pairs: all }) => ({
        item_id: `webshop_${n}`,
        conversations: [
          { from: 'human', loss: null, value: instruction },
          { from: 'gpt', loss: false, value: 'Ok!' },
          ...all.flatMap(({ observation, response, loss }) => [
            { from: 'human', loss: null, value: observation },
            { from: 'gpt', loss, value: response },
          ]),
        ],
      }));
    await fc.assert(
      fc.asyncProperty(fc.array(anyItem, { minLength: 1, maxLength: 6 }), async (items) => {
        await startAnew();
        await write(items);
        await importing();
        const out = await readFile(await exportTo('back', { kind: 'sharegpt', weights: 'policy' }), 'utf8');
        const texts = (of: readonly { item_id: string; conversations: unknown }[]) =>
          of.map(({ item_id, conversations }) => JSON.stringify([item_id, conversations])).sort();
        expect(
          texts(
            out
              .trimEnd()
              .split('\n')
              .map((line) => JSON.parse(line)),
          ),
        ).toEqual(texts(items));
      }),
      { numRuns: 20 },
    );
  });

  test('items of one task are rollouts of one tree; JSON lines are taken like an array', async () => {
    await writeFile(file, [item(1), item(2), item(1, { reward: 1 })].map((row) => JSON.stringify(row)).join('\n'));
    expect(await importing()).toMatchObject({ trees: 2, rollouts: 3 });
    const rollouts = await database.db
      .selectFrom('rollouts')
      .innerJoin('trees', 'trees.tree_id', 'rollouts.tree_id')
      .select(['alias', 'ordinal', 'planned_rollouts'])
      .orderBy('alias')
      .orderBy('ordinal')
      .execute();
    expect(rollouts).toEqual([
      { alias: '1', ordinal: 0, planned_rollouts: 2 },
      { alias: '1', ordinal: 1, planned_rollouts: 2 },
      { alias: '2', ordinal: 0, planned_rollouts: 1 },
    ]);
  });

  test('importing the same file twice changes nothing; other options make another run', async () => {
    await write([item(1), item(2)]);
    const first = await importing();
    const before = await readModels(database.db);
    expect(await importing()).toMatchObject({ runs: first.runs, events: first.events, alreadyThere: first.events });
    expect(await readModels(database.db)).toEqual(before);
    const other = await importing({ agentTraj: { ...agentTrajDefaults, split: 'test' } });
    expect(other.alreadyThere).toBe(0);
    expect(other.runs).not.toEqual(first.runs);
  });

  test('another file under the run of the first is a conflict, and nothing is appended', async () => {
    const agentTraj = { ...agentTrajDefaults, runId: new Story().id('mine') };
    await write([item(1)]);
    await importing({ agentTraj });
    await write([item(2)]);
    const appender = projectingAppender(database.db, blobs);
    await expect(importing({ agentTraj, appender })).rejects.toMatchObject({ code: 'conflict' });
    expect(appender.appended).toEqual([]);
  });

  const turns = (...from: string[]) => from.map((who) => ({ from: who, loss: null, value: 'x' }));
  test.each<[string, unknown, string]>([
    ['an item that is no object', 7, 'the row'],
    ['no item_id', { conversations: null }, 'item_id'],
    ['an item_id without a number', item(1, { item_id: 'textcraft' }), 'is not <environment>_<number>'],
    ['a speaker who is neither', item(1, { conversations: turns('human', 'cat') }), 'conversations.1.from'],
    [
      'two turns of one speaker',
      item(1, { conversations: turns('human', 'gpt', 'gpt') }),
      'conversations.2 is from gpt where human speaks',
    ],
    ['a text that is none', item(1, { conversations: [{ from: 'human', loss: null, value: 1 }] }), 'conversations.0.value'],
    ['no reply', item(1, { conversations: turns('human') }), 'holds no reply'],
    ['a reward that is none', item(1, { reward: 'high' }), 'reward'],
    ['an alias that is too long', item(1, { item_id: `textcraft_${'1'.repeat(600)}` }), 'alias'],
  ])('a bad row (%s) refuses the whole file with its line', async (_, bad, message) => {
    await writeFile(file, `[\n${JSON.stringify(item(1))},${'\n'.repeat(20)}${JSON.stringify(bad)}\n]`);
    const appender = projectingAppender(database.db, blobs);
    const refused = await importing({ appender }).catch((error: Error) => error.message);
    expect(refused).toContain('line 22');
    expect(refused).toContain(message);
    expect(appender.appended).toEqual([]);
  });

  test('a file that is cut off is refused', async () => {
    await writeFile(file, JSON.stringify([item(1), item(2)]).slice(0, -30));
    await expect(importing()).rejects.toThrow('cut off inside row 2');
  });

  test('a file that grows while it is read is refused before anything is appended', async () => {
    await writeFile(file, `${JSON.stringify(item(1))}\n`);
    const appender = projectingAppender(database.db, blobs);
    const onProgress = () => appendFileSync(file, `${JSON.stringify(item(2))}\n`);
    await expect(importing({ appender, onProgress })).rejects.toThrow('was changed while it was read');
    expect(appender.appended).toEqual([]);
  });

  test('NUL and half surrogates are repaired once, and a file without any conversation is an error', async () => {
    await write([
      item(1, {
        conversations: [
          { from: 'human', value: 'a\0b' },
          { from: 'gpt', value: '\ud800' },
        ],
      }),
    ]);
    await importing();
    const steps = await database.db.selectFrom('steps').select(['observation', 'response']).orderBy('depth').execute();
    expect(steps).toEqual([
      { observation: 'a\uFFFDb', response: '' },
      { observation: '', response: '\uFFFD' },
    ]);
    await write([{ item_id: 'webshop_1', conversations: null }]);
    await expect(importing()).rejects.toThrow('holds no conversation (1 items without one)');
  });
});
