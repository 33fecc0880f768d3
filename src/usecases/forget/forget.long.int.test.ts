import { beforeEach, describe, expect, test } from '@jest/globals';
import { prepareEvents } from '../../append/prepare-events.ts';
import { type Envelope, stampOf } from '../../events/envelope.ts';
import { FORGOTTEN } from '../../events/payload.ts';
import { positionAfter } from '../../log/position.ts';
import { setPayloadPolicy } from '../../postgres/payload-policies.ts';
import { destroyKeys } from '../../postgres/stream-keys.ts';
import { withNewBuild } from '../../projections/rebuild/with-new-build.ts';
import { projections } from '../../projections/registry.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { secretRun as run, SHARED, tablesWith } from '../../testing/secret-run.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { rebuildProjection } from '../rebuild/rebuild-projection.ts';
import { verifyRecord } from '../verify/verify-record.ts';
import { CannotForget, forget, HOLDING, planForgetting } from './forget.ts';

const platform = useTestPlatform({ opened: 'before-each', projector: 'running' });
const SECRET = 'Ada lives at number nine';
const signal = new AbortController().signal;
const options = { by: 'tester', reason: 'asked for', signal, limitMs: 60_000, progress: () => undefined };

beforeEach(() => setPayloadPolicy(platform.database.db, 'default', { seal: true }));

async function record(events: readonly Envelope[]): Promise<void> {
  const receipts = await platform.log.append(await prepareEvents(events, platform.blobs, stampOf({})));
  await waitUntilProjected(platform.database.db, positionAfter(receipts), { timeoutMs: 60_000 });
}

const stored = async () =>
  await platform.database.db
    .selectFrom('events')
    .select(['eventId', 'body'])
    .where('type', '<>', 'PayloadForgotten')
    .orderBy('eventId')
    .execute();

