import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../events/new-id.ts';
import type { Subscription } from '../../log/event-log.ts';
import { decodeWeights } from '../../policies/linear/weights.ts';
import { runProjections } from '../../projections/runner.ts';
import { settle } from '../../testing/crashing-run.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import type { Platform } from '../open-platform.ts';
import { SELF_TRAIN_DEFAULTS, type SelfTrainPlan } from './plan.ts';
import { type IterationResult, selfTrain } from './self-train.ts';
import { summarise } from './summarise.ts';

let platform: Platform & { readonly home: string };
let projector: Subscription;
beforeAll(async () => {
  platform = await openTestPlatform();
  projector = await runProjections({ log: platform.log, database: platform.database });
});
afterAll(async () => {
  await projector.close();
  await platform.close();
});

const plan: SelfTrainPlan = {
  ...SELF_TRAIN_DEFAULTS,
  environment: 'textcraft',
  methods: ['base', 'good-only', 'direct', 'agent-r'],
  alphas: [0.5],
  judge: 'planner-strict',
  seeds: [1],
  trainTasks: 6,
  search: { iterations: 2, candidates: 4, maxDepth: 10, exploration: 0.25 },
  testTasks: 4,
  testRollouts: 1,
  maxSteps: 8,
};
const training = (part: Partial<Parameters<typeof selfTrain>[1]> = {}) => ({
  ...{ selfTrainId: newId(), plan, concurrency: 4, seedsAtATime: 1, signal: new AbortController().signal },
  ...part,
});

/** What came out, without the names of runs and the times. */
function outcomes(results: readonly IterationResult[]) {
  return results.map(({ method, seed, iteration, evaluation }) => {
    const { successRate, meanSteps, policy, trained } = evaluation;
    const { runIds: _, ...rest } = trained ?? { runIds: [] };
    return { method, seed, iteration, successRate, meanSteps, policy, trained: rest };
  });
}

describe('selfTrain', () => {
  test('trains each method on its own kind of data, from the same searches, and links every iteration to what made it', async () => {
    const { selfTrainId } = training();
    const results = await selfTrain(platform, training({ selfTrainId }));
    expect(results.map(({ method, iteration }) => `${method} ${iteration}`)).toEqual([
      ...['base 0', 'good-only 0', 'good-only 1', 'direct 0', 'direct 1', 'agent-r 0', 'agent-r 1'],
    ]);
    const [goodOnly, direct, agentR] = ['good-only', 'direct', 'agent-r'].map(
      (method) => results.find((result) => result.method === method && result.iteration === 1)?.evaluation.trained,
    );
    expect([goodOnly?.revisions, goodOnly?.runIds, goodOnly?.good]).toEqual([0, direct?.runIds, agentR?.good]);
    expect(goodOnly?.good).toBeGreaterThan(0);
    expect(direct?.revisions).toBeGreaterThan(0);
    expect(agentR?.revisions).toBeGreaterThan(0);
    expect(new Set([goodOnly?.weights, direct?.weights, agentR?.weights]).size).toBe(3);

    const weights = decodeWeights(await readFile(join(platform.config.home, 'weights', `${agentR?.weights}.espw`)));
    expect(weights.version).toBe(1);
    expect((await readdir(join(platform.config.home, 'weights'))).every((name) => /^[0-9a-f]{64}\.espw$/.test(name))).toBe(true);

    await settle(platform);
    const runs = await platform.database.db
      .selectFrom('runs')
      .select(['kind', 'outcome'])
      .where('experiment_id', '=', selfTrainId)
      .orderBy('kind')
      .execute();
    expect(runs).toEqual([
      ...Array.from({ length: 4 }, () => ({ kind: 'evaluate', outcome: 'completed' })),
      { kind: 'search', outcome: 'completed' },
    ]);
    const evaluated = results.at(-1)?.evaluation.runId ?? '';
    const metrics = await platform.database.db
      .selectFrom('metrics')
      .select(['metric', 'value', 'at'])
      .where('run_id', '=', evaluated)
      .execute();
    const metric = (name: string) => metrics.find((row) => row.metric === name)?.value;
    expect(metric('mined.revisions')).toBe(agentR?.revisions);
    expect(metric('mined.revision-length')).toBeGreaterThanOrEqual(1);
    expect(metric('train.actions')).toBe(agentR?.actions);
    expect(metric('train.loss.last')).toBeLessThan(metric('train.loss.first') ?? 0);
  }, 30_000);

  test('stopped in the middle and begun again, it comes to the weights and results of the undisturbed one, and repeats nothing', async () => {
    const small = { ...plan, methods: ['agent-r'] as const, alphas: [0.5, 0.7] };
    const undisturbed = outcomes(await selfTrain(platform, training({ plan: small })));
    const stopping = new AbortController();
    const { selfTrainId } = training();
    const stopped = await selfTrain(
      platform,
      training({
        ...{ selfTrainId, plan: small, signal: stopping.signal },
        onResult: ({ iteration }) => iteration === 1 && stopping.abort(),
      }),
    );
    expect(stopped.map(({ iteration }) => iteration)).toEqual([0, 1]);
    const resumed = await selfTrain(platform, training({ selfTrainId, plan: small }));
    expect(outcomes(resumed)).toEqual(undisturbed);
    await settle(platform);
    expect(await platform.database.db.selectFrom('anomalies').select(['kind', 'detail']).execute()).toEqual([]);
    expect(await platform.database.db.selectFrom('quarantine').select(['reason']).execute()).toEqual([]);
  }, 30_000);

  test('refuses thresholds that accept nothing, and another plan under the same id', async () => {
    await expect(selfTrain(platform, training({ plan: { ...plan, alphas: [50] } }))).rejects.toThrow('alpha is 50');
    const { selfTrainId } = training();
    const tiny = { ...plan, methods: ['base'] as const };
    await selfTrain(platform, training({ selfTrainId, plan: tiny }));
    await settle(platform);
    await expect(selfTrain(platform, training({ selfTrainId, plan: { ...tiny, maxSteps: 9 } }))).rejects.toThrow(
      'was begun with another plan',
    );
  }, 30_000);
});

describe('summarise', () => {
  test('gives the mean over seeds with an interval that lies within what the seeds reached', async () => {
    const results = await selfTrain(platform, training({ plan: { ...plan, methods: ['base'], seeds: [1, 2, 3] } }));
    const [summary, ...others] = summarise(results);
    const rates = results.map(({ evaluation }) => evaluation.successRate);
    expect(others).toEqual([]);
    expect(summary).toMatchObject({ method: 'base', iteration: 0, seeds: 3, good: 0, revisions: 0 });
    expect(summary?.success).toBeCloseTo(rates.reduce((sum, rate) => sum + rate, 0) / 3, 12);
    expect(summary?.interval.low).toBeGreaterThanOrEqual(Math.min(...rates));
    expect(summary?.interval.high).toBeLessThanOrEqual(Math.max(...rates));
  }, 30_000);
});
