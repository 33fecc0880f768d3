import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { prepareEvents } from '../../append/prepare-events.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { DEFAULT_STAMP } from '../../events/envelope.ts';
import type { Subscription } from '../../log/event-log.ts';
import { partitionForKey } from '../../log/partition-for-key.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { CHAIN_START, chainDigest } from '../../projections/journal-chain/chain.ts';
import { runProjections } from '../../projections/runner.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { verifyRecord } from './verify-record.ts';

const signal = new AbortController().signal;
let platform: Platform & { readonly home: string };
let runner: Subscription;
let builder: EventBuilder;
let tree: { readonly treeId: string };
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-anchor-'));
  platform = await openTestPlatform();
  runner = await runProjections({ log: platform.log, database: platform.database });
  builder = new EventBuilder('verified');
  const opened = builder.tree(builder.run(), 'a');
  builder.walk(opened, 0, 4, 1);
  tree = opened;
  await append();
});
afterEach(async () => {
  await runner.close();
  await platform.close();
  await rm(folder, { recursive: true });
});

let appended = 0;
/** Appends what the builder has recorded since, and waits until it is folded. */
async function append(partition?: number): Promise<void> {
  if (partition === undefined) appended = 0;
  const records = await prepareEvents(builder.events.slice(appended), platform.blobs, DEFAULT_STAMP);
  appended = builder.events.length;
  await platform.log.append(partition === undefined ? records : records.map((record) => ({ ...record, partition })));
  await settled();
}
const settled = async () => waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 20_000 });

const run = (statement: string, values: unknown[] = []) => platform.database.pool.query(statement, values);
const found = async (anchor?: { anchor: string; key: string }, log: 'read' | 'left out' = 'read') => {
  const { faulty, faults, anchored } = await verifyRecord(platform, { files: [], signal, log, ...(anchor ? { anchor } : {}) });
  expect(faults).toHaveLength(faulty);
  return { anchored, faults: faults.map(({ what, kind, place }) => `${what} ${kind}: ${place}`) };
};

describe('verify compares log, journal and read models', () => {
  test('an intact record has no fault', async () => {
    expect(await found()).toEqual({ anchored: null, faults: [] });
  });

  test('rows without an event and events without a row are named', async () => {
    const { rows } = await run('delete from step_tree_v3.steps where depth = 2 returning step_id');
    await run("update rewards_v4.rewards set reward_id = '00000000-0000-4000-8000-000000000001' where true");
    const reward = builder.events.find((event) => event.type === 'RewardAssigned');
    const { faults } = await found();
    expect(faults).toContain(`read model missing: step-tree: steps ${rows[0]?.step_id}`);
    expect(faults).toContain(`read model missing: rewards: rewards ${reward?.data.rewardId}`);
    expect(faults).toContain('read model inserted: rewards: rewards 00000000-0000-4000-8000-000000000001');
    expect(faults).toContainEqual(expect.stringMatching(/^read model changed: run_counts of run /));
    expect(faults).toHaveLength(4);
  });

  test('events outside of the partition that their stream chooses are named', async () => {
    const home = partitionForKey(tree.treeId, 4);
    builder.walk(tree as Parameters<EventBuilder['walk']>[0], 1, 1, 1);
    await append((home + 1) % 4);
    const { faults } = await found();
    const moved = faults.filter((fault) => fault.startsWith('event moved: '));
    expect(moved.length).toBeGreaterThan(0);
    expect(moved[0]).toMatch(
      new RegExp(`^event moved: trees\\.${(home + 1) % 4}@0 event .* stream ${tree.treeId} does not belong there`),
    );
  });

  test('an event under the id of an event of another stream is named with both streams, and is no fault', async () => {
    const [victim] = builder.events.filter(({ type }) => type === 'StepTaken');
    const runId = builder.run('another');
    const forged = builder.events.at(-1);
    if (!victim || !forged) throw new Error('a walk has steps, and a run begins with an event');
    const events = [{ ...forged, id: victim.id }];
    await platform.log.append(await prepareEvents(events, platform.blobs, DEFAULT_STAMP));
    await settled();
    const { faulty, foreign, foreignIds } = await verifyRecord(platform, { files: [], signal });
    const streams = [`${runId} of runs`, `${victim.stream} of trees`];
    expect({ faulty, foreign, foreignIds }).toEqual({ faulty: 0, foreign: 1, foreignIds: [{ eventId: victim.id, streams }] });
  });

  test('an object of free-form JSON that looks like a payload is none', async () => {
    const config = { model: { blob: 'a'.repeat(64), size: 70_000, mediaType: 'text/plain; charset=utf-8' } };
    builder.run('look-alike', { config });
    await append(0);
    expect(await found()).toEqual({ anchored: null, faults: [] });
  });

  test('offsets that were passed without being folded are named as holes', async () => {
    await runner.close();
    builder.run('passed over');
    const [record] = await prepareEvents(builder.events.slice(-1), platform.blobs, DEFAULT_STAMP);
    const [receipt] = await platform.log.append(record ? [record] : []);
    const { partition = 0, offset = 0 } = receipt ?? {};
    await run(
      `insert into cursors (projection, version, topic, partition, next_offset) select name, version, 'runs', $1, $2 from projections
       on conflict (projection, version, topic, partition) do update set next_offset = $2`,
      [partition, offset + 1],
    );
    const hole = `event missing: runs.${partition} from ${offset} to ${offset + 1}: the log has records that were never folded`;
    const passed = `log foreign: runs.${partition}@${offset} event ${builder.events.at(-1)?.id}: the journal neither holds it nor set it aside`;
    expect((await found()).faults).toEqual([hole, passed]);
  });
});

