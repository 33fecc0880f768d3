import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { serveApi } from '../../app/serve-api.ts';
import { TOPICS } from '../../events/catalogue.ts';
import type { HttpServer } from '../../http/server.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { SILENT } from '../../runtime/logger.ts';
import { appenderAs } from '../../testing/appender-as.ts';
import { LOCAL } from '../../testing/local-token.ts';
import { aTrainPlan } from '../../testing/train-plan.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { LINEAR_SETTINGS, type TrainingSettings, trainingSettings } from '../../training/backends/training-settings.ts';
import { train } from './train.ts';

const SETTINGS: Readonly<Record<string, TrainingSettings>> = {
  ...LINEAR_SETTINGS,
  penalised: trainingSettings.parse({
    ...LINEAR_SETTINGS.grpo,
    kl: { kind: 'k1', coefficient: 0.2, in: 'reward', controller: { kind: 'adaptive', target: 0.01, horizon: 50 } },
    correction: { weights: { level: 'token' }, rejection: { rules: 'token_k1', bounds: '0.5_2' } },
    aggregation: 'seq-mean-token-sum',
  }),
  remax: trainingSettings.parse({
    ...LINEAR_SETTINGS.grpo,
    objective: { kind: 'policy-gradient', estimator: { name: 'remax' }, loss: { name: 'dual_clip' } },
  }),
};

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
let server: HttpServer;
beforeAll(async () => {
  server = await serveApi(platform, SILENT);
});
afterAll(async () => {
  await server.close();
});

interface Answered {
  readonly ordinal: number;
  readonly update: { readonly metrics: Readonly<Record<string, number>> };
  readonly estimates: {
    readonly estimator: { readonly name: string } | null;
    readonly reason: string | null;
    readonly agrees: boolean | null;
    readonly rewardsAt: string;
    readonly samples: readonly {
      readonly steps: readonly {
        readonly advantage: number;
        readonly value: number | null;
        readonly step: { readonly rewards: readonly { readonly id: string }[]; readonly tree: { readonly id: string } };
      }[];
    }[];
  };
}

