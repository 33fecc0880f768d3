import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { prepareEvents } from '../../append/prepare-events.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { DEFAULT_STAMP } from '../../events/envelope.ts';
import { newId } from '../../events/new-id.ts';
import type { Subscription } from '../../log/event-log.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { createKey } from '../../postgres/keys.ts';
import { replaceKey } from '../../postgres/replace-key.ts';
import { runProjections } from '../../projections/runner.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { verifyLogRecords } from './verify-log-records.ts';
import { verifyRecord } from './verify-record.ts';

const signal = new AbortController().signal;
let platform: Platform & { readonly home: string };
let runner: Subscription;
let builder: EventBuilder;
let runId: string;
let treeId: string;
beforeEach(async () => {
  platform = await openTestPlatform();
  runner = await runProjections({ log: platform.log, database: platform.database });
  builder = new EventBuilder('read');
  runId = builder.run();
  const tree = builder.tree(runId, 'a');
  treeId = tree.treeId;
  builder.walk(tree, 0, 4, 1);
  await append(builder.events);
});
afterEach(async () => {
  await runner.close();
  await platform.close();
});

async function append(events: EventBuilder['events'], stamp = DEFAULT_STAMP): Promise<void> {
  await platform.log.append(await prepareEvents(events, platform.blobs, stamp));
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 20_000 });
}

const run = (statement: string, values: unknown[] = []) => platform.database.pool.query(statement, values);
const found = async () => {
  const faults: string[] = [];
  const records = await verifyLogRecords(platform, { signal }, ({ what, kind, place }) =>
    faults.push(`${what} ${kind}: ${place}`),
  );
  return { records, faults };
};
/** The record of the tree's second event, as the embedded log keeps it. */
const SECOND = `(partition_id, "offset") = (select partition_id, "offset" from log_records where key = $1 order by "offset" offset 1 limit 1)`;

test('every record of an intact log is read once, with progress, in a group that is forgotten afterwards', async () => {
  const seen: number[] = [];
  const records = await verifyLogRecords(platform, { signal, progress: (read, all) => seen.push(read, all) }, () => {
    throw new Error('there is no fault');
  });
  expect(records).toBe(builder.events.length);
  expect(seen.slice(-2)).toEqual([records, records]);
  expect((await run("select from log_groups where name like 'verify-%'")).rowCount).toBe(0);
  expect((await run('select from log_cursors where group_id not in (select group_id from log_groups)')).rowCount).toBe(0);
});

test('a log that is rewritten in place, with the ends and times it had, is named record by record, and as events of the journal where it is not read', async () => {
  const [, second, third] = builder.events.filter(({ stream }) => stream === treeId);
  await run(
    `update log_records set value = convert_to(replace(convert_from(value, 'UTF8'), '"seed"', '"seed" '), 'UTF8') where key = $1`,
    [treeId],
  );
  const unread = await verifyRecord(platform, { files: [], signal, log: 'left out' });
  expect(unread.records).toBeNull();
  expect(unread.faults.map(({ what, kind }) => `${what} ${kind}`)).toContain('event changed'); // the journal has one body with it
  const { faults } = await found();
  expect(faults.length).toBeGreaterThan(0);
  expect(faults[0]).toMatch(/^log changed: trees\.\d@\d+ event \S+: the log holds other content than was folded$/);
  await run(
    `update log_records set value = convert_to(replace(convert_from(value, 'UTF8'), '"seed" ', '"seed"'), 'UTF8') where key = $1`,
    [treeId],
  );
  expect((await found()).faults).toEqual([]);

  await run(`update log_records set value = convert_to(replace(convert_from(value, 'UTF8'), $2, $3), 'UTF8') where ${SECOND}`, [
    ...[treeId, second?.id, third?.id],
  ]);
  expect((await found()).faults).toEqual([
    expect.stringMatching(`^log changed: trees\\.\\d@\\d+ event ${second?.id}: the log holds event ${third?.id} in its place$`),
  ]);
});

