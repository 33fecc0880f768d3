import { pack } from '../../src/events/packed.ts';
import { EventBuilder } from '../../src/testing/event-builder.ts';
import { givenEvents } from '../../src/testing/given-events.ts';
import { openTestGraphql } from './open-test-graphql.ts';

/** Longer than 64 KiB; the cut at 65,536 halves the tree. */
export const LONG = `${'a'.repeat(65_535)}\u{1F333}${'z'.repeat(10_000)}`;

/** What the test record holds, and the API that shows it. */
export type TestRecord = Awaited<ReturnType<typeof openTestRecord>>;

/**
 * Opens an API over a record that has one of everything: runs, trees, a step with a large text, rewards judged again, a search,
 * an evaluation.
 */
export async function openTestRecord() {
  const api = await openTestGraphql();
  const builder = new EventBuilder();
  const experimentId = builder.id('experiment');
  builder.record('ExperimentDeclared', { experimentId, name: 'depth', question: 'How deep?' }, experimentId);
  const run = builder.run('first', { experimentId, config: { lr: 0.5, nested: [1] }, seed: 2 ** 40 });
  builder.record('MetricRecorded', { runId: run, metric: 'loss', value: 0.5, at: 1 }, run);
  builder.record('MetricRecorded', { runId: run, metric: 'loss', value: 0.25, at: 2 }, run);
  builder.record('MetricRecorded', { runId: run, metric: 'kl', value: 0.1, at: 2 }, run);
  const tree = builder.tree(run, 'stick', { plannedRollouts: 3 });
  const good = builder.walk(tree, 0, 3, 1);
  const poor = builder.walk(tree, 1, 2, 0);
  const [first = '', second = '', leaf = ''] = good.steps;
  const process = builder.reward(tree, second, 0.25, { component: 'process', raw: null });
  builder.record(
    'RewardRevised',
    { rewardId: process, treeId: tree.treeId, value: 0.5, scorer: { name: 'judge', revision: '2' }, reason: 'looked again' },
    run,
  );
  builder.reward(tree, null, -0.125, { component: 'length', rolloutId: good.rolloutId, raw: null });
  const backUp = (simulation: number, value: number, path: string[]) =>
    builder.record('ValueBackedUp', { treeId: tree.treeId, simulation, leafStepId: path.at(-1) ?? '', value, path }, run);
  backUp(0, 1, [tree.rootStepId, first]);
  backUp(1, 0.5, [tree.rootStepId, first, second]);
  backUp(2, -1, [tree.rootStepId, poor.steps[0] ?? '']);
  const toolCallId = builder.id('tool');
  builder.record(
    'ToolCalled',
    {
      toolCallId,
      treeId: tree.treeId,
      stepId: leaf,
      ordinal: 0,
      tool: 'search',
      arguments: '{"q":1}',
      output: 'none',
      outcome: 'error',
      durationMs: 2.5,
    },
    run,
  );
  builder.record(
    'ReplayDiverged',
    { treeId: tree.treeId, stepId: leaf, field: 'observation', recorded: 'a', replayed: 'b' },
    run,
  );
  const going = builder.rollout(tree, 2);
  builder.finishRun(run, { message: 'done' });
  const bigTree = builder.tree(builder.run('second', { kind: 'search', policy: null }), 'big', {
    task: { ...taskOf(builder, 'big'), depth: null, environment: 'tools' },
  });
  const observation = await api.blobs.put(Buffer.from(LONG), 'text/plain');
  const mask = pack('uint8', [1, 0, 1]);
  const maskBlob = await api.blobs.put(Buffer.from(String(mask.bytes), 'base64'), 'application/octet-stream');
  const gone = { blob: 'f'.repeat(64), size: 70_000, mediaType: 'text/plain' };
  const bigStep = builder.step(bigTree, null, bigTree.rootStepId, 1, {
    observation,
    usage: { promptTokens: 7, completionTokens: 3 },
    admissibleActions: ['look', 'go'],
    call: CALL,
    tokens: { ids: pack('int32', [5, -6, 7]), logProbs: pack('float32', [-0.5, -1, 0]), mask: { ...mask, bytes: maskBlob } },
  });
  builder.step(bigTree, null, bigStep, 2, { thought: gone });
  builder.record(
    'EvaluationFinished',
    {
      runId: run,
      policy: { policyId: 'linear', version: 3 },
      environment: 'textcraft',
      split: 'test',
      tasks: 2,
      episodes: 4,
      meanReturn: 0.5,
      returnInterval: { low: 0.25, high: 0.75 },
      successRate: 0.25,
      successInterval: { low: 0, high: 0.5 },
      bootstrap: { confidence: 0.95, resamples: 100, seed: 1 },
      meanSteps: 6.5,
      repeatedActions: [{ length: 2, perEpisode: 1.5 }],
      byDepth: [{ taskDepth: null, episodes: 4, successes: 1 }],
      recovery: { fromRunId: run },
      trained: { method: 'agent-r', iteration: 2, weights: 'a'.repeat(64), runIds: [run], good: 1, revisions: 2, actions: 9 },
    },
    run,
  );
  await givenEvents(api.database.db, builder.events);
  return { api, builder, experimentId, run, tree, good, poor, going, bigStep, bigTree };
}

/** An answered request to a model server. */
export const CALL = {
  responseId: 'r-1',
  model: 'm',
  requestHash: 'b'.repeat(64),
  attempts: 2,
  latencyMs: 12.5,
  usage: { promptTokens: 9, completionTokens: 1 },
  trimmed: { from: 1, to: 3 },
};

function taskOf(builder: EventBuilder, alias: string) {
  const observationHash = 'a'.repeat(64);
  return {
    taskId: builder.id('task', alias),
    environment: 'textcraft',
    serverFingerprint: 'world-1',
    observationHash,
    alias,
    goal: alias,
    depth: 1,
    split: 'test',
  };
}
