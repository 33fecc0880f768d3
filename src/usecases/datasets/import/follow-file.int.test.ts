import { appendFile, rename, writeFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { datasetWorkshop } from '../../../testing/dataset-workshop.ts';
import { projectingAppender } from '../../../testing/projecting-log.ts';
import { until } from '../../../testing/until.ts';
import { agentTrajDefaults } from './agent-traj-options.ts';
import { type FollowOptions, followFile } from './follow-file.ts';

const shop = datasetWorkshop();

const trace = (id: string, task: number) => ({
  id,
  task: { type: 'sums', data: { idx: task } },
  nodes: [
    { message: { role: 'user', content: `What is ${task}?` } },
    { parent: 0, message: { role: 'assistant', content: `reply ${id}` }, sampled: true, token_ids: [1, 2], mask: [true, true] },
  ],
  rewards: { right: 1 },
});
const line = (id: string, task = 0) => `${JSON.stringify(trace(id, task))}\n`;
const follow = (change: Partial<FollowOptions> = {}) =>
  followFile({
    source: shop.path('source'),
    db: shop.db,
    appender: projectingAppender(shop.db, shop.blobs),
    badRows: 'refuse',
    agentTraj: agentTrajDefaults,
    signal: new AbortController().signal,
    idleMs: 1,
    onProgress: () => undefined,
    ...change,
  });
const replies = async () => {
  const rows = await shop.db.selectFrom('steps').select('response').where('depth', '>', 0).orderBy('response').execute();
  return rows.map(({ response }) => response);
};
const hasReplies = (count: number) => until(async () => (await replies()).length === count);

test('a trace is on record once its line is whole, and what stopped goes on behind it until nothing comes', async () => {
  await writeFile(shop.path('source'), line('a'));
  const stopping = new AbortController();
  const stopped = follow({ idleMs: null, signal: stopping.signal });
  await hasReplies(1);
  const [half, rest] = [line('b', 1).slice(0, 40), line('b', 1).slice(40)];
  await appendFile(shop.path('source'), line('c') + half);
  await hasReplies(2);
  stopping.abort();
  await expect(stopped).rejects.toThrow('aborted');
  expect(await shop.db.selectFrom('runs').select('finishedAt').execute()).toEqual([{ finishedAt: null }]);
  expect(await replies()).toEqual(['reply a', 'reply c']);

  await appendFile(shop.path('source'), rest);
  const report = await follow();
  expect(report).toMatchObject({ source: 'verifiers-traces', trees: 2, rollouts: 3, steps: 3 });
  expect(await replies()).toEqual(['reply a', 'reply b', 'reply c']);
  const rollouts = await shop.db.selectFrom('rollouts').select('ordinal').orderBy('ordinal').execute();
  expect(rollouts.map(({ ordinal }) => ordinal)).toEqual([0, 0, 1]);
  const trees = await shop.db.selectFrom('trees').select('closedAt').execute();
  expect(trees.map(({ closedAt }) => closedAt !== null)).toEqual([true, true]);
  expect(await follow()).toMatchObject({ alreadyThere: report.events });
});

test('a last line without a new line is taken when nothing comes any more', async () => {
  await writeFile(shop.path('source'), line('a') + line('b').trimEnd());
  expect(await follow()).toMatchObject({ rollouts: 2, skipped: { rows: 0 } });
});

test('what comes behind the end of its run is refused', async () => {
  await writeFile(shop.path('source'), line('a'));
  await follow();
  await appendFile(shop.path('source'), line('b'));
  await expect(follow()).rejects.toThrow(/line 2: run [0-9a-f-]{36}, which followed the file, has ended/);
  expect(await replies()).toEqual(['reply a']);
});

test('a line that cannot be read stops it behind those before, or is skipped and named', async () => {
  await writeFile(shop.path('source'), `${line('a')}{"id": \n${line('b')}`);
  await expect(follow()).rejects.toThrow(/line 2: is not UTF-8 JSON.*what is before it is imported/);
  const report = await follow({ badRows: 'skip' });
  expect(report).toMatchObject({ rollouts: 2, skipped: { rows: 1, first: [{ line: 2 }] } });
  expect(await replies()).toEqual(['reply a', 'reply b']);
});

test('a file that is replaced, holds no trace or is not there is refused', async () => {
  await expect(follow()).rejects.toThrow('there is no such file');
  await writeFile(shop.path('source'), line('a').slice(0, 30));
  await expect(follow()).rejects.toThrow('line 1: is not UTF-8 JSON');
  await writeFile(shop.path('source'), '\n');
  await expect(follow()).rejects.toThrow('holds no trace that ended');
  await writeFile(shop.path('source'), line('a'));
  const replaced = follow({ idleMs: null });
  await hasReplies(1);
  await writeFile(shop.path('new'), line('b'));
  await rename(shop.path('new'), shop.path('source'));
  await expect(replaced).rejects.toThrow('it was replaced while it was followed');
});