async function batchesOf(policyId: string, rewards: 'now' | 'trained'): Promise<readonly Answered[]> {
  const query = `query ($id: String!) { policy(id: $id) { batches(first: 2, state: trained) { nodes { ordinal update { metrics } estimates(rewards: ${rewards}) { estimator { name } reason agrees rewardsAt
    samples { steps { advantage value step { tree { id } rewards { id } } } } } } } } }`;
  const response = await fetch(`${server.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...LOCAL },
    body: JSON.stringify({ query, variables: { id: policyId } }),
  });
  const { data, errors } = await response.json();
  expect(errors).toBeUndefined();
  return data.policy.batches.nodes;
}

async function trainPolicy(kind: string): Promise<string> {
  const settings = SETTINGS[kind] ?? LINEAR_SETTINGS.grpo;
  const world = { environment: 'textcraft', maxSteps: 10, tasks: 30, zeroVariance: 'keep' } as const;
  const plan = aTrainPlan({ policyId: kind, updates: 2, settings, ...world });
  await train(platform, { plan, concurrency: 3, signal: new AbortController().signal, logger: SILENT });
  return plan.policyId;
}

async function revise(treeId: string, rewardId: string, value: number): Promise<void> {
  const { log, blobs, database } = platform;
  const appender = appenderAs('judge', { log, blobs });
  const scorer = { name: 'judge', revision: '2' };
  await appender.append([
    { type: 'RewardRevised', data: { rewardId, treeId, value, scorer, reason: 'seen again' }, correlationId: treeId },
  ]);
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: 60_000 });
}

describe('advantages of a trained batch, computed again', () => {
  test('the advantages equal those that the trainer used, with the values of its critic', async () => {
    const batches = await batchesOf(await trainPolicy('ppo'), 'now');
    expect(batches.map(({ ordinal }) => ordinal)).toEqual([1, 0]);
    for (const { update, estimates } of batches) {
      expect(estimates).toMatchObject({ reason: null, agrees: true });
      const steps = estimates.samples.flatMap((sample) => sample.steps);
      const mean = steps.reduce((sum, { advantage }) => sum + advantage, 0) / steps.length;
      const deviation = Math.sqrt(steps.reduce((sum, { advantage }) => sum + (advantage - mean) ** 2, 0) / steps.length);
      expect(deviation).toBeGreaterThan(0);
      expect(mean).toBeCloseTo(update.metrics.advantageMean ?? Number.NaN, 12);
      expect(deviation).toBeCloseTo(update.metrics.advantageDeviation ?? Number.NaN, 12);
      expect(steps.every(({ value }) => value !== null)).toBe(true);
    }
  });

  test('the advantages equal those of a trainer that took KL from the rewards by a coefficient that moved', async () => {
    const batches = await batchesOf(await trainPolicy('penalised'), 'now');
    const [second, first] = batches.map(({ update }) => update.metrics);
    expect(first).toMatchObject({ rewardKl: 0, klCoefficient: 0.2, rolloutRejectedTokens: 0 });
    expect(second?.klCoefficient).toBeLessThan(0.2);
    expect(second?.rewardKl).not.toBe(0);
    expect(batches.map(({ estimates }) => [estimates.reason, estimates.agrees])).toEqual([
      [null, true],
      [null, true],
    ]);
  });

  test('a training by ReMax collects a greedy rollout for each of its groups, and compares with that', async () => {
    const batches = await batchesOf(await trainPolicy('remax'), 'now');
    expect(batches.map(({ estimates }) => [estimates.estimator?.name, estimates.reason, estimates.agrees])).toEqual([
      ['remax', null, true],
      ['remax', null, true],
    ]);
    const siblings = await platform.database.db
      .selectFrom('trainingRuns as r')
      .innerJoin('groups as g', 'g.runId', 'r.runId')
      .innerJoin('samples as s', 's.treeId', 'g.treeId')
      .select(['s.treeId', 's.oldestVersion'])
      .where('r.policyId', '=', 'remax')
      .where('r.channel', '=', 'baseline')
      .execute();
    expect(new Set(siblings.map(({ treeId }) => treeId)).size).toBe(siblings.length); // one rollout a tree
    expect(new Set(siblings.map(({ oldestVersion }) => oldestVersion))).toEqual(new Set([0, 1]));
  });

  test('a training by ReMax that is not strictly on-policy is refused with the remedy', async () => {
    const plan = aTrainPlan({
      policyId: 'loose',
      settings: SETTINGS.remax ?? LINEAR_SETTINGS.grpo,
      mode: 'bounded',
      maxStaleness: 1,
    });
    const training = { plan, concurrency: 1, signal: new AbortController().signal, logger: SILENT };
    await expect(train(platform, training)).rejects.toThrow(/compares with greedy rollouts .* with --staleness 0$/);
  });

  test('the advantages of the training survive a revised reward, and the present ones then disagree with the update', async () => {
    const policyId = await trainPolicy('revised');
    const before = await batchesOf(policyId, 'trained');
    const step = before
      .flatMap(({ estimates }) => estimates.samples.flatMap(({ steps }) => steps.map((each) => each.step)))
      .find(({ rewards }) => rewards.length > 0);
    if (!step) throw new Error('a step of the batches has a reward');
    await revise(step.tree.id, step.rewards[0]?.id ?? '', 5);
    expect(await batchesOf(policyId, 'trained')).toEqual(before);
    expect(before.map(({ estimates }) => estimates.agrees)).toEqual([true, true]);
    const now = await batchesOf(policyId, 'now');
    expect(now.map(({ estimates }) => estimates.agrees).sort()).toEqual([false, true]);
    expect(now.every(({ estimates }, i) => estimates.rewardsAt !== before[i]?.estimates.rewardsAt)).toBe(true);
  });
});
