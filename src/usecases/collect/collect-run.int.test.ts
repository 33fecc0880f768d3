import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { EnvironmentKind } from '../../environments/environment.ts';
import { openTextCraft } from '../../environments/textcraft/textcraft.ts';
import { newId } from '../../events/new-id.ts';
import { createPolicy } from '../../policies/policy-spec.ts';
import { appenderAs } from '../../testing/appender-as.ts';
import { settle } from '../../testing/crashing-run.ts';
import { collectMortally } from '../../testing/mortal-collector.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { runDigest } from '../datasets/digest-trees.ts';
import { collectRun } from './collect-run.ts';
import type { CollectPlan } from './plan.ts';
import { nothingRecorded } from './recorded-run.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
let kind: EnvironmentKind;
beforeAll(async () => {
  kind = await openTextCraft();
});
afterAll(() => kind.close());

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

const collect = async (runId: string, appends: number) =>
  collectMortally(platform, {
    runId,
    seed: 5,
    plan,
    kind,
    appends,
    policy: await createPolicy({ kind: 'planner', epsilon: 0.4 }),
  });

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
      const appender = appenderAs('collector', { log, blobs });
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
      await settle(platform);
      digests.add((await runDigest(platform, runId)).digest);
    }
    expect(digests.size).toBe(2);
  });

  test('a tree whose rollouts go one after the other begins first, the others in the order of the plan', async () => {
    const appender = appenderAs('collector', platform);
    const begun: string[] = [];
    const watched: typeof appender = {
      append(drafts) {
        for (const draft of drafts) if (draft.type === 'TreeOpened') begun.push(draft.data.task.alias);
        return appender.append(drafts);
      },
    };
    await collectRun({
      runId: newId(),
      name: 'order',
      seed: 5,
      plan: { ...plan, policy: 'random' },
      codeVersion: 'test',
      kind,
      policy: await createPolicy({ kind: 'random' }),
      appender: watched,
      recorded: nothingRecorded,
      concurrency: 1,
      clock: Date.now,
      signal: new AbortController().signal,
    });
    expect(begun).toEqual(['7', '0', '40']);
  });
});
