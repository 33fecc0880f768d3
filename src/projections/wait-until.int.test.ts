import { expect, test } from '@jest/globals';
import type { Offsets } from '../log/event-log.ts';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { owners } from './owners/owners.ts';
import { renderers } from './renderers/renderers.ts';
import { trainingPool } from './training-pool/training-pool.ts';
import { isProjected, ProjectionsBehind, readCursor, waitUntilProjected } from './wait-until.ts';

const database = useTestDatabase({ emptied: 'before-each' });

const at = (topic: string, ...next: readonly number[]): Offsets => new Map([[topic, new Map(next.entries())]]);

async function move(projection: string, topic: string, partition: number, next: number, version?: number): Promise<void> {
  await database.pool.query(
    `insert into cursors (projection, version, topic, partition, next_offset)
     select name, coalesce($5, version), $2, $3, $4 from projections where name = $1
     on conflict (projection, version, topic, partition) do update set next_offset = excluded.next_offset`,
    [projection, topic, partition, next, version],
  );
}

test('a projection has reached a position when each of its partitions has, and one without a cursor is at its beginning', async () => {
  const { db } = database;
  expect(await isProjected(db, at('training', 0, 0), [trainingPool])).toBe(true);
  expect(await isProjected(db, at('training', 1, 0), [trainingPool])).toBe(false);
  await move('training-pool', 'training', 0, 5);
  expect(await isProjected(db, at('training', 5, 0), [trainingPool])).toBe(true);
  expect(await isProjected(db, at('training', 6), [trainingPool])).toBe(false);
  expect(await isProjected(db, at('training', 5, 1), [trainingPool])).toBe(false);
  expect(await readCursor(db, trainingPool)).toEqual(at('training', 5));
});

test('topics that a projection does not read, cursors of other projections and of versions that are not live count for nothing', async () => {
  const { db } = database;
  expect(await isProjected(db, at('images', 9), [trainingPool])).toBe(true);
  await move('owners', 'training', 0, 5);
  await move('training-pool', 'training', 0, 5, 1_000);
  expect(await isProjected(db, at('training', 5), [trainingPool])).toBe(false);
  expect(await isProjected(db, at('training', 5), [owners])).toBe(true);
  expect(await isProjected(db, at('training', 5), [renderers, owners])).toBe(true);
});

test('a wait ends when the last projection has come to the position, and names the one that did not in time', async () => {
  const { db } = database;
  const target = at('training', 2);
  await move('owners', 'training', 0, 2);
  const late = waitUntilProjected(db, target, { timeoutMs: 0, projections: [owners, trainingPool] });
  await expect(late).rejects.toThrow(/^projection training-pool did not reach training\.0:2 within 0 ms/);
  await expect(late).rejects.toBeInstanceOf(ProjectionsBehind);
  const waiting = waitUntilProjected(db, target, { timeoutMs: 20_000, projections: [owners, trainingPool] });
  await move('training-pool', 'training', 0, 2);
  await waiting;
});
