import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { prepareEvents } from '../append/prepare-events.ts';
import { DEFAULT_STAMP, type Envelope } from '../events/envelope.ts';
import { positionAfter } from '../log/position.ts';
import { MasterKeyUnusable, readMasterKey, useKeyWrapping } from '../postgres/key-wrapping.ts';
import { setPayloadPolicy } from '../postgres/payload-policies.ts';
import { KeyLost, keysOfStreams } from '../postgres/stream-keys.ts';
import { decodeRecords } from '../projections/decode-records.ts';
import { readTail } from '../projections/journal/read-events.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { useTestPlatform } from '../testing/use-test-platform.ts';

const platform = useTestPlatform({ opened: 'before-each', projector: 'running' });
const SECRET = 'the patient is called Ada';

beforeEach(() => setPayloadPolicy(platform.database.db, 'default', { seal: true }));
afterEach(() => useKeyWrapping(null));

async function record(events: readonly Envelope[]): Promise<void> {
  const receipts = await platform.log.append(await prepareEvents(events, platform.blobs, DEFAULT_STAMP));
  await waitUntilProjected(platform.database.db, positionAfter(receipts), { timeoutMs: 30_000 });
}

function walk(observation = SECRET) {
  const builder = new EventBuilder('sealed');
  const runId = builder.run('sealed');
  const tree = builder.tree(runId, 'task', { observation });
  const stepId = builder.step(tree, null, tree.rootStepId, 1, { observation, response: 'x'.repeat(70_000) });
  return { builder, runId, tree, stepId };
}

describe('a record whose payload is sealed', () => {
  test('neither the log nor the journal holds payload in the clear, and the read models and the live tail do', async () => {
    const { builder, stepId, runId } = walk();
    await record(builder.events);
    const { db } = platform.database;
    const { rows } = await sql<{ found: number }>`
      select (select count(*) from log_records where position(${SECRET}::bytea in value) > 0)
           + (select count(*) from events where position(${SECRET} in body) > 0) as found`.execute(db);
    expect(Number(rows[0]?.found)).toBe(0);
    const step = await db.selectFrom('steps').selectAll().where('stepId', '=', stepId).executeTakeFirstOrThrow();
    expect(step.observation).toBe(SECRET);
    expect(step.blobs).toMatchObject({ response: { size: 70_000 } });
    const { records } = await readTail(db, new Map(), { runId }, 100);
    expect(records.map(({ body }) => JSON.parse(body) as Envelope)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ type: 'StepTaken', data: expect.objectContaining({ observation: SECRET }) }),
      ]),
    );
    expect(records.some(({ body }) => body.includes('"sealed":{'))).toBe(false);
  });

  test('an event that is appended again is a repetition, and another one under its id is a conflict', async () => {
    const first = walk();
    await record(first.builder.events);
    await record(first.builder.events.map((event) => ({ ...event, producer: { name: 'again', version: '1' } }) as Envelope));
    const { db } = platform.database;
    expect(await db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
    expect((await db.selectFrom('anomalies').select('kind').execute()).every(({ kind }) => kind === 'duplicate')).toBe(true);
    await record(walk('something else').builder.events);
    const refused = await db.selectFrom('quarantine').select(['type', 'code']).where('projection', '=', 'journal').execute();
    expect(refused).toEqual(
      expect.arrayContaining([
        { type: 'StepTaken', code: 'conflict' },
        { type: 'TreeOpened', code: 'conflict' },
      ]),
    );
  });

  test('a key that is gone from the key store is an error, not a forgotten payload', async () => {
    const { builder, tree } = walk();
    await record(builder.events);
    const { db } = platform.database;
    const stored = await db.selectFrom('events').select(['offset', 'body']).where('stream', '=', tree.treeId).execute();
    await sql`delete from stream_keys where stream = ${tree.treeId}`.execute(db);
    const records = stored.map(({ offset, body }) => ({ offset, key: '', value: Buffer.from(body), receivedAt: null }));
    await expect(decodeRecords(db, { topic: 'trees', partition: 0, from: 0, next: 9, records })).rejects.toThrow(KeyLost);
  });

  test('many processes that meet a stream at once agree on one key', async () => {
    const { db } = platform.database;
    const stream = new EventBuilder('shared').id('stream');
    const all = await Promise.all(Array.from({ length: 8 }, () => keysOfStreams(db, [stream])));
    expect(new Set(all.map((keys) => keys.get(stream)?.keyId)).size).toBe(1);
  });
});

describe('a master key', () => {
  test('it wraps the keys of streams, which cannot be used with another one or without it', async () => {
    const file = async (name: string, text: string) => {
      await writeFile(join(platform.home, name), text);
      return join(platform.home, name);
    };
    const [mine, other] = [
      await file('mine', randomBytes(32).toString('hex')),
      await file('other', randomBytes(32).toString('hex')),
    ];
    useKeyWrapping(await readMasterKey(mine));
    const { builder, tree } = walk();
    await record(builder.events);
    const { db } = platform.database;
    const wrapped = await db.selectFrom('streamKeys').selectAll().where('stream', '=', tree.treeId).executeTakeFirstOrThrow();
    expect(wrapped.wrappedBy).toMatch(/^[0-9a-f]{16}$/);
    expect(await keysOfStreams(db, [tree.treeId])).toHaveProperty('size', 1);
    useKeyWrapping(await readMasterKey(other));
    await expect(keysOfStreams(db, [tree.treeId])).rejects.toThrow(MasterKeyUnusable);
    useKeyWrapping(null);
    await expect(keysOfStreams(db, [tree.treeId])).rejects.toThrow('ESPALIER_MASTER_KEY_FILE is not set');
    useKeyWrapping(await readMasterKey(mine)); // for the projector, which closes after the test
    await expect(readMasterKey(await file('short', 'abc'))).rejects.toThrow('holds no key of 64 hexadecimal digits');
    await expect(readMasterKey(join(platform.home, 'none'))).rejects.toThrow('ENOENT');
  });
});
