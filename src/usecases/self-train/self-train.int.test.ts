import { createHash } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { newId } from '../../events/new-id.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { decodeWeights, encodeWeights, weightsDigest, zeroWeights } from '../../policies/linear/weights.ts';
import { readDatasetsById, readDatasetsOfName } from '../../projections/datasets/read-datasets.ts';
import { runProjections } from '../../projections/runner.ts';
import { settle } from '../../testing/crashing-run.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { type Method, SELF_TRAIN_DEFAULTS, type SelfTrainPlan } from './plan.ts';
import { type IterationResult, selfTrain } from './self-train.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });

const plan: SelfTrainPlan = {
  ...SELF_TRAIN_DEFAULTS,
  environment: 'textcraft',
  methods: ['base', 'good-only', 'direct', 'agent-r'],
  alphas: [0.5],
  judge: 'planner-strict',
  seeds: [1],
  trainTasks: 4,
  search: { iterations: 2, candidates: 3, maxDepth: 8, exploration: 0.25 },
  testTasks: 3,
  testRollouts: 1,
  maxSteps: 8,
};
const training = (part: Partial<Parameters<typeof selfTrain>[1]> = {}) => ({
  selfTrainId: newId(),
  plan,
  concurrency: 4,
  seedsAtATime: 1,
  signal: new AbortController().signal,
  ...part,
});

/** What came out, without the times. */
function outcomes(results: readonly IterationResult[]) {
  return results.map(({ evaluation: { finishedAt: _, ...evaluation }, ...result }) => ({ ...result, ...evaluation }));
}

/** Does something on a platform of its own. */
async function elsewhere<T>(use: (other: Platform) => Promise<T>): Promise<T> {
  const other = await openTestPlatform();
  const projecting = await runProjections({ log: other.log, database: other.database });
  try {
    return await use(other);
  } finally {
    await projecting.close();
    await other.close();
  }
}

