import { appendFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { datasetWorkshop } from '../../../testing/dataset-workshop.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { projectingAppender } from '../../../testing/projecting-log.ts';
import { readModels } from '../../../testing/read-models.ts';
import { agentTrajDefaults } from './agent-traj-options.ts';

const shop = datasetWorkshop();

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
  const write = (items: readonly unknown[]) => writeFile(shop.path('source'), JSON.stringify(items, null, 2));

  test('an import whose events another import brings between its check and its append reports them as already there', async () => {
    await write([item(3)]);
    let other: Promise<unknown> | undefined;
    const db = shop.db.withPlugin({
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        other ??= shop.importing(); // behind the first statement of the check, whose answer is empty
        await other;
        return result;
      },
    });
    const report = await shop.importing({ db });
    expect(await other).toMatchObject({ events: report.events, alreadyThere: 0 });
    expect(report.alreadyThere).toBe(report.events);
  });

  test('an item becomes a rollout of its task: a step per reply with its loss flag, and reward and success where present', async () => {
    await write([item(3, { reward: 50, success: 1 }), { item_id: 'textcraft_4', conversations: null }]);
    const report = await shop.importing({ agentTraj: { ...agentTrajDefaults, rewardScale: 100, split: 'train' } });
    expect(report).toMatchObject({
      source: 'agent-traj',
      trees: 1,
      rollouts: 1,
      steps: 3,
      withoutConversation: 1,
      alreadyThere: 0,
    });
    const run = await shop.db.selectFrom('runs').selectAll().executeTakeFirstOrThrow();
    expect(run).toMatchObject({ runId: report.runs[0], kind: 'import', outcome: 'completed', policyId: 'agent-traj' });
    const tree = await shop.db.selectFrom('trees').selectAll().executeTakeFirstOrThrow();
    expect(tree).toMatchObject({
      environment: 'textcraft',
      alias: '3',
      instruction: 'You craft.',
      split: 'train',
      plannedRollouts: 1,
    });
    expect(tree.closedAt).toEqual(new Date(0));
    const steps = await shop.db.selectFrom('steps').selectAll().orderBy('depth').execute();
    expect(
      steps.map(({ depth, thought, action, observation, wellFormatted, termination, policySpans }) => ({
        depth,
        thought,
        action,
        observation,
        wellFormatted,
        termination,
        policy: policySpans[0]?.policyId,
      })),
    ).toEqual([
      {
        depth: 0,
        thought: '',
        action: '',
        observation: 'Goal: craft 3.',
        wellFormatted: true,
        termination: 'none',
        policy: undefined,
      },
      {
        depth: 1,
        thought: 'look',
        action: 'inventory',
        observation: 'Inventory: nothing',
        wellFormatted: true,
        termination: 'none',
        policy: 'agent-traj',
      },
      {
        depth: 2,
        thought: 'mumble',
        action: '',
        observation: 'Could not execute',
        wellFormatted: false,
        termination: 'none',
        policy: 'agent-traj:context',
      },
      {
        depth: 3,
        thought: 'get',
        action: 'get 1 log',
        observation: '',
        wellFormatted: true,
        termination: 'terminated',
        policy: 'agent-traj',
      },
    ]);
    const reward = await shop.db.selectFrom('rewards').selectAll().executeTakeFirstOrThrow();
    expect(reward).toMatchObject({ component: 'environment', value: 0.5, raw: { value: 50, scale: 100, kind: 'final' } });
    expect(await shop.db.selectFrom('rollouts').select(['outcome', 'success', 'steps']).execute()).toEqual([
      { outcome: 'terminated', success: true, steps: 3 },
    ]);
    expect(await shop.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
  });

  test('an AgentTraj export of any import contains the imported conversations, loss flags included', async () => {
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
        await shop.startAgain();
        await write(items);
        await shop.importing();
        const out = await readFile(await shop.exportTo('back', { kind: 'sharegpt', weights: 'policy' }), 'utf8');
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
      { numRuns: 3 },
    );
  });

  test('items of one task become rollouts of one tree, and JSON lines are read like an array', async () => {
    await writeFile(shop.path('source'), [item(1), item(2), item(1, { reward: 1 })].map((row) => JSON.stringify(row)).join('\n'));
    expect(await shop.importing()).toMatchObject({ trees: 2, rollouts: 3 });
    const rollouts = await shop.db
      .selectFrom('rollouts')
      .innerJoin('trees', 'trees.treeId', 'rollouts.treeId')
      .select(['alias', 'ordinal', 'plannedRollouts'])
      .orderBy('alias')
      .orderBy('ordinal')
      .execute();
    expect(rollouts).toEqual([
      { alias: '1', ordinal: 0, plannedRollouts: 2 },
      { alias: '1', ordinal: 1, plannedRollouts: 2 },
      { alias: '2', ordinal: 0, plannedRollouts: 1 },
    ]);
  });

  test('a second import of a file changes nothing, and other options make another run', async () => {
    await write([item(1), item(2)]);
    const first = await shop.importing();
    const before = await readModels(shop.db);
    expect(await shop.importing()).toMatchObject({ runs: first.runs, events: first.events, alreadyThere: first.events });
    expect(await readModels(shop.db)).toEqual(before);
    const other = await shop.importing({ agentTraj: { ...agentTrajDefaults, split: 'test' } });
    expect(other.alreadyThere).toBe(0);
    expect(other.runs).not.toEqual(first.runs);
  });

  test('another file under the same run is a conflict, and nothing is appended', async () => {
    const agentTraj = { ...agentTrajDefaults, runId: new EventBuilder().id('mine') };
    await write([item(1)]);
    await shop.importing({ agentTraj });
    await write([item(2)]);
    const appender = projectingAppender(shop.db, shop.blobs);
    await expect(shop.importing({ agentTraj, appender })).rejects.toMatchObject({ code: 'conflict' });
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
    await writeFile(shop.path('source'), `[\n${JSON.stringify(item(1))},${'\n'.repeat(20)}${JSON.stringify(bad)}\n]`);
    const appender = projectingAppender(shop.db, shop.blobs);
    const refused = await shop.importing({ appender }).catch((error: Error) => error.message);
    expect(refused).toContain('line 22');
    expect(refused).toContain(message);
    expect(appender.appended).toEqual([]);
  });

  test('a truncated file is refused', async () => {
    await writeFile(shop.path('source'), JSON.stringify([item(1), item(2)]).slice(0, -30));
    await expect(shop.importing()).rejects.toThrow('cut off inside row 2');
  });

  test('a file that grows while it is read is refused before anything is appended', async () => {
    await writeFile(shop.path('source'), `${JSON.stringify(item(1))}\n`);
    const appender = projectingAppender(shop.db, shop.blobs);
    const onProgress = () => appendFileSync(shop.path('source'), `${JSON.stringify(item(2))}\n`);
    await expect(shop.importing({ appender, onProgress })).rejects.toThrow('was changed while it was read');
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
    await shop.importing();
    const steps = await shop.db.selectFrom('steps').select(['observation', 'response']).orderBy('depth').execute();
    expect(steps).toEqual([
      { observation: 'a\uFFFDb', response: '' },
      { observation: '', response: '\uFFFD' },
    ]);
    await write([{ item_id: 'webshop_1', conversations: null }]);
    await expect(shop.importing()).rejects.toThrow('holds no conversation (1 items without one)');
  });
});
