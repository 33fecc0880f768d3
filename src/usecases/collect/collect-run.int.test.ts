import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Appender, createAppender } from '../../append/appender.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import { openTextCraft } from '../../environments/textcraft/textcraft.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import type { Subscription } from '../../log/event-log.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { createPolicy } from '../../policies/policy-spec.ts';
import { runProjections } from '../../projections/runner.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { runDigest } from '../datasets/run-digest.ts';
import { collectRun } from './collect-run.ts';
import { treeIdOf } from './collect-tree.ts';
import type { CollectPlan } from './plan.ts';
import { nothingRecorded, readRecordedRun } from './recorded-run.ts';

let platform: Platform;
let projector: Subscription;
let kind: EnvironmentKind;
beforeAll(async () => {
  platform = await openTestPlatform();
  projector = await runProjections({ log: platform.log, database: platform.database });
  kind = await openTextCraft();
});
afterAll(async () => {
  await projector.close();
  await kind.close();
  await platform.close();
});

const plan: CollectPlan = {
  environment: 'textcraft',
  tasks: [
    { alias: '0', rollouts: 3, branching: 'root' },
    { alias: '40', rollouts: 2, branching: 'root' },
    { alias: '7', rollouts: 6, branching: 'anywhere' },
  ],
  taskSeed: 0,
  policy: 'planner:0.4',
  temperature: 1,
  maxSteps: 12,
  search: null,
};

/** An appender that dies after so many calls, as a killed process does. */
function dyingAfter(calls: number, appender: Appender): Appender {
  let left = calls;
  return {
    append: (drafts) => (left-- > 0 ? appender.append(drafts) : Promise.reject(new Error('killed'))),
  };
}

async function settle(): Promise<void> {
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 20_000 });
}

async function collect(runId: string, limit: number): Promise<'completed' | 'killed'> {
  await settle();
  const { db } = platform.database;
  const recorded = await readRecordedRun(
    db,
    runId,
    (i) => treeIdOf(runId, plan.tasks[i]!, i),
    async () => '',
    async () => new Uint8Array(),
  );
  const sequenceOf = async (stream: string) => {
    const row = await db.selectFrom('stream_producers').select('sequence').where('stream', '=', stream).executeTakeFirst();
    return row ? row.sequence + 1 : 0;
  };
  const { log, blobs } = platform;
  const appender = createAppender({ log, blobs, producer: { name: 'collector', version: 'test' }, clock: Date.now, sequenceOf });
  const policy = await createPolicy({ kind: 'planner', epsilon: 0.4 });
  try {
    await collectRun({
      ...{ runId, name: 'test', seed: 5, plan, codeVersion: 'test', kind, policy, recorded, concurrency: 2, clock: Date.now },
      appender: dyingAfter(limit, appender),
      signal: new AbortController().signal,
    });
    return 'completed';
  } catch (error) {
    if ((error as Error).message !== 'killed') throw error;
    return 'killed';
  } finally {
    await settle();
  }
}

describe('collected runs', () => {
  test('a run killed repeatedly loses no step, repeats none, and reaches the trees of an undisturbed one', async () => {
    const whole = newId();
    expect(await collect(whole, Number.POSITIVE_INFINITY)).toBe('completed');
    const { digest } = await runDigest(platform, whole);

    for (const limit of [1, 2, 5, 11, 17]) {
      const runId = newId();
      let kills = 0;
      while ((await collect(runId, limit)) === 'killed') if (++kills > 300) throw new Error('no progress');
      expect(kills).toBeGreaterThan(0);
      expect(await runDigest(platform, runId)).toEqual({ digest, trees: plan.tasks.length });
    }
    const anomalies = await platform.database.db.selectFrom('anomalies').select(['kind', 'detail']).execute();
    expect(anomalies).toEqual([]);
    expect(await platform.database.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
  });

  test('another seed draws other trees, and the same seed the same ones', async () => {
    const digests = new Set<string>();
    for (const seed of [5, 6]) {
      const runId = newId();
      const policy = await createPolicy({ kind: 'random' });
      const { log, blobs } = platform;
      const appender = createAppender({ log, blobs, producer: { name: 'collector', version: 'test' }, clock: Date.now });
      const signal = new AbortController().signal;
      const options = {
        runId,
        name: 'seeds',
        seed,
        plan: { ...plan, policy: 'random' },
        codeVersion: 'test',
        kind,
        policy,
        appender,
      };
      await collectRun({ ...options, recorded: nothingRecorded, concurrency: 3, clock: Date.now, signal });
      await settle();
      digests.add((await runDigest(platform, runId)).digest);
    }
    expect(digests.size).toBe(2);
  });
});
