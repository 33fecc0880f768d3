import fc from 'fast-check';
import type { DataOf } from '../events/catalogue.ts';
import { derivedId } from '../events/derived-id.ts';
import type { Envelope } from '../events/envelope.ts';
import { EventBuilder } from './event-builder.ts';
import { recordHistory, recordRenderSpec, recordSegment } from './record-images.ts';
import { recordBatch, recordLineage, recordVersion } from './record-training.ts';

/** A run of bushy trees: branches below the root, rewards on inner steps, revisions, back-ups, as the choices say. */
export function recordBushyRun(choices: readonly number[]): EventBuilder {
  const builder = new EventBuilder('property');
  const runId = builder.run('run', { config: { training: { policyId: 'linear', channel: 'train' } } });
  const trees = [builder.tree(runId, 'a'), builder.tree(runId, 'b')];
  const walks: { readonly treeId: string; readonly rolloutId: string }[] = [];
  const nodes = trees.map((tree) => [{ id: tree.rootStepId, depth: 0, path: [tree.rootStepId] }]);
  const rewards: { id: string; tree: number }[] = [];
  choices.forEach((choice, i) => {
    const t = choice % 2;
    const tree = trees[t]!; // there are two trees
    const known = nodes[t]!; // and a list of nodes for each
    const from = known[choice % known.length]!; // the root is always there
    if (choice % 5 === 4 && rewards.length > 0) {
      const reward = rewards[choice % rewards.length]!; // not empty
      const data = {
        rewardId: reward.id,
        treeId: trees[reward.tree]!.treeId,
        value: choice / 7,
        scorer: { name: 'judge', revision: '2' },
        reason: 'again',
      };
      builder.record('RewardRevised', data, runId);
      return;
    }
    const rolloutId = builder.rollout(tree, i, { fromStepId: from.id });
    const policySpans = [{ from: 0, to: choice % 9, policyId: choice % 4 === 0 ? 'other' : 'linear', version: choice % 3 }];
    const stepId = builder.step(tree, rolloutId, from.id, from.depth + 1, { policySpans });
    walks.push({ treeId: tree.treeId, rolloutId });
    const path = [...from.path, stepId];
    known.push({ id: stepId, depth: from.depth + 1, path });
    rewards.push({ id: builder.reward(tree, stepId, choice / 3, { rolloutId }), tree: t });
    if (choice % 10 === 3) builder.reward(tree, stepId, choice, { component: 'late' });
    if (choice % 3 === 0) builder.reward(tree, null, 0.1 * choice, { rolloutId, component: 'format' });
    builder.record('ValueBackedUp', { treeId: tree.treeId, simulation: i, leafStepId: stepId, value: choice / 3, path }, runId);
    if (choice % 7 !== 6) builder.finishRollout(tree, rolloutId, stepId);
    if (choice % 3 !== 2) recordImages(builder, { ...tree, stepId, earlier: known.slice(0, -1), choice });
    if (choice % 4 === 1) recordRevision(builder, { ...tree, leafStepId: stepId, branchStepId: from.id, choice, i });
  });
  builder.closeTree(trees[0]!, 1);
  builder.record('EvaluationFinished', evaluationOf(builder, runId), runId);
  if (choices.length % 2 === 0) builder.record('EvaluationFinished', { ...evaluationOf(builder, runId), tasks: 7 }, runId);
  choices.forEach((choice, i) => {
    if (choice % 6 === 2) recordDataset(builder, runId, choice, i);
  });
  recordTraining(builder, walks, choices);
  builder.finishRun(runId);
  return builder;
}