describe('forgetting a run', () => {
  test('it leaves its text in no table and no blob, keeps every record, count and the chain, and touches no other run', async () => {
    const [mine, other] = [run('mine', SECRET), run('other', 'Grace')];
    await record(mine.events);
    await record(other.events);
    const { db } = platform.database;
    const before = await stored();
    expect(await tablesWith(platform.database.db, SECRET)).not.toEqual([]);
    const plan = await planForgetting(platform, { kind: 'runs', ids: [mine.runId] });
    expect(plan).toMatchObject({ keys: 2, clear: 0, unfinished: 0 });
    expect(plan.blobs).toHaveLength(1);
    const done = await forget(platform, plan, { ...options, blobGraceMs: 0 });
    expect(done).toEqual({ keys: 2, blobs: 1, blobsLeft: 0 });

    expect(await tablesWith(platform.database.db, SECRET)).toEqual([]);
    expect(await platform.blobs.has(plan.blobs[0] ?? '')).toBe(false);
    expect(await stored()).toEqual(before);
    const step = await db.selectFrom('steps').selectAll().where('stepId', '=', mine.stepId).executeTakeFirstOrThrow();
    expect(step).toMatchObject({
      response: FORGOTTEN,
      thought: FORGOTTEN,
      action: FORGOTTEN,
      observation: FORGOTTEN,
      admissible: [FORGOTTEN],
    });
    const kept = await db.selectFrom('steps').selectAll().where('stepId', '=', other.stepId).executeTakeFirstOrThrow();
    expect(kept).toMatchObject({ thought: 'Grace thought', observation: 'Grace seen' });
    expect(await db.selectFrom('promptBlocks').select('text').orderBy('text').execute()).toEqual([
      { text: 'Grace prompt' },
      { text: SHARED },
    ]);
    const run0 = await db.selectFrom('runs').select('message').where('runId', '=', mine.runId).executeTakeFirstOrThrow();
    expect(run0.message).toBe(FORGOTTEN);
    const { faults } = await verifyRecord(platform, { files: [], signal });
    expect(faults.filter(({ what }) => what !== 'prompt')).toEqual([]);
    expect(faults.map(({ place }) => place)).not.toEqual(expect.arrayContaining([expect.stringContaining(mine.stepId)]));
    const said = await db.selectFrom('events').select('body').where('type', '=', 'PayloadForgotten').execute();
    expect(said.map(({ body }) => (JSON.parse(body) as Envelope).data)).toEqual([
      expect.objectContaining({ runId: mine.runId, trees: [mine.treeId], blobs: 1, by: 'tester', reason: 'asked for' }),
    ]);
  });

  test('the read models after it are those of a rebuild', async () => {
    const { events, runId } = run('mine', SECRET);
    await record(events);
    await forget(platform, await planForgetting(platform, { kind: 'runs', ids: [runId] }), options);
    for (const projection of projections) {
      const rebuilt = await rebuildProjection(platform, projection, { ...options, differing: 'refuse' });
      expect([projection.name, rebuilt.kind]).toEqual([projection.name, 'swapped']);
    }
    expect(await tablesWith(platform.database.db, SECRET)).toEqual([]);
  });

  test('one that was killed after it destroyed the keys is continued, and a finished one has nothing left to do', async () => {
    const { events, runId, treeId } = run('mine', SECRET);
    await record(events);
    await destroyKeys(platform.database.db, [runId, treeId]); // as far as the killed one came
    const plan = await planForgetting(platform, { kind: 'runs', ids: [runId] });
    expect(plan).toMatchObject({ keys: 0, unfinished: 2 });
    await forget(platform, plan, { ...options, blobGraceMs: 0 });
    expect(await tablesWith(platform.database.db, SECRET)).toEqual([]);
    expect(await planForgetting(platform, { kind: 'runs', ids: [runId] })).toMatchObject({ keys: 0, unfinished: 0 });
  });

  test('a build of read models that was left unfinished before is not gone on with', async () => {
    const { events, runId } = run('mine', SECRET);
    await record(events);
    for (const projection of projections.filter(({ name }) => HOLDING.includes(name)))
      await expect(withNewBuild(platform, projection, options, () => Promise.reject(new Error('killed')))).rejects.toThrow(
        'killed',
      );
    await forget(platform, await planForgetting(platform, { kind: 'runs', ids: [runId] }), { ...options, blobGraceMs: 0 });
    expect(await tablesWith(platform.database.db, SECRET)).toEqual([]);
  });

  test('an event that is appended again afterwards is a repetition, and brings nothing back', async () => {
    const { events, runId } = run('mine', SECRET);
    await record(events);
    await forget(platform, await planForgetting(platform, { kind: 'runs', ids: [runId] }), options);
    await record(events.filter(({ type }) => type === 'ToolCalled' || type === 'RunFinished'));
    expect(await platform.database.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
    expect(await tablesWith(platform.database.db, SECRET)).toEqual([]);
  });
});

test('payload that was appended in the clear cannot be forgotten, and the refusal says why and changes nothing', async () => {
  const { db } = platform.database;
  await setPayloadPolicy(db, 'default', { seal: false });
  const { events, runId } = run('clear', SECRET);
  await record(events);
  const plan = await planForgetting(platform, { kind: 'runs', ids: [runId] });
  expect(plan.clear).toBe(5);
  await expect(forget(platform, plan, options)).rejects.toThrow(CannotForget);
  expect((await db.selectFrom('steps').select('thought').where('depth', '=', 1).execute())[0]?.thought).toBe(`${SECRET} thought`);
});

test('trees, or all runs of a project, are forgotten by their ids and its name', async () => {
  const [mine, other] = [run('mine', SECRET), run('other', 'Grace')];
  await record([...mine.events, ...other.events]);
  const ofTree = await planForgetting(platform, { kind: 'trees', ids: [mine.treeId] });
  expect([ofTree.keys, ofTree.runs.map(({ whole, trees }) => [whole, trees])]).toEqual([1, [[false, [mine.treeId]]]]);
  expect((await planForgetting(platform, { kind: 'project', project: 'default' })).keys).toBe(4);
  expect((await planForgetting(platform, { kind: 'project', project: 'nobody' })).runs).toEqual([]);
});
