import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { prepareEvents } from '../../append/prepare-events.ts';
import { type Envelope, stampOf } from '../../events/envelope.ts';
import { newId } from '../../events/new-id.ts';
import { positionAfter } from '../../log/position.ts';
import { setPayloadPolicy } from '../../postgres/payload-policies.ts';
import { destroyKeys } from '../../postgres/stream-keys.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { secretRun } from '../../testing/secret-run.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { verifyRecord } from '../verify/verify-record.ts';
import { collectBlobs } from './collect-blobs.ts';

const platform = useTestPlatform({ opened: 'before-each', projector: 'running' });
const signal = new AbortController().signal;
const HOUR = 3_600_000;
const collect = (mode: 'delete' | 'count' = 'delete') => collectBlobs(platform, { graceMs: HOUR, mode, signal });

beforeEach(() => setPayloadPolicy(platform.database.db, 'sealed', { seal: true }));

async function append(events: readonly Envelope[], project = 'default'): Promise<readonly string[]> {
  const stamp = stampOf({ principal: 'local', project });
  const prepared = await prepareEvents(events, platform.blobs, stamp);
  const receipts = await platform.log.append(prepared);
  await waitUntilProjected(platform.database.db, positionAfter(receipts), { timeoutMs: 60_000 });
  return prepared.flatMap(({ value }) =>
    [
      ...Buffer.from(value ?? [])
        .toString()
        .matchAll(/"blob":"(\w+)"/g),
    ].map(([, name]) => name ?? ''),
  );
}

async function age(name: string): Promise<void> {
  const old = new Date(Date.now() - 2 * HOUR);
  await utimes(join(platform.config.blobs, name.slice(0, 2), name.slice(2, 4), name), old, old);
}

async function put(text: string): Promise<string> {
  const { blob } = await platform.blobs.put(Buffer.from(text), 'text/plain');
  return blob;
}

test('what a record in the clear, a sealed one or a waiting one refers to stays, and the rest goes when it is old', async () => {
  const [clear] = await append(secretRun('clear', 'Ada who lives there').events);
  const [sealed] = await append(secretRun('sealed', 'Grace who lives there').events, 'sealed');
  const gone = secretRun('gone', 'Alan who lives there');
  const [forgotten] = await append(gone.events, 'sealed');
  await destroyKeys(platform.database.db, [gone.runId, gone.treeId]);
  const [waiting, orphan, young] = [await put('waiting'), await put('orphan'), await put('young')];
  await sql`insert into outbox (event_id, topic, key, value)
    values (${newId()}, 'training', 'k', ${Buffer.from(JSON.stringify({ data: { kept: { blob: waiting } } }))})`.execute(
    platform.database.db,
  );
  const kept = [clear, sealed, waiting] as string[];
  for (const name of [...kept, forgotten ?? '', orphan]) await age(name);

  const counts = { looked: 5, young: 1, unreferenced: { blobs: 2, bytes: expect.any(Number) }, drafts: { files: 0, bytes: 0 } };
  expect(await collect('count')).toEqual({ ...counts, deleted: 0 });
  expect(await platform.blobs.has(orphan)).toBe(true);
  expect(await collect()).toEqual({ ...counts, deleted: 2 });
  expect(await Promise.all([...kept, young].map((name) => platform.blobs.has(name)))).toEqual([true, true, true, true]);
  expect(await Promise.all([forgotten ?? '', orphan].map((name) => platform.blobs.has(name)))).toEqual([false, false]);
  expect((await verifyRecord(platform, { files: [], signal })).faults.filter(({ what }) => what === 'blob')).toEqual([]);
});

test('blobs that nobody referred to stay when they are put again for records that are appended meanwhile', async () => {
  const runs = Array.from({ length: 12 }, (_, i) => secretRun(`run ${i}`, `some longer text ${i}`));
  for (const [i] of runs.entries()) await age(await put(`some longer text ${i} response `.repeat(4_000)));
  const [collected, ...named] = await Promise.all([collect(), ...runs.map(({ events }) => append(events))]);
  expect(collected.looked + collected.young).toBe(12);
  const names = named.flat();
  expect(new Set(names).size).toBe(12);
  expect(await Promise.all(names.map((name) => platform.blobs.has(name)))).toEqual(names.map(() => true));
  expect((await verifyRecord(platform, { files: [], signal })).faults.filter(({ what }) => what === 'blob')).toEqual([]);
});