/** What becomes of the walks: two to a batch, the others rejected; leases that end in every way; each fact once or twice. */
function recordTraining(
  builder: EventBuilder,
  walks: readonly { readonly treeId: string; readonly rolloutId: string }[],
  choices: readonly number[],
): void {
  const policyId = 'linear';
  const lineageId = recordLineage(builder, policyId);
  let before: DataOf<'BatchPlanned'> | null = null;
  for (const [i, { treeId, rolloutId }] of walks.entries()) {
    const choice = choices[i] ?? 0;
    if (choice % 2 === 1) {
      const rejected = { reason: 'failed' as const, rule: 'recorded', measured: choice % 3 === 0 ? null : choice };
      builder.record('SampleRejected', { lineageId, policyId, groupId: treeId, rolloutId, ...rejected }, lineageId);
      continue;
    }
    before = recordBatch(builder, policyId, [{ treeId, rolloutIds: [rolloutId] }], before);
    const { batchId, ordinal } = before;
    const lease = { lineageId, policyId, batchId, leaseId: derivedId('lease', batchId, choice), fence: 1 };
    const leased = { ...lease, consumer: 'trainer', deadline: '2026-01-01T00:05:00.000Z' };
    if (choice % 4 !== 0) builder.record('BatchLeased', leased, lineageId);
    if (choice % 8 === 2) builder.record('LeaseExpired', lease, lineageId);
    if (choice % 16 === 6) builder.record('BatchReturned', { ...lease, reason: 'recorded' }, lineageId);
    if (choice % 16 !== 14) continue;
    const checkpointId = builder.id('checkpoint', policyId, ordinal + 1);
    builder.record('BatchAcked', { ...lease, version: ordinal + 1, checkpointId }, lineageId);
    const saved = { checkpointId, version: ordinal + 1, backend: 'linear', weights: 'a'.repeat(64), kept: null, covers: ordinal };
    builder.record('CheckpointSaved', { lineageId, policyId, ...saved }, lineageId);
    recordVersion(builder, policyId, ordinal + 1, batchId);
  }
}

/** A dataset that is released once or twice, and withdrawn never, once or twice: the first word is the fact. */
function recordDataset(builder: EventBuilder, runId: string, choice: number, i: number): void {
  const datasetId = builder.id('dataset', i);
  const frozen = { format: 'xtuner', formatVersion: 1, bytes: choice, sha256: 'd'.repeat(64), codeVersion: '1', runs: [runId] };
  const made = { query: { runs: [runId] }, parameters: {}, position: { 'step-tree@1': 'trees.0:1' }, counts: { lines: choice } };
  for (let version = 1; version <= 1 + (choice % 2); version++)
    builder.record('DatasetReleased', { datasetId, name: 'mined', version, ...frozen, ...made }, datasetId);
  for (const [part, digit] of [...'ded'].entries()) recordSources(builder, datasetId, { sha256: digit.repeat(64), part, choice });
  for (const reason of ['leak', 'again'].slice(0, choice % 3))
    builder.record('DatasetWithdrawn', { datasetId, reason }, datasetId);
}

/** Sources of the released content and of other content, some of them twice. */
function recordSources(
  builder: EventBuilder,
  datasetId: string,
  { sha256, part, choice }: { sha256: string; part: number; choice: number },
): void {
  const example = (line: number) => ({
    line,
    lines: 1,
    kind: 'pair' as const,
    treeId: builder.id('tree', choice),
    goodRolloutId: builder.id('rollout', line),
    badRolloutId: line % 2 === 0 ? null : builder.id('rollout', line + 1),
    revisionId: null,
  });
  builder.record('DatasetSourced', { datasetId, sha256, part, examples: [example(1 + part), example(2 + part)] }, datasetId);
}

/**
 * A history as an image: its spec and segments recorded before or by another tree, now and then twice; its prefix that
 * of any earlier step.
 */