describe('selfTrain', () => {
  test('each method is trained on its own kind of data from the same searches, and every iteration links to its sources', async () => {
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
      .where('experimentId', '=', selfTrainId)
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
      .where('runId', '=', evaluated)
      .execute();
    const metric = (name: string) => metrics.find((row) => row.metric === name)?.value;
    expect(metric('train.revisions')).toBe(agentR?.revisions);
    expect(metric('mined.revision-length')).toBeGreaterThanOrEqual(1);
    expect(metric('train.actions')).toBe(agentR?.actions);
    expect(metric('train.loss.last')).toBeLessThan(metric('train.loss.first') ?? 0);

    // Back from the policy: its release, the file of that, the revisions in it, and the run whose trees they were mined from.
    const [searched = ''] = agentR?.runIds ?? [];
    const datasets = await readDatasetsById(
      platform.database.db,
      [goodOnly, direct, agentR].flatMap((t) => t?.datasetIds ?? []),
    );
    const names = ['agent-r', 'direct', 'good-only'].map((method) => `self-train-${selfTrainId}.seed-1.${method}.1`);
    expect(datasets.map(({ name, version, runs }) => ({ name, version, runs }))).toEqual(
      names.map((name) => ({ name, version: 1, runs: [searched] })),
    );
    const judges = { 'agent-r': /^planner-strict@/, direct: /^direct@/, 'good-only': /^none/ };
    const mined = await platform.database.db
      .selectFrom('revisions')
      .select(['revisionId', 'judge'])
      .where('runId', '=', searched)
      .execute();
    for (const [i, method] of (['agent-r', 'direct', 'good-only'] as const).entries()) {
      const file = await readFile(join(platform.config.home, 'self-train', selfTrainId, `${names[i]}.jsonl`));
      expect(createHash('sha256').update(file).digest('hex')).toBe(datasets[i]?.sha256);
      const rows = file
        .toString('utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).metadata);
      const revised = rows.filter(({ revision }) => revision !== '');
      expect(rows).toHaveLength((agentR?.good ?? 0) + revised.length);
      expect(revised).toHaveLength([agentR, direct, goodOnly][i]?.revisions ?? -1);
      for (const { revision, state } of revised) {
        expect(state).toBe('verified');
        expect(mined.find(({ revisionId }) => revisionId === revision)?.judge).toMatch(judges[method]);
      }
    }
  });

  test('a self-training stopped midway and resumed reaches the weights and results of an undisturbed one, and repeats nothing', async () => {
    const method: Method = 'agent-r';
    const small = { ...plan, methods: [method], alphas: [0.5, 0.7], testTasks: 1 };
    const { selfTrainId } = training();
    const undisturbed = await elsewhere((other) => selfTrain(other, training({ selfTrainId, plan: small })));
    const stopping = new AbortController();
    const stopped = await selfTrain(
      platform,
      training({
        selfTrainId,
        plan: small,
        signal: stopping.signal,
        onResult: ({ iteration }) => iteration === 1 && stopping.abort(),
      }),
    );
    expect(stopped.map(({ iteration }) => iteration)).toEqual([0, 1]);
    const resumed = await selfTrain(platform, training({ selfTrainId, plan: small }));
    expect(outcomes(resumed)).toEqual(outcomes(undisturbed));
    await settle(platform);
    expect(await platform.database.db.selectFrom('anomalies').select(['kind', 'detail']).execute()).toEqual([]);
    expect(await platform.database.db.selectFrom('quarantine').select(['reason']).execute()).toEqual([]);
  });

  test('an external trainer trains on the release in its format; a result is requested once, and a failed one can be repeated', async () => {
    const { home } = platform.config;
    const { selfTrainId } = training();
    const outside = { ...plan, methods: ['good-only'] as const, alphas: [0.5, 0.5], trainer: { format: 'xtuner' } as const };
    const asking = (command: string) =>
      selfTrain(platform, training({ selfTrainId, plan: outside, trainer: { command, timeoutMs: 60_000 } }));
    await expect(asking('exit 9')).rejects.toThrow('the trainer ended with 9');
    await expect(asking('echo w > "$ESPALIER_OUT/weights.espw"')).rejects.toThrow(
      'policy that cannot be used: these bytes are no',
    );
    await expect(selfTrain(platform, training({ selfTrainId, plan: outside }))).rejects.toThrow('name its command');

    const lesson = join(home, 'lesson.espw');
    await writeFile(lesson, encodeWeights({ ...zeroWeights(), version: 7 }));
    const counted = join(home, 'asked');
    const teach = `grep -q '^{"conversation":' "$ESPALIER_DATASET" && grep -q "$ESPALIER_DATASET_SHA256" "$ESPALIER_MANIFEST" &&
      echo "$ESPALIER_ITERATION $ESPALIER_POLICY" >> ${counted} && cp ${lesson} "$ESPALIER_OUT/weights.espw"`;
    const results = await asking(teach);
    const [first, second] = results.slice(1).map(({ evaluation }) => evaluation);
    expect(first?.policy.version).toBe(7);
    expect(first?.trained).toMatchObject({
      weights: weightsDigest({ ...zeroWeights(), version: 7 }),
      datasetIds: [expect.any(String)],
    });
    expect(second?.trained?.datasetIds).toEqual([...(first?.trained?.datasetIds ?? []), expect.any(String)]);
    const asked = (await readFile(counted, 'utf8')).trimEnd().split('\n');
    expect(asked.map((line) => line.slice(0, 1))).toEqual(['1', '2']);
    expect(asked[1]).toContain(`${first?.trained?.weights}.espw`);
    expect(await asking('exit 9')).toEqual(results);
  });

  test('a release whose file is lost is written again with the same bytes, and a changed file is not trained on', async () => {
    const { selfTrainId } = training();
    const small = { ...plan, methods: ['good-only'] as const };
    const results = await selfTrain(platform, training({ selfTrainId, plan: small }));
    const name = `self-train-${selfTrainId}.seed-1.good-only.1`;
    const path = join(platform.config.home, 'self-train', selfTrainId, `${name}.jsonl`);
    const bytes = await readFile(path);
    await rm(path);
    expect(await selfTrain(platform, training({ selfTrainId, plan: small }))).toEqual(results);
    expect(await readFile(path)).toEqual(bytes);
    expect(await readDatasetsOfName(platform.database.db, name)).toHaveLength(1);
    await writeFile(path, bytes.toString('utf8').replace('"weight":1', '"weight":0'));
    await expect(selfTrain(platform, training({ selfTrainId, plan: small }))).rejects.toThrow('is not what was released');
  });

  test('impossible thresholds, an untrainable policy, an unfit judge, and another plan under the same id are refused', async () => {
    await expect(selfTrain(platform, training({ plan: { ...plan, alphas: [50] } }))).rejects.toThrow('alpha is 50');
    await expect(selfTrain(platform, training({ plan: { ...plan, policy: 'planner' } }))).rejects.toThrow(
      'only the linear policy',
    );
    await expect(selfTrain(platform, training({ plan: { ...plan, judge: 'self' } }))).rejects.toThrow(
      'no model that can be asked',
    );
    const { selfTrainId } = training();
    const tiny = { ...plan, methods: ['base'] as const };
    await selfTrain(platform, training({ selfTrainId, plan: tiny }));
    await settle(platform);
    await expect(selfTrain(platform, training({ selfTrainId, plan: { ...tiny, maxSteps: 9 } }))).rejects.toThrow(
      'was begun with another plan',
    );
  });
});
