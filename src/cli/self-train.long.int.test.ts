import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { createRandom } from '../domain/random/random.ts';
import { newId } from '../events/new-id.ts';
import type { Platform } from '../platform/open-platform.ts';
import { readDatasets } from '../projections/datasets/read-datasets.ts';
import { readEvaluationsOfDatasets } from '../projections/evaluations/read-evaluations.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { type ChildProcess, killRunning, startProcess } from '../testing/worker-process.ts';

type Home = Platform & { readonly home: string };
const opened: Home[] = [];
afterEach(killRunning);
afterAll(async () => {
  for (const platform of opened) await platform.close();
});

async function open(): Promise<Home> {
  const platform = await openTestPlatform();
  opened.push(platform);
  return platform;
}

const id = newId();
const SIZES =
  '--method agent-r --judge planner-strict --alpha 0.5,0.7 --seeds 1 --tasks 3 --search-iterations 2 --candidates 3 --max-depth 8 --test-tasks 2 --rollouts 1 --max-steps 8';
const start = (platform: Home) =>
  startProcess('src/cli/main.ts', ['--json', 'self-train', '--run', id, ...SIZES.split(' ')], environmentOf(platform));

describe('espalier self-train', () => {
  test('a self-training killed with -9 at each stage reaches the table and releases of an undisturbed one, and repeats nothing', async () => {
    const [calm, killed] = [await open(), await open()];
    const undisturbed = start(calm);
    const random = createRandom(5);
    const releases = join(killed.home, 'self-train', id);
    const points: readonly (() => Promise<boolean>)[] = [
      async () => (await eventsOf(killed)).NodeAdded > random.int(40) + 10,
      async () => (await eventsOf(killed)).RevisionComposed > random.int(8),
      async () => existsSync(releases) && readdirSync(releases).some((name) => name.endsWith('.jsonl')),
      async () => (await eventsOf(killed)).DatasetReleased > 0,
    ];
    for (const [i, reached] of points.entries()) {
      const victim = start(killed);
      expect(`${i}: ${await killWhen(victim, reached)}`).toBe(`${i}: SIGKILL`);
    }
    const survivor = start(killed);
    expect(`${await survivor.ended} ${survivor.stderr()}`).toMatch(/^0 /);
    expect(await undisturbed.ended).toBe(0);
    expect(survivor.stdout()).toBe(undisturbed.stdout());
    expect(JSON.parse(survivor.stdout()).summaries).toHaveLength(3);

    const frozen = async ({ database }: Home) =>
      (await readDatasets(database.db)).map(({ name, version, sha256, bytes, counts, runs }) => ({
        name,
        version,
        sha256,
        bytes,
        counts,
        runs,
      }));
    expect(await frozen(killed)).toEqual(await frozen(calm));
    expect(await frozen(calm)).toHaveLength(2);
    const achieved = async ({ database }: Home) =>
      (
        await readEvaluationsOfDatasets(
          database.db,
          (await readDatasets(database.db)).map(({ id }) => id),
        )
      ).map(({ finishedAt: _, ...evaluation }) => evaluation);
    expect(await achieved(killed)).toEqual(await achieved(calm));
    expect(new Set((await achieved(calm)).map(({ trained }) => trained?.weights)).size).toBe(2);
    expect(await distinctEvents(killed)).toEqual(await distinctEvents(calm));
    for (const table of ['anomalies', 'quarantine'] as const)
      expect(await killed.database.db.selectFrom(table).selectAll().execute()).toEqual([]);
  });
});

/** Waits until a point of the work is reached, then kills the process; returns how it ended. */
async function killWhen(victim: ChildProcess, reached: () => Promise<boolean>): Promise<number | string> {
  let over = false;
  void victim.ended.then(() => {
    over = true;
  });
  const deadline = Date.now() + 60_000;
  while (!over && !(await reached())) {
    if (Date.now() > deadline) throw new Error(`the point was never reached; the process said:\n${victim.stderr()}`);
    await delay(2);
  }
  victim.kill('SIGKILL');
  return victim.ended;
}

type Counted = 'NodeAdded' | 'RevisionComposed' | 'DatasetReleased';

/** Counts the events of a platform's journal by type. */
async function eventsOf({ database }: Home): Promise<Readonly<Record<Counted, number>>> {
  const rows = await database.db
    .selectFrom('events')
    .select((e) => ['type', e.fn.countAll<number>().as('count')])
    .groupBy('type')
    .execute();
  const none = { NodeAdded: 0, RevisionComposed: 0, DatasetReleased: 0 };
  return { ...none, ...Object.fromEntries(rows.map(({ type, count }) => [type, Number(count)])) };
}

/**
 * Counts what happened by type: an event that a killed process appended without knowing, and that was appended again, is one.
 * Those that say that a killed process was replaced are left out.
 */
async function distinctEvents({ database }: Home): Promise<Readonly<Record<string, number>>> {
  const rows = await database.db
    .selectFrom('events')
    .select((e) => ['type', e.fn.count<number>('eventId').distinct().as('count')])
    .where('type', 'not in', ['RunResumed', 'TreeResumed'])
    .groupBy('type')
    .orderBy('type')
    .execute();
  return Object.fromEntries(rows.map(({ type, count }) => [type, Number(count)]));
}
