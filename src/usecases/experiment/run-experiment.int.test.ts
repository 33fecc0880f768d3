import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { encodeWeights, weightsDigest, zeroWeights } from '../../policies/linear/weights.ts';
import { readDatasetsById } from '../../projections/datasets/read-datasets.ts';
import { readEvaluations } from '../../projections/evaluations/read-evaluations.ts';
import { readStages } from '../../projections/experiment-stages/read-stages.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { changedExperiment, parseChange } from './change-experiment.ts';
import { experimentOf } from './declaration/parse-experiment.ts';
import { type DeclaredExperiment, declaredAs, readExperiment } from './record-experiment.ts';
import { reportOf } from './report.ts';
import { runExperiment } from './run-experiment.ts';
import { releasesFolder } from './stages/data-stages.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });

const methods = {
  name: 'methods',
  environment: 'textcraft',
  stages: {
    search: { policy: 'linear', split: 'train', tasks: 2, iterations: 2, candidates: 2, maxDepth: 6, maxSteps: 6 },
    revise: { of: 'search', judge: 'planner-strict' },
    release: { of: 'revise' },
    train: { on: 'release', epochs: 1 },
    evaluate: { policy: { of: 'train' }, split: 'test', tasks: 2, maxSteps: 5 },
  },
  arms: { base: { evaluate: { policy: 'linear' } }, 'agent-r': {} },
};

/** Runs an experiment; returns how each stage came to be there, and the digests that are recorded. */
async function running(declared: DeclaredExperiment, parallel = 1) {
  const { state, stages } = await runExperiment(platform, { declared, signal: new AbortController().signal, parallel });
  const records = await readStages(platform.database.db, [declared.experimentId]);
  return {
    state,
    states: Object.fromEntries(stages.map((stage) => [`${stage.arm} ${stage.stage}`, stage.state])),
    messages: stages.map(({ message }) => message).filter((message) => message !== ''),
    digests: Object.fromEntries(records.map((record) => [`${record.arm} ${record.stage}`, record.output?.digest])),
  };
}

const CHAIN = ['search', 'revise', 'release', 'train', 'evaluate'];
const statesOf = (of: (stage: string) => string) => ({
  'base evaluate': of('base'),
  ...Object.fromEntries(CHAIN.map((stage) => [`agent-r ${stage}`, of(stage)])),
});

describe('an experiment', () => {
  const first = declaredAs(experimentOf(methods));

  test('every stage is run once; the same experiment again does nothing and comes to the same', async () => {
    const ran = await running(first);
    expect(ran).toMatchObject({ state: 'completed', states: statesOf(() => 'run') });
    const again = await running(await readExperiment(platform, first.experimentId));
    expect(again).toEqual({ ...ran, states: statesOf(() => 'kept') });
    const report = await reportOf(platform.database.db, first);
    expect(report.map(({ arm, seeds, difference }) => [arm, seeds, difference?.to, difference?.pairs])).toEqual([
      ['base', 1, undefined, undefined],
      ['agent-r', 1, 'base', 2],
    ]);
  });

  test('a rerun without a change reuses everything, and differs from the first by nothing', async () => {
    const rerun = declaredAs(first.experiment, first.experimentId);
    const before = await running(first);
    expect(await running(rerun)).toMatchObject({ states: statesOf(() => 'reused'), digests: before.digests });
    const report = await reportOf(platform.database.db, rerun);
    expect(report.map(({ arm, difference }) => [arm, difference?.success?.mean])).toEqual([
      ['base (before)', undefined],
      ['agent-r (before)', undefined],
      ['base', 0],
      ['agent-r', 0],
    ]);
  });

  const changes: [string, string][] = [
    ['release.perTask=1', 'release'],
    ['revise.alpha=0.7', 'revise'],
    ['train.epochs=2', 'train'],
    ['evaluate.rollouts=2', 'evaluate'],
  ];
  test.each(changes)('a rerun with %s repeats what depends on it, and nothing before it', async (change, changedStage) => {
    const rerun = declaredAs(changedExperiment(first.experiment, [parseChange(change)]), first.experimentId);
    const { state, states } = await running(rerun);
    expect(state).toBe('completed');
    expect(states['base evaluate']).toBe(changedStage === 'evaluate' ? 'run' : 'reused');
    for (const stage of CHAIN) {
      if (CHAIN.indexOf(stage) < CHAIN.indexOf(changedStage))
        expect({ stage, state: states[`agent-r ${stage}`] }).toEqual({ stage, state: 'reused' });
      if (stage === changedStage) expect(states[`agent-r ${stage}`]).toBe('run');
    }
  });
});

