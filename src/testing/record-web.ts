import { createRandom, type Random } from '../domain/random/random.ts';
import type { DataOf } from '../events/catalogue.ts';
import { derivedId } from '../events/derived-id.ts';
import { manifestHashOf } from '../events/manifest-hash.ts';
import type { EventBuilder } from './event-builder.ts';
import { TEST_RULES } from './record-training.ts';

/** Scorers that the rewards of a web are by. */
export const WEB_SCORERS = [
  { name: 'judge', revision: '1' },
  { name: 'judge', revision: '2' },
  { name: 'environment', revision: '1' },
] as const;
const POLICIES = ['web-a', 'Web-B']; // names keep their case

interface DigestedTree {
  readonly treeId: string;
  readonly runId: string;
  /** Its root and all that was taken below it. */
  readonly stepIds: readonly string[];
  readonly rolloutIds: readonly string[];
}

/**
 * Records runs and all that can result from them, drawn by a seed: trees whose rollouts go on from one another, runs forked from
 * their steps, rewards on steps and on rollouts, judged again, releases with and without sources, batches, versions with and
 * without a batch, evaluations that name what their policy was trained on.
 */
export function recordWeb(
  builder: EventBuilder,
  seed: number,
): { readonly trees: readonly DigestedTree[]; readonly runs: readonly string[] } {
  const random = createRandom(seed);
  const runs = ['one', 'two', 'three'].map((name) => builder.run(name));
  const trees = runs.flatMap((runId, r) => ['x', 'y', 'z'].map((name) => recordTree(builder, random, runId, r < 2 ? name : 'z')));
  // the second may be a fork of the first
  for (const name of ['four', 'five']) trees.push(recordFork(builder, random, trees, name));
  for (const each of trees.slice(-2).map(({ runId }) => runId)) runs.push(each);
  const datasets = [0, 1, 2].map((n) => recordRelease(builder, random, trees, n));
  const left = new Map(trees.map(({ treeId, rolloutIds }) => [treeId, [...rolloutIds]]));
  for (const policyId of POLICIES) recordPolicy(builder, random, policyId, left);
  for (let i = 0; i < 4; i++) recordEvaluation(builder, random, { runs, datasets, i });
  return { trees, runs };
}

function recordTree(builder: EventBuilder, random: Random, runId: string, name: string, way = 0): DigestedTree {
  const tree = builder.tree(runId, `${name}-${random.int(1_000_000)}`, {
    plannedRollouts: 3,
    task: {
      taskId: builder.id('task', name),
      environment: 'textcraft',
      serverFingerprint: 'world-1',
      alias: name,
      goal: name,
      observationHash: 'a'.repeat(64),
      depth: null,
      split: null,
    },
  });
  const all: string[] = [tree.rootStepId];
  const depths = new Map([[tree.rootStepId, 0]]);
  const rolloutIds: string[] = [];
  // Steps that no rollout took: those of a fork's way, or the inner ones of a search.
  const untaken = (parent: string): void => {
    const depth = (depths.get(parent) ?? 0) + 1;
    const step = builder.step(tree, null, parent, depth);
    depths.set(step, depth);
    all.push(step);
  };
  for (let i = 0; i < way; i++) untaken(all.at(-1) ?? tree.rootStepId);
  for (let ordinal = 0; ordinal < 3; ordinal++) {
    if (random.int(3) === 0) untaken(random.choice(all));
    const from = random.choice(all);
    const rolloutId = builder.rollout(tree, ordinal, { fromStepId: from });
    let parent = from;
    const length = 1 + random.int(3);
    for (let i = 0; i < length; i++) {
      const depth = (depths.get(parent) ?? 0) + 1;
      parent = builder.step(tree, rolloutId, parent, depth);
      depths.set(parent, depth);
      all.push(parent);
      if (random.int(4) === 0) recordReward(builder, random, tree, parent, null);
    }
    if (random.int(2) === 0) recordReward(builder, random, tree, null, rolloutId);
    builder.finishRollout(tree, rolloutId, parent, { steps: length });
    rolloutIds.push(rolloutId);
  }
  builder.closeTree(tree, 3);
  return { treeId: tree.treeId, runId, stepIds: all, rolloutIds };
}

/** A run that goes on from a step of one of the trees, which may be its root. */
function recordFork(builder: EventBuilder, random: Random, trees: readonly DigestedTree[], name: string): DigestedTree {
  const { runId, treeId, stepIds } = random.choice(trees.slice(-5));
  const fork = { runId, treeId, stepId: random.choice(stepIds) };
  return recordTree(builder, random, builder.run(name, { kind: 'fork', config: { fork } }), 'w', 1 + random.int(3));
}

function recordReward(
  builder: EventBuilder,
  random: Random,
  tree: { readonly treeId: string; readonly runId: string },
  stepId: string | null,
  rolloutId: string | null,
): void {
  const rewardId = builder.reward(tree, stepId, random.int(10) / 4, { rolloutId, scorer: random.choice(WEB_SCORERS) });
  if (random.int(3) > 0) return;
  const data = { rewardId, treeId: tree.treeId, value: random.int(10) / 8, scorer: random.choice(WEB_SCORERS), reason: 'again' };
  builder.record('RewardRevised', data, tree.runId);
}

