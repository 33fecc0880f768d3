import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { appendTo, projectSlice, testLog } from '../testing/given-events.ts';
import { emptyReadModels } from '../testing/read-models.ts';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { journal } from './journal/journal.ts';

const database = useTestDatabase({ emptied: 'before-each' });

async function given(values: readonly Buffer[]): Promise<void> {
  const log = testLog();
  appendTo(
    log,
    values.map((value) => ({ topic: 'trees', value })),
  );
  await projectSlice(database.db, log, 'trees', 0, values.length, [journal]);
}

const setAside = () =>
  database.db
    .selectFrom('quarantine')
    .select(['topic', 'partition', 'offset', 'type', 'code', 'field', 'reason', 'body'])
    .orderBy('offset')
    .execute();

test('a record whose type is cut within a surrogate pair is quarantined with its place, reason and bytes', async () => {
  const records = [198, 199, 200].map((length) => Buffer.from(JSON.stringify({ type: `${'x'.repeat(length)}😀` })));
  await given(records);
  const place = {
    topic: 'trees',
    partition: 0,
    code: 'unknown-type',
    field: 'type',
    reason: expect.stringContaining('is not in'),
  };
  expect(await setAside()).toEqual([
    { ...place, offset: 0, type: `${'x'.repeat(198)}😀`, body: records[0] },
    { ...place, offset: 1, type: 'x'.repeat(199), body: records[1] },
    { ...place, offset: 2, type: 'x'.repeat(200), body: records[2] },
  ]);
});

test('every record of the log that is not an event is quarantined once, with its place and bytes', async () => {
  const text = fc.array(fc.constantFrom('\0', '\ud83d', '\ude00', '😀', 'x'.repeat(99), 'é'), { maxLength: 8 });
  const claimed = text.map((parts) => JSON.stringify({ type: parts.join(''), schemaVersion: 1, [parts.join('.')]: 1 }));
  const known = text.map((parts) => JSON.stringify({ type: 'TreeOpened', schemaVersion: 1, data: { [parts.join('')]: 1 } }));
  const value = fc.oneof(
    claimed.map((json) => Buffer.from(json)),
    known.map((json) => Buffer.from(json)),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 6 }), async (values) => {
      await emptyReadModels(database.db);
      await given(values);
      expect((await setAside()).map(({ offset, body }) => [offset, Buffer.from(body).toString('hex')])).toEqual(
        values.map((bytes, offset) => [offset, bytes.toString('hex')]),
      );
    }),
    { numRuns: 8 },
  );
});