describe('a stage that fails', () => {
  const arms = { broken: { collect: { tasks: 100_000 } }, fine: {} };
  const failing = {
    name: 'half',
    environment: 'textcraft',
    arms,
    stages: { collect: { policy: 'planner', tasks: 1, rollouts: 1 }, revise: { of: 'collect' } },
  };

  test('what uses it is skipped, the other arms go on, and the reason is recorded', async () => {
    const declared = declaredAs(experimentOf(failing));
    const { state, states, messages } = await running(declared);
    expect({ state, states }).toEqual({
      state: 'failed',
      states: { 'broken collect': 'failed', 'broken revise': 'skipped', 'fine collect': 'run', 'fine revise': 'run' },
    });
    expect(messages[0]).toContain('not 100000; ask for at most');
    const records = await readStages(platform.database.db, [declared.experimentId]);
    expect(records.find(({ outcome }) => outcome === 'failed')).toMatchObject({
      arm: 'broken',
      stage: 'collect',
      message: messages[0],
    });
    expect((await running(declared)).states).toMatchObject({ 'broken collect': 'failed', 'fine collect': 'kept' });
  });
});

test('a stopped experiment goes on where its record ends', async () => {
  const declared = declaredAs(experimentOf({ ...methods, seeds: [77] }));
  const stopping = new AbortController();
  const { state } = await runExperiment(platform, {
    declared,
    signal: stopping.signal,
    onStage: ({ stage }) => stage === 'search' && stopping.abort(),
  });
  expect(state).toBe('stopped');
  const resumed = await running(await readExperiment(platform, declared.experimentId));
  expect(resumed.state).toBe('completed');
  expect(resumed.states).toMatchObject({ 'base evaluate': 'kept', 'agent-r search': 'kept', 'agent-r train': 'run' });
});

describe('arms at the same time', () => {
  const arms = {
    base: { evaluate: { policy: 'linear' } },
    direct: { revise: { judge: 'direct' } },
    broken: { release: { perTask: 1 }, evaluate: { tasks: 100_000 } },
    'agent-r': {},
  };

  test('each stage of one key is done once, one that fails fails alone, and the states come in the order of the arms', async () => {
    const declared = declaredAs(experimentOf({ ...methods, seeds: [15], arms }));
    const { state, stages } = await runExperiment(platform, { declared, signal: new AbortController().signal, parallel: 8 });
    expect(state).toBe('failed');
    expect(stages.map(({ arm, stage }) => `${arm} ${stage}`)).toEqual(
      declared.experiment.arms.flatMap((arm) => arm.stages.map((stage) => `${arm.name} ${stage.name}`)),
    );
    expect(stages.flatMap(({ arm, stage, state: end, message }) => (end === 'failed' ? [[arm, stage, message]] : []))).toEqual([
      ['broken', 'evaluate', expect.stringContaining('not 100000')],
    ]);
    const records = await readStages(platform.database.db, [declared.experimentId]);
    const done = records.filter(({ outcome, reusedFrom }) => outcome === 'completed' && reusedFrom === null);
    expect(new Set(done.map(({ key }) => key)).size).toBe(done.length);
    expect(stages.filter((stage) => stage.state === 'run')).toHaveLength(done.length);
    expect((await running(declared)).states).toMatchObject({ 'agent-r evaluate': 'kept', 'broken evaluate': 'failed' });
  });
});

test('a released file that is gone is written again where its stage was done before', async () => {
  const stages = {
    collect: { policy: 'planner', split: 'train', tasks: 2, rollouts: 1, maxSteps: 30 },
    release: { of: 'collect' },
    train: { on: 'release', epochs: 1 },
  };
  const declared = declaredAs(experimentOf({ name: 'restored', environment: 'textcraft', stages }));
  const { digests } = await running(declared);
  const folder = releasesFolder(platform.config.home);
  const file = async () => {
    const records = await readStages(platform.database.db, [declared.experimentId]);
    const [dataset] = await readDatasetsById(platform.database.db, [
      records.find(({ stage }) => stage === 'release')?.output?.datasetId ?? '',
    ]);
    return join(folder, `${dataset?.name}.jsonl`);
  };
  const before = await readFile(await file());
  await rm(await file());
  // the training is another one, and reads the file
  const rerun = declaredAs(changedExperiment(declared.experiment, [parseChange('train.epochs=2')]), declared.experimentId);
  const { stages: states } = await runExperiment(platform, { declared: rerun, signal: new AbortController().signal });
  expect(states.map(({ stage, state, restored }) => [stage, state, restored])).toEqual([
    ['collect', 'reused', undefined],
    ['release', 'reused', 'its file was written again'],
    ['train', 'run', undefined],
  ]);
  expect(await readFile(await file())).toEqual(before);
  await rm(await file());
  expect(await running(declared)).toMatchObject({ states: { 'main release': 'kept' }, digests });
  expect(await readFile(await file())).toEqual(before);
});