function recordRelease(builder: EventBuilder, random: Random, trees: readonly DigestedTree[], n: number): string {
  const datasetId = builder.id('dataset', n);
  const sha256 = String(n).repeat(64);
  const sources = random.shuffle(trees).slice(0, 2);
  const runs = [...new Set(sources.map(({ runId }) => runId))];
  const made = { query: {}, parameters: {}, position: {}, counts: {}, bytes: 1, codeVersion: '1', runs };
  const frozen = { name: 'web', version: n + 1, format: 'dpo', formatVersion: 1, sha256, ...made };
  builder.record('DatasetReleased', { datasetId, ...frozen }, datasetId);
  if (n === 2) return datasetId; // made before sources were recorded
  const examples = sources.map(({ treeId, rolloutIds }, i) => {
    const [goodRolloutId, badRolloutId] = random.shuffle(rolloutIds) as [string, string]; // a tree has three
    return { line: 2 * i + 1, lines: 2, kind: 'pair' as const, treeId, goodRolloutId, badRolloutId, revisionId: null };
  });
  builder.record('DatasetSourced', { datasetId, sha256, part: 0, examples }, datasetId);
  return datasetId;
}

function recordPolicy(builder: EventBuilder, random: Random, policyId: string, left: Map<string, string[]>): void {
  const lineageId = derivedId('lineage', policyId);
  const estimator = { name: 'grpo', revision: '1', mode: {} };
  builder.record('TrainingDeclared', { lineageId, policyId, estimator, rules: TEST_RULES, seed: 7, trainer: {} }, lineageId);
  recordVersion(builder, lineageId, policyId, 0, null);
  let previousHash: string | null = null;
  for (let ordinal = 0; ordinal < 3; ordinal++) {
    const treeId = random.choice([...left.keys()]);
    const rolloutIds = random.shuffle(left.get(treeId) ?? []).slice(0, 2);
    left.delete(treeId);
    const batchId = derivedId('batch', lineageId, ordinal);
    const manifest: Omit<DataOf<'BatchPlanned'>, 'manifestHash'> = {
      lineageId,
      policyId,
      batchId,
      ordinal,
      policyVersion: ordinal,
      estimator,
      rules: TEST_RULES,
      seed: 1,
      position: '',
      groups: [{ treeId, rolloutIds }],
      samples: rolloutIds.length,
      tokens: 1,
      shards: [[0]],
      previousHash,
    };
    previousHash = manifestHashOf(manifest);
    builder.record('BatchPlanned', { ...manifest, manifestHash: previousHash }, lineageId);
    recordVersion(builder, lineageId, policyId, ordinal + 1, random.int(4) === 0 ? null : batchId);
  }
}

function recordVersion(
  builder: EventBuilder,
  lineageId: string,
  policyId: string,
  version: number,
  batchId: string | null,
): void {
  const checkpointId = builder.id('checkpoint', policyId, version);
  const update = { version, parentVersion: version === 0 ? null : version - 1, batchId, checkpointId, weights: 'c'.repeat(64) };
  const rest = { estimator: null, loss: null, samples: 0, metrics: {} };
  builder.record('PolicyUpdated', { lineageId, policyId, ...update, ...rest }, lineageId);
}

function recordEvaluation(
  builder: EventBuilder,
  random: Random,
  { runs, datasets, i }: { readonly runs: readonly string[]; readonly datasets: readonly string[]; readonly i: number },
): void {
  const runId = i === 3 ? random.choice(runs) : builder.run(`evaluation ${i}`, { kind: 'evaluate' });
  const trained =
    i === 0
      ? { datasetIds: random.shuffle(datasets).slice(0, 1), runIds: [] }
      : i === 1
        ? { runIds: random.shuffle(runs).slice(0, 1) }
        : null;
  const policy = trained ? { policyId: 'web-cloned', version: i } : { policyId: random.choice(POLICIES), version: random.int(4) };
  const interval = { low: 0, high: 1 };
  builder.record(
    'EvaluationFinished',
    {
      runId,
      policy,
      environment: 'textcraft',
      split: null,
      tasks: 1,
      episodes: 1,
      meanReturn: 0.5,
      successRate: 0.5,
      returnInterval: interval,
      successInterval: interval,
      bootstrap: { confidence: 0.95, resamples: 100, seed: 1 },
      meanSteps: 1,
      repeatedActions: [],
      byDepth: [],
      recovery: i === 2 ? { fromRunId: random.choice(runs) } : null,
      trained: trained && {
        method: 'clone',
        iteration: 1,
        weights: 'd'.repeat(64),
        good: 1,
        revisions: 0,
        actions: 1,
        ...trained,
      },
    },
    runId,
  );
}
