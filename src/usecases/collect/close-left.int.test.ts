import { expect, test } from '@jest/globals';
import { prepareEvents } from '../../append/prepare-events.ts';
import { TOPICS } from '../../events/catalogue.ts';
import type { Envelope } from '../../events/envelope.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { closeLeft } from './close-left.ts';

const platform = useTestPlatform({ opened: 'before-each', projector: 'running' });
const builder = new EventBuilder('close-left');
const runId = builder.run();
const tree = builder.tree(runId, 'shared', { shared: true });
builder.walk(tree, 0, 1, 1);
const recorderId = builder.id('recorder');
builder.record('RecorderJoined', { runId, recorderId, name: 'rank 0', session: builder.id('session') }, runId);
builder.record('RecorderLeft', { runId, recorderId, outcome: 'completed', message: '' }, runId);
const left = [...builder.events];
builder.closeTree(tree, 1);
builder.finishRun(runId);
builder.record('RecorderJoined', { runId, recorderId: builder.id('late'), name: 'late', session: builder.id('late') }, runId);
const [closed, finished, late] = builder.events.slice(left.length);

async function record(...events: readonly (Envelope | undefined)[]): Promise<void> {
  const stamp = { principal: 'local', project: 'default' } as const;
  const given = events.flatMap((event) => (event ? [event] : []));
  await platform.log.append(await prepareEvents(given, platform.blobs, stamp));
  await settled();
}

async function settled(): Promise<void> {
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 20_000 });
}

async function closing(): Promise<readonly (string | null)[]> {
  await closeLeft(platform, new AbortController().signal, 0);
  await settled();
  const { db } = platform.database;
  const ends = await db.selectFrom('events').select('type').where('type', 'in', ['TreeClosed', 'RunFinished']).execute();
  return ends.map(({ type }) => type).sort();
}
const setAside = () => platform.database.db.selectFrom('quarantine').select(['projection', 'eventId']).execute();

test('what all have left is ended once, and who joins behind that is set aside', async () => {
  await record(...left);
  for (let i = 0; i < 2; i++) expect(await closing()).toEqual(['RunFinished', 'TreeClosed']);
  const { db } = platform.database;
  expect(await db.selectFrom('runs').select('outcome').execute()).toEqual([{ outcome: 'completed' }]);
  await record(late);
  expect(await setAside()).toEqual([{ projection: 'runs', eventId: late?.id }]);
  expect(await db.selectFrom('runRecorders').select('recorderId').execute()).toEqual([{ recorderId }]);
});

test('a run that its opener ends goes on when all who joined it have left', async () => {
  const own = new EventBuilder('close-left-of-opener');
  const run = own.run();
  const joined = { runId: run, recorderId: own.id('recorder'), name: 'worker', session: own.id('session') };
  own.record('RecorderJoined', { ...joined, endedByOpener: true }, run);
  own.record('RecorderLeft', { runId: run, recorderId: joined.recorderId, outcome: 'completed', message: '' }, run);
  await record(...own.events);
  expect(await closing()).toEqual([]);
});

test('an end that is on record and was set aside is not appended again', async () => {
  await record(closed, finished, ...left);
  expect(await setAside()).toHaveLength(2);
  const before = await platform.log.ends(TOPICS);
  expect(await closing()).toEqual(['RunFinished', 'TreeClosed']);
  expect(await platform.log.ends(TOPICS)).toEqual(before);
});