test('records that are gone, that came from elsewhere, or that the log took at another time are named', async () => {
  const [, second] = builder.events.filter(({ stream }) => stream === treeId);
  await run(`update log_records set received_at = received_at + interval '1 day' where ${SECOND}`, [treeId]);
  expect((await found()).faults).toEqual([
    expect.stringMatching(`^log changed: trees\\.\\d@\\d+ event ${second?.id}: the log took it at .*Z, the journal says .*Z$`),
  ]);
  await run(`update log_records set received_at = received_at - interval '1 day' where ${SECOND}`, [treeId]);
  expect((await found()).faults).toEqual([]);
  await run(`update chain_blocks set offsets = offsets[1:1] || offsets[3:], event_ids = event_ids[1:1] || event_ids[3:],
             digests = substring(digests from 1 for 32) || substring(digests from 65) where topic = 'trees'`);
  expect((await found()).faults[0]).toMatch(`event ${second?.id}: the journal neither holds it nor set it aside`);
  await run(`delete from log_records where ${SECOND}`, [treeId]);
  expect((await found()).faults).toHaveLength(1); // the digests behind it follow one that is not there
});

test('a record that the log lost below its end is named as missing', async () => {
  const [, second] = builder.events.filter(({ stream }) => stream === treeId);
  await run(`delete from log_records where ${SECOND}`, [treeId]);
  expect((await found()).faults).toEqual([
    expect.stringMatching(`^log missing: trees\\.\\d@\\d+ event ${second?.id}: the log no longer holds it$`),
  ]);
});

test('what is no event is compared with the bytes that were set aside', async () => {
  await platform.log.append([{ topic: 'runs', key: runId, value: Buffer.from('no event') }]);
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 20_000 });
  expect((await found()).faults).toEqual([]);
  await run(`update log_records set value = 'another' where value = 'no event'`);
  expect((await found()).faults).toEqual([
    expect.stringMatching(/^log changed: runs\.\d@\d+ was set aside with other bytes than the log holds$/),
  ]);
});

test('events that a key appended past the endpoints to the stream of another owner are named, judgements and administrators aside', async () => {
  const { db } = platform.database;
  const principalOf = async (scopes: Parameters<typeof createKey>[1]['scopes']) =>
    `key:${(await createKey(db, { name: 'k', scopes })).apiKey.keyId}`;
  const [ingest, judge, admin] = [await principalOf(['ingest']), await principalOf(['judge']), await principalOf(['admin'])];
  const reward = builder.events.find(({ type }) => type === 'RewardAssigned');
  if (reward?.type !== 'RewardAssigned') throw new Error('a walk ends with a reward');
  const { rewardId } = reward.data;
  const revised = { rewardId, treeId, value: 2, scorer: { name: 'x', revision: '1' }, reason: '' };
  await append([builder.record('RewardRevised', revised, runId)], { principal: judge, project: 'default' });
  builder.finishRun(runId);
  const end = builder.events.slice(-1);
  await append([{ ...end[0], id: newId() } as (typeof end)[number]], { principal: admin, project: 'default' });
  expect((await found()).faults).toEqual([]);
  await append(end, { principal: ingest, project: 'default' });
  const whose = `in the stream ${runId} of local in project default`;
  const forged = `event ${end[0]?.id}: RunFinished by ${ingest} in project default, ${whose}`;
  expect((await found()).faults).toEqual([expect.stringMatching(`^event foreign: runs\\.\\d@\\d+ ${forged}$`)]);
});

test('events of a key that replaces the owner of a stream are no fault', async () => {
  const { db } = platform.database;
  const { apiKey } = await createKey(db, { name: 'k', scopes: ['ingest'] });
  const before = (await found()).faults;
  const own = new EventBuilder('replaced');
  const run = own.run();
  await append(own.events, { principal: `key:${apiKey.keyId}`, project: 'default' });
  const replaced = await replaceKey(db, apiKey.keyId);
  if (replaced.kind !== 'replaced') throw new Error(`the key was not replaced: ${replaced.kind}`);
  own.finishRun(run);
  await append(own.events.slice(-1), { principal: `key:${replaced.apiKey.keyId}`, project: 'default' });
  expect((await found()).faults).toEqual(before);
});