/** The evaluations of an experiment, in the order in which they ended. */
async function evaluationsOf({ experimentId }: DeclaredExperiment) {
  const records = await readStages(platform.database.db, [experimentId]);
  const runs = records.filter(({ kind }) => kind === 'evaluate').flatMap(({ output }) => output?.runIds ?? []);
  const evaluations = await readEvaluations(platform.database.db, runs);
  return runs.map((run) => evaluations.find(({ runId }) => runId === run));
}

test('an evaluation names what its policy was trained on: the releases and runs of all iterations, and the data of the last', async () => {
  const { search, revise, release, train, evaluate } = methods.stages;
  const stages = {
    search,
    revise,
    release,
    train,
    'search-2': { stage: 'search', ...search, policy: { of: 'train' } },
    'release-2': { stage: 'release', of: 'search-2' },
    'train-2': { stage: 'train', on: 'release-2', from: { of: 'train' }, epochs: 1 },
    'evaluate-1': { stage: 'evaluate', ...evaluate },
    'evaluate-2': { stage: 'evaluate', ...evaluate, policy: { of: 'train-2' } },
  };
  const declared = declaredAs(experimentOf({ ...methods, seeds: [5], stages, arms: { 'agent-r': {} } }));
  expect((await running(declared)).state).toBe('completed');
  const records = await readStages(platform.database.db, [declared.experimentId]);
  const outputOf = (name: string) => records.find(({ stage }) => stage === name)?.output;
  const trained = (await evaluationsOf(declared)).map((evaluation) => evaluation?.trained);
  expect(trained.map((data) => [data?.method, data?.iteration])).toEqual([
    ['agent-r', 1],
    ['good-only', 2],
  ]);
  expect(trained[0]).toMatchObject({
    weights: outputOf('train')?.digest,
    runIds: outputOf('search')?.runIds,
    datasetIds: [outputOf('release')?.datasetId],
    revisions: outputOf('revise')?.values.verified,
    revisionLength: outputOf('revise')?.values.length,
    actions: outputOf('train')?.values.actions,
  });
  expect(trained[1]).toMatchObject({
    weights: outputOf('train-2')?.digest,
    runIds: [...(outputOf('search')?.runIds ?? []), ...(outputOf('search-2')?.runIds ?? [])],
    datasetIds: [outputOf('release')?.datasetId, outputOf('release-2')?.datasetId],
    good: outputOf('release-2')?.values.good,
    revisions: 0,
    revisionLength: null,
  });
});

test('a program that trains is given the release in its format; a result is asked for once, and a failed one again', async () => {
  const { home } = platform.config;
  const weights = join(home, 'lesson.espw');
  await writeFile(weights, encodeWeights({ ...zeroWeights(), version: 7 }));
  const requests = join(home, 'requests');
  const outside = (command: string) =>
    declaredAs(
      experimentOf({
        name: 'outside',
        environment: 'textcraft',
        stages: {
          collect: { policy: 'planner', split: 'train', tasks: 2, rollouts: 1, maxSteps: 30 },
          release: { of: 'collect', format: 'xtuner' },
          train: { on: 'release', command },
          evaluate: { policy: { of: 'train' }, split: 'test', tasks: 1, maxSteps: 5 },
        },
      }),
    );
  expect((await running(outside('exit 9'))).messages.join()).toContain('the trainer ended with 9');
  expect((await running(outside('echo w > "$ESPALIER_OUT/weights.espw"'))).messages.join()).toContain(
    'policy that cannot be used',
  );
  const teach =
    outside(`grep -q '^{"conversation":' "$ESPALIER_DATASET" && grep -q "$ESPALIER_DATASET_SHA256" "$ESPALIER_MANIFEST" &&
    echo "$ESPALIER_METHOD $ESPALIER_ITERATION" >> ${requests} && cp ${weights} "$ESPALIER_OUT/weights.espw"`);
  expect((await running(teach)).state).toBe('completed');
  expect((await running(teach)).states).toMatchObject({ 'main train': 'kept' });
  expect(await readFile(requests, 'utf8')).toBe('good-only 1\n');
  const [evaluation] = await evaluationsOf(teach);
  expect(evaluation).toMatchObject({
    policy: { version: 7 },
    trained: { weights: weightsDigest({ ...zeroWeights(), version: 7 }), method: 'good-only' },
  });
});
