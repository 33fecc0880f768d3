import { beforeEach, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { keepRetention } from '../../app/retention.ts';
import { prepareEvents } from '../../append/prepare-events.ts';
import { type Envelope, stampOf } from '../../events/envelope.ts';
import { positionAfter } from '../../log/position.ts';
import { setPayloadPolicy } from '../../postgres/payload-policies.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { createLogger } from '../../runtime/logger.ts';
import { secretRun, tablesWith } from '../../testing/secret-run.ts';
import { until } from '../../testing/until.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { verifyRecord } from '../verify/verify-record.ts';
import { HOLDING, readRetention, retain } from './forget.ts';

const platform = useTestPlatform({ opened: 'before-each', projector: 'running' });
const SECRET = 'Ada lives at number nine';
const DAY = 86_400_000;
const signal = new AbortController().signal;
const options = { signal, limitMs: 60_000, progress: () => undefined, blobGraceMs: 0 };
const db = () => platform.database.db;

beforeEach(async () => {
  await setPayloadPolicy(db(), 'atlas', { seal: true });
  await setPayloadPolicy(db(), 'default', { seal: true, forgetAfterDays: 30 });
});

async function record(events: readonly Envelope[], project = 'default'): Promise<void> {
  const stamp = stampOf({ principal: 'local', project });
  const receipts = await platform.log.append(await prepareEvents(events, platform.blobs, stamp));
  await waitUntilProjected(db(), positionAfter(receipts), { timeoutMs: 60_000 });
}

const forgotten = async () =>
  (await db().selectFrom('events').select('body').where('type', '=', 'PayloadForgotten').execute()).map(
    ({ body }) => (JSON.parse(body) as Envelope<'PayloadForgotten'>).data,
  );

test('a run is due by the days of its project after its end was received; open runs and other projects are not', async () => {
  const [ended, open, other] = [secretRun('ended', SECRET), secretRun('open', 'Open', 'open'), secretRun('other', 'Other')];
  await record(ended.events);
  await record(open.events);
  await record(other.events, 'atlas');
  const at = async (days: number) => (await readRetention(platform, Date.now() + days * DAY)).map(({ runs }) => runs);
  expect(await at(29)).toEqual([[]]);
  expect(await at(31)).toEqual([[ended.runId]]);
  await setPayloadPolicy(db(), 'atlas', { forgetAfterDays: 10 });
  expect(await readRetention(platform, Date.now() + 11 * DAY)).toEqual([
    { project: 'atlas', days: 10, runs: [other.runId], clear: [] },
    { project: 'default', days: 30, runs: [], clear: [] },
  ]);
  await record([ended.builder.record('RunResumed', { runId: ended.runId, epoch: 2, codeVersion: 'later' }, ended.runId)]);
  expect(await at(31)).toEqual([[other.runId], []]);
});

const STEPS = ['keys', ...HOLDING, 'snapshots', 'blobs', 'drawn segments', 'record'];

test('one that is killed at each of its steps in turn comes to the end of one that was not', async () => {
  const [old, kept] = [secretRun('old', SECRET), secretRun('kept', 'Grace', 'open')];
  const clear = secretRun('clear', 'said in the open');
  await setPayloadPolicy(db(), 'zebra', { seal: false, forgetAfterDays: 30 });
  await record(clear.events, 'zebra');
  await record(old.events);
  await record(kept.events);
  const now = Date.now() + 31 * DAY;
  const unsealed = { project: 'zebra', days: 30, runs: [], clear: [clear.runId] };
  expect(await readRetention(platform, now)).toEqual([{ project: 'default', days: 30, runs: [old.runId], clear: [] }, unsealed]);
  const passed: string[] = [];
  for (let kills = 0; kills < STEPS.length; kills++) {
    let left = kills;
    const killed = retain(platform, await readRetention(platform, now), {
      ...options,
      after: (step) => {
        passed.push(step);
        if (left-- === 0) throw new Error('killed');
      },
    });
    await expect(killed).rejects.toThrow('killed');
  }
  expect([...new Set(passed)].sort()).toEqual([...STEPS].sort());
  expect(await readRetention(platform, now)).toEqual([{ project: 'default', days: 30, runs: [], clear: [] }, unsealed]);
  expect(await retain(platform, await readRetention(platform, now), options)).toBeNull();

  expect(await tablesWith(db(), SECRET)).toEqual([]);
  expect(await tablesWith(db(), 'Grace')).not.toEqual([]);
  expect(await tablesWith(db(), 'said in the open')).not.toEqual([]);
  expect(await forgotten()).toEqual([
    expect.objectContaining({
      runId: old.runId,
      trees: [old.treeId],
      by: 'retention',
      reason: 'older than the 30 days of default',
    }),
  ]);
  const versions = await sql<{ state: string }>`select state from projection_builds`.execute(db());
  expect(versions.rows).toEqual([]);
  const { faults } = await verifyRecord(platform, { files: [], signal });
  expect(faults.filter(({ what }) => what !== 'prompt')).toEqual([]);
});

test('a worker forgets what is older at its start, and says what lies in the clear', async () => {
  const old = secretRun('old', SECRET);
  await record(old.events);
  await sql`update events set received_at = received_at - interval '40 days' where stream = ${old.runId}`.execute(db());
  const lines: string[] = [];
  const worker = keepRetention(platform, createLogger({ write: (line) => void lines.push(line) }));
  try {
    await until(async () => (await forgotten()).length === 1);
    await until(() => lines.some((line) => line.includes('"forgotten"')));
  } finally {
    await worker.close();
  }
  expect(await tablesWith(db(), SECRET)).toEqual([]);
});