describe('an anchor outside of the database', () => {
  const files = () => ({ anchor: join(folder, 'heads.json'), key: join(folder, 'heads.key') });

  /** Changes the last event of the tree in the journal, and computes the chain of its partition again. */
  async function rewrite(): Promise<void> {
    const partition = partitionForKey(tree.treeId, 4);
    const read = await run(
      `select "offset", event_id, body from events where topic = 'trees' and partition = $1 order by "offset"`,
      [partition],
    );
    const bodies = read.rows.map(({ body }, i) => (i === 1 ? String(body).replace('"seed"', '"seed" ') : body));
    let before: Uint8Array = CHAIN_START;
    const digests = read.rows.map(({ offset }, i) => {
      before = chainDigest(before, offset, bodies[i]);
      return before;
    });
    expect(bodies[1]).not.toBe(read.rows[1]?.body);
    await run(`update journal_v1.events set body = $3 where topic = 'trees' and partition = $1 and "offset" = $2`, [
      partition,
      read.rows[1]?.offset,
      bodies[1],
    ]);
    await run("update chain_blocks set digests = $2 where topic = 'trees' and partition = $1", [
      partition,
      Buffer.concat(digests),
    ]);
  }

  test('a database whose journal was rewritten with its chain is intact by itself, and not by its log or its anchor', async () => {
    const first = await found(files());
    expect(first.faults).toEqual([]);
    expect(first.anchored).toBeGreaterThan(0);
    expect((await stat(files().key)).mode & 0o777).toBe(0o600);
    await rewrite();
    expect((await found(undefined, 'left out')).faults).toEqual([]);
    const [, second] = builder.events.filter(({ stream }) => stream === tree.treeId);
    expect((await found()).faults[0]).toMatch(
      `log changed: trees.${partitionForKey(tree.treeId, 4)}@1 event ${second?.id}: the log holds other content than was folded`,
    );
    const file = await readFile(files().anchor, 'utf8');
    const { anchored, faults } = await found(files(), 'left out');
    expect(anchored).toBeNull();
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(/^anchor changed: trees\.\d@\d+, anchored 2.*Z: it or a record before it was rewritten$/);
    expect(await readFile(files().anchor, 'utf8')).toBe(file); // what was rewritten is not anchored
  });

  test('a record that grows stays within its anchor, which is written again', async () => {
    await found(files());
    const before = JSON.parse(await readFile(files().anchor, 'utf8'));
    builder.finishRun(builder.run('another'));
    await append();
    expect((await found(files())).faults).toEqual([]);
    const after = JSON.parse(await readFile(files().anchor, 'utf8'));
    const records = (heads: readonly { offset: number }[]) => heads.reduce((sum, { offset }) => sum + offset + 1, 0);
    expect(records(after.heads)).toBeGreaterThan(records(before.heads));
    await run("delete from chain_blocks where topic = 'trees'");
    expect((await found(files())).faults.some((fault) => /^anchor missing: trees\.\d@/.test(fault))).toBe(true);
  });

  test('an anchor that was edited, or is signed by another key, is named; without its key nothing is compared', async () => {
    await found(files());
    const text = await readFile(files().anchor, 'utf8');
    await writeFile(files().anchor, text.replace('"offset": 0', '"offset": 1').replace(/"at": "2/, '"at": "1'));
    expect((await found(files())).faults).toEqual([`anchor changed: ${files().anchor}: its signature is not by ${files().key}`]);
    await rm(files().key);
    await expect(found(files())).rejects.toThrow(`the key ${files().key} that signed ${files().anchor} is missing`);
    await writeFile(files().anchor, '{}');
    await expect(found(files())).rejects.toThrow(`${files().anchor} is no anchor of espalier`);
  });
});