function recordImages(
  builder: EventBuilder,
  recorded: {
    readonly treeId: string;
    readonly runId: string;
    readonly stepId: string;
    readonly earlier: readonly { readonly id: string }[];
    readonly choice: number;
  },
): void {
  const { runId, stepId, earlier, choice } = recorded;
  const renderSpecId = recordRenderSpec(builder, runId, { px: choice % 2 });
  const segments = [`a ${choice % 5}`, `b ${choice}`].map((text) => recordSegment(builder, runId, renderSpecId, text));
  const base = choice % 4 === 0 ? undefined : earlier[choice % earlier.length];
  const prefix = base && { stepId: base.id, from: 0, to: choice % 3 };
  const measured = { factor: 1 + choice / 10, cache: { missed: choice % 2 ? [0] : [] } };
  recordHistory(builder, recorded, { stepId, renderSpecId, segments, prefix: prefix ?? null, ...measured });
  if (choice % 7 === 0) recordHistory(builder, recorded, { stepId, renderSpecId, segments: [] });
}

/** A judgement, a revision and, for most, what became of it. */
function recordRevision(
  builder: EventBuilder,
  recorded: { treeId: string; runId: string; leafStepId: string; branchStepId: string; choice: number; i: number },
): void {
  const { treeId, runId, leafStepId, branchStepId, choice, i } = recorded;
  const judge = { name: 'planner', revision: '1' };
  const promptHash = (choice % 10).toString().repeat(64);
  builder.record(
    'StepJudged',
    { treeId, leafStepId, stepId: leafStepId, index: 0, judge, promptHash, verdict: 'bad', reply: 'r' },
    runId,
  );
  const revisionId = builder.id('revision', i);
  const steps = { goodLeafStepId: leafStepId, badLeafStepId: leafStepId, branchStepId, transitionStepId: leafStepId };
  const rest = { transitionCause: 'bad', judged: 1, reflection: 'No.', signal: 'thought', alpha: 0.5, beta: 0.2 } as const;
  builder.record('RevisionComposed', { revisionId, treeId, ...steps, ...rest, judge, contentHash: promptHash }, runId);
  if (choice % 8 === 1) builder.record('RevisionVerified', { revisionId, treeId, reached: 1, threshold: 0.5 }, runId);
  else if (choice % 3 === 1)
    builder.record(
      'RevisionRejected',
      { revisionId, treeId, reason: 'below', reached: 0, stepId: leafStepId, detail: '0' },
      runId,
    );
}

function evaluationOf(builder: EventBuilder, runId: string): DataOf<'EvaluationFinished'> {
  const none = { low: 0, high: 0 };
  return {
    runId,
    policy: { policyId: 'linear', version: 1 },
    environment: 'textcraft',
    split: null,
    tasks: 2,
    episodes: 2,
    meanReturn: 0,
    returnInterval: none,
    successRate: 0,
    successInterval: none,
    meanSteps: 3,
    bootstrap: { confidence: 0.95, resamples: 100, seed: 1 },
    repeatedActions: [{ length: 1, perEpisode: 0.5 }],
    byDepth: [{ taskDepth: 1, episodes: 2, successes: 0 }],
    recovery: { fromRunId: builder.id('failures') },
    trained: null,
  };
}

/**
 * Records steps and rewards just after something that names them: what a fold finds in its whole batch, and not where a cut lies
 * between.
 */
export function recordedLate(events: readonly Envelope[], lates: readonly (readonly [number, number])[]): Envelope[] {
  const recorded = [...events];
  for (const [which, where] of lates) {
    const movable = recorded.filter(({ type }) => type === 'StepTaken' || type === 'RewardAssigned');
    const late = movable[which % movable.length];
    if (!late) break;
    const { stepId, rewardId = stepId } = late.data as { stepId: string; rewardId?: string }; // by the types above
    const from = recorded.indexOf(late);
    const naming = recorded.filter(({ data }, i) => i > from && JSON.stringify(data).includes(rewardId));
    const before = naming[where % naming.length];
    if (!before) continue;
    recorded.splice(from, 1);
    recorded.splice(recorded.indexOf(before) + 1, 0, late);
  }
  return recorded;
}

/** What `recordBushyRun` is made of. */
export const choices = fc.array(fc.nat(1_000), { minLength: 1, maxLength: 25 });
/** What `recordedLate` is made of. */
export const lates = fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 8 });
