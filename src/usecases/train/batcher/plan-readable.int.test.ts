import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { DataOf } from '../../../events/catalogue.ts';
import { pack } from '../../../events/packed.ts';
import { readLedgers } from '../../../projections/training-pool/read-ledger.ts';
import { trainingPool } from '../../../projections/training-pool/training-pool.ts';
import { ProjectionsBehind } from '../../../projections/wait-until.ts';
import { openBatcherWorld } from '../../../testing/batcher-world.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { emptyReadModels } from '../../../testing/read-models.ts';
import { recordPrompt } from '../../../testing/record-prompt.ts';
import { recordVersion, TEST_RULES } from '../../../testing/record-training.ts';
import { useTestDatabase } from '../../../testing/use-test-database.ts';
import { decisionsOf } from '../../../training/backends/linear/decisions.ts';
import { stepRowsOf } from '../../../training/backends/step-row.ts';
import { tokenRows } from '../../../training/backends/torch/pack-rows.ts';
import { encodeRows } from '../../../training/rows/encode-rows.ts';
import { readBatchRows } from '../../../training/rows/read-batch-rows.ts';
import { lineageIdOf } from './declare-training.ts';
import { planLineage } from './plan-lineage.ts';

const database = useTestDatabase({ emptied: 'before-each' });

const POLICY = 'p';
const RUN = { config: { temperature: 1, training: { policyId: POLICY, channel: 'train' } } };
const CANDIDATES = ['wait', 'inventory'];
const policy = { policyId: POLICY, version: 0 };
type Step = Partial<DataOf<'StepTaken'>>;

/** One token, the place of the action among its candidates: what the linear policy records, and sound for every learner. */
const sound = { ids: pack('int32', [1]), logProbs: pack('float32', [-0.5]), mask: null };

const CALLING = { reasoning: false, toolCalls: [{ id: null, name: 'look', arguments: '{}' }] };

/** Ways in which a record contradicts itself, and the learners that cannot use it. */
const FAULTS = {
  none: { learners: [], step: {} },
  'an end that says more steps': { learners: ['linear', 'torch', 'other'], step: {}, steps: 3 },
  'an end at a step that is not there': { learners: ['linear', 'torch', 'other'], step: {}, leaf: 'nowhere' },
  'ids of another type': { learners: ['linear', 'torch', 'other'], step: { tokens: { ...sound, ids: pack('uint8', [1]) } } },
  'log-probabilities of another length': {
    learners: ['linear', 'torch', 'other'],
    step: { tokens: { ...sound, logProbs: pack('float32', [-0.5, -0.5]) } },
  },
  'a log-probability that is no number': {
    learners: ['linear', 'torch', 'other'],
    step: { tokens: { ...sound, logProbs: pack('float32', [Number.NaN]) } },
  },
  'a log-probability above 0': {
    learners: ['linear', 'torch', 'other'],
    step: { tokens: { ...sound, logProbs: pack('float32', [0.5]) } },
  },
  'an infinite log-probability of a shown token': {
    learners: [],
    step: {
      tokens: {
        ids: pack('int32', [1, 7]),
        logProbs: pack('float32', [-0.5, Number.NEGATIVE_INFINITY]),
        mask: pack('uint8', [1, 0]),
      },
    },
  },
  'an observation with ids': {
    learners: [],
    first: { tokens: { ids: pack('int32', [1, 7]), logProbs: pack('float32', [-0.5, 0]), mask: pack('uint8', [1, 0]) } },
    step: {},
  },
  'an id below 0': { learners: ['linear', 'torch', 'other'], step: { tokens: { ...sound, ids: pack('int32', [-1]) } } },
  'fewer bytes than elements': {
    learners: ['linear', 'torch', 'other'],
    step: { tokens: { ...sound, ids: { ...pack('int32', [1]), length: 2 }, logProbs: null } },
  },
  'a mask that leaves nothing': {
    learners: ['torch', 'other'],
    step: { tokens: { ...sound, mask: pack('uint8', [0]) } },
  },
  'a reply that calls a tool, without its prompt': { learners: ['torch'], step: { reply: CALLING } },
  'a reply before that calls a tool, without a prompt': { learners: ['torch'], first: { reply: CALLING }, step: {} },
  'a reply with reasoning before, without a prompt': {
    learners: ['torch'],
    first: { thought: 'so', reply: { reasoning: true, toolCalls: [] } },
    step: {},
  },
  'no tokens': { learners: ['torch'], step: { tokens: null } },
  'a place outside its candidates': { learners: ['linear'], step: { tokens: { ...sound, ids: pack('int32', [2]) } } },
  'an action outside its candidates': { learners: ['linear', 'torch'], step: { tokens: null, action: 'sing' } },
} satisfies Record<string, { learners: readonly string[]; step: Step; first?: Step; steps?: number; leaf?: string }>;
type Fault = keyof typeof FAULTS;

const members = fc.array(fc.constantFrom(...(Object.keys(FAULTS) as Fault[])), { minLength: 1, maxLength: 3 });

test('every planned sample can be read and trained on, and no readable one is rejected as incomplete', async () => {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(members, { minLength: 1, maxLength: 8 }),
      fc.constantFrom('linear' as const, 'torch' as const, 'other' as const),
      async (groups, backend) => {
        await emptyReadModels(database.db);
        const builder = new EventBuilder(`readable ${run++}`);
        const faults = recordPool(builder, groups, backend);
        const world = openBatcherWorld(database.db, builder.events);
        await world.project();
        await planLineage(world, POLICY, new AbortController().signal);
        await world.project();

        const batches = await database.db.selectFrom('batches').select('batchId').orderBy('ordinal').execute();
        for (const { batchId } of batches) {
          const rows = stepRowsOf(await readBatchRows(database.db, world.blobs, batchId), new Map());
          if (backend === 'linear') expect(decisionsOf(rows).without).toEqual([]);
          if (backend === 'torch') expect(tokenRows(rows)).toMatchObject({ kind: 'rows' });
        }
        const rejected = await database.db.selectFrom('sampleRejections').select(['rolloutId', 'reason']).execute();
        const incomplete = new Set(
          rejected.flatMap(({ rolloutId, reason }) => (reason === 'incomplete-record' ? [rolloutId] : [])),
        );
        const planned = (await database.db.selectFrom('batchSamples').select('rolloutId').execute()).map((row) => row.rolloutId);
        for (const [rolloutId, fault] of faults) {
          const learners: readonly string[] = FAULTS[fault].learners;
          if (learners.includes(backend))
            expect({ fault, planned: planned.includes(rolloutId) }).toEqual({ fault, planned: false });
          else expect({ fault, incomplete: incomplete.has(rolloutId) }).toEqual({ fault, incomplete: false });
        }
      },
    ),
    { numRuns: 3 },
  );
});

test('a rollout whose end contradicts its path is rejected with the reason, and the batches after it are planned', async () => {
  const builder = new EventBuilder('one');
  const [[broken = ''] = []] = recordPool(
    builder,
    [['an end that says more steps', 'none'], ['none'], ['none', 'none']],
    'linear',
  );
  const world = openBatcherWorld(database.db, builder.events);
  await world.project();
  const planned = await planLineage(world, POLICY, new AbortController().signal);
  expect(planned).toEqual({ kind: 'planned', batches: 3, samples: 4, rejected: 1 });
  await world.project();
  const [rejection] = await database.db.selectFrom('sampleRejections').selectAll().execute();
  const rule = `the end of rollout ${broken} is not in its tree: it was refused there`;
  expect(rejection).toMatchObject({ rolloutId: broken, reason: 'incomplete-record', rule, measured: null });
  const refused = await database.db
    .selectFrom('quarantine')
    .select(['projection', 'code', 'reason'])
    .orderBy('projection')
    .execute();
  const reason = `must be 2, the steps from where rollout ${broken} began to its leaf`;
  expect(refused).toEqual(['rewards', 'step-tree'].map((projection) => ({ projection, code: 'steps', reason })));
});

test('a group that is folded into the pool before its steps are into the tree is planned when they are, and not rejected', async () => {
  const builder = new EventBuilder('ahead');
  recordPool(builder, [['none', 'none']], 'linear');
  const all = builder.events;
  const index = all.findIndex(({ type }) => type === 'TreeOpened');
  const world = openBatcherWorld(database.db, all.slice(0, index));
  await world.project();
  const asked = await world.log.ends(['runs', 'trees', 'training']); // when the group was not there yet
  world.record(all.slice(index));
  await world.project([trainingPool]);
  const early = { ...world, catchUpMs: 0, log: { ...world.log, ends: async () => asked } };
  await expect(planLineage(early, POLICY, new AbortController().signal)).rejects.toBeInstanceOf(ProjectionsBehind);
  await world.project();
  expect(await database.db.selectFrom('sampleRejections').selectAll().execute()).toEqual([]);
  expect(await planLineage(world, POLICY, new AbortController().signal)).toEqual({
    kind: 'planned',
    batches: 1,
    samples: 2,
    rejected: 0,
  });
});

test.each([
  ['a folder', { kind: 'folder', path: 'm' }, [true, false, true]],
  ['a tiny model of texts', { kind: 'tiny' }, [false, false, true]],
])(
  'a step that was asked with an image is planned for %s where it may read it and the ids of its prompt are on record',
  async (_, model, expected) => {
    const builder = new EventBuilder('images');
    const prompts = [
      { ids: [5, 6], images: ['a'.repeat(64)] },
      { ids: null, images: ['a'.repeat(64)] },
      { ids: null, images: [] },
    ];
    declareAndBegin(builder, { backend: 'torch', torch: { model } });
    const runId = builder.run('collect', RUN);
    const rollouts = prompts.map(({ ids, images }, i) => {
      const tree = builder.tree(runId, `task ${i}`, { plannedRollouts: 1, admissibleActions: CANDIDATES });
      const rolloutId = builder.rollout(tree, 0, { policy });
      const spans = [{ from: 0, to: 1, ...policy }];
      const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, {
        policySpans: spans,
        tokens: sound,
        termination: 'terminated',
      });
      recordPrompt(builder, tree, { stepId: leaf, text: 'What now?', ids, images, sampled: [1], before: null });
      builder.reward(tree, leaf, 1, { rolloutId });
      builder.finishRollout(tree, rolloutId, leaf, { steps: 1 });
      builder.closeTree(tree, 1);
      return rolloutId;
    });
    const world = openBatcherWorld(database.db, builder.events);
    await world.project();
    await planLineage(world, POLICY, new AbortController().signal);
    await world.project();
    const planned = (await database.db.selectFrom('batchSamples').select('rolloutId').execute()).map((row) => row.rolloutId);
    expect(rollouts.map((rolloutId) => planned.includes(rolloutId))).toEqual(expected);
    const rejected = await database.db.selectFrom('sampleRejections').select(['rolloutId', 'rule']).execute();
    const rules = new Map(rejected.map(({ rolloutId, rule }) => [rolloutId, rule]));
    expect(rollouts.map((rolloutId) => !rules.has(rolloutId))).toEqual(expected);
    for (const rule of rules.values()) expect(rule).toMatch(/^step \S+ was asked with an image/);
  },
);

test('a rollout that was drawn from another distribution is rejected with the parameter, and one at its own temperature keeps it', async () => {
  const builder = new EventBuilder('samplings');
  declareAndBegin(builder, { backend: 'torch', torch: { model: { kind: 'folder', path: 'm' } } });
  const samplings = [
    { temperature: 0.7, topP: 1, topK: -1, minP: 0, repetitionPenalty: 1 },
    { topP: 0.9 },
    { topK: 20 },
    { minP: 0.05 },
    { repetitionPenalty: 1.05 },
    { temperature: 0 },
    { others: [{ name: 'response_format', value: '{"type":"json_object"}' }] },
  ];
  const runId = builder.run('collect', RUN);
  const rollouts = samplings.map((sampling, i) => {
    const tree = builder.tree(runId, `task ${i}`, { plannedRollouts: 1 });
    const rolloutId = builder.rollout(tree, 0, { policy });
    const step = { policySpans: [{ from: 0, to: 1, ...policy }], tokens: sound, termination: 'terminated' as const };
    const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, step);
    recordPrompt(builder, tree, { stepId: leaf, text: 'What now?', ids: [5], sampled: [1], before: null, sampling });
    builder.reward(tree, leaf, 1, { rolloutId });
    builder.finishRollout(tree, rolloutId, leaf, { steps: 1 });
    builder.closeTree(tree, 1);
    return rolloutId;
  });
  const world = openBatcherWorld(database.db, builder.events);
  await world.project();
  await planLineage(world, POLICY, new AbortController().signal);
  await world.project();
  const rejected = await database.db.selectFrom('sampleRejections').select(['rolloutId', 'reason', 'rule', 'measured']).execute();
  const of = new Map(rejected.map((each) => [each.rolloutId, each]));
  const cut = 'and losses compute with the whole distribution; collect without it';
  const expected = [undefined, `top_p 0.9, ${cut}`, `top_k 20, ${cut}`, `min_p 0.05, ${cut}`, `repetition_penalty 1.05, ${cut}`];
  const rules = rollouts.map((rolloutId) => of.get(rolloutId)?.rule.replace(/^step \S+ was (sampled with )?/, ''));
  expect(rules).toEqual([...expected, 'not sampled but taken greedily', `response_format, ${cut}`]);
  expect(new Set(rejected.map(({ reason }) => reason))).toEqual(new Set(['other-distribution']));
  expect(rollouts.map((rolloutId) => of.get(rolloutId)?.measured)).toEqual([undefined, 0.9, 20, 0.05, 1.05, 0, null]);
  const [batch] = await database.db.selectFrom('batches').select('batchId').execute();
  const rows = await readBatchRows(database.db, world.blobs, batch?.batchId ?? '');
  expect(rows.trajectories.map(({ temperature }) => temperature)).toEqual([0.7]); // the plan of the run says 1
  expect(stepRowsOf(rows).map(({ temperature }) => temperature)).toEqual([0.7]);
});

test.each([
  { backend: 'torch', rule: undefined, planned: [true, false, false, false, true] },
  { backend: 'other', rule: undefined, planned: [true, false, false, false, true] },
  { backend: 'other', rule: 'keep', planned: [true, true, true, true, true] },
  { backend: 'linear', rule: undefined, planned: [true, true, true, true, true] },
] as const)(
  'a rollout whose record leaves its sampling open is rejected by $backend with the rule $rule, by name',
  async (given) => {
    const builder = new EventBuilder(`unknown ${given.backend} ${given.rule}`);
    const trainer = {
      torch: { backend: 'torch', torch: { model: { kind: 'folder', path: 'm' } } },
      other: { backend: 'other' },
      linear: { backend: 'linear' },
    };
    declareAndBegin(builder, trainer[given.backend], 'step', undefined, 1, given.rule ?? 'reject');
    const runId = builder.run('agent', { kind: 'external', config: { training: RUN.config.training } });
    const whole = { temperature: 1, topP: 1, topK: -1, minP: 0, repetitionPenalty: 1 };
    const samplings = [whole, { ...whole, topP: null }, { ...whole, temperature: null }, null, 'inside'] as const;
    const collected = builder.run('collect', RUN);
    const rollouts = samplings.map((sampling, i) => {
      const tree = builder.tree(sampling === 'inside' ? collected : runId, `task ${i}`, {
        plannedRollouts: 1,
        admissibleActions: CANDIDATES,
      });
      const rolloutId = builder.rollout(tree, 0, { policy });
      const step = { policySpans: [{ from: 0, to: 1, ...policy }], tokens: sound, termination: 'terminated' as const };
      const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, step);
      if (sampling && sampling !== 'inside')
        recordPrompt(builder, tree, { stepId: leaf, text: 'What now?', ids: [5], sampled: [1], before: null, sampling });
      builder.reward(tree, leaf, 1, { rolloutId });
      builder.finishRollout(tree, rolloutId, leaf, { steps: 1 });
      builder.closeTree(tree, 1);
      return rolloutId;
    });
    const world = openBatcherWorld(database.db, builder.events);
    await world.project();
    await planLineage(world, POLICY, new AbortController().signal);
    await world.project();
    const rejected = await database.db.selectFrom('sampleRejections').select(['rolloutId', 'reason', 'rule']).execute();
    const of = new Map(rejected.map((each) => [each.rolloutId, each]));
    expect(rollouts.map((rolloutId) => !of.has(rolloutId))).toEqual(given.planned);
    if (rejected.length === 0) return;
    expect(of.get(rollouts[1] ?? '')).toMatchObject({
      reason: 'other-distribution',
      rule: expect.stringMatching(
        /does not say with which top_p step \S+ was sampled; .*declare another policy with the rule unknownSampling: keep/,
      ),
    });
    expect(of.get(rollouts[2] ?? '')?.rule).toMatch(/with which temperature step/);
    expect(of.get(rollouts[3] ?? '')?.rule).toMatch(/with which temperature, top_p, top_k, min_p, repetition_penalty step/);
  },
);

/** Records a group of three: at 0.7, at that of the run, which is the same, and at 1. Returns its rollouts. */
function recordTemperatures(builder: EventBuilder, trainer: Readonly<Record<string, unknown>>): readonly string[] {
  declareAndBegin(builder, trainer);
  const runId = builder.run('collect', { config: { ...RUN.config, temperature: 0.7 } });
  const tree = builder.tree(runId, 'task', { plannedRollouts: 3 });
  const rollouts = [0.7, null, 1].map((temperature, ordinal) => {
    const rolloutId = builder.rollout(tree, ordinal, { policy });
    const step = { policySpans: [{ from: 0, to: 1, ...policy }], tokens: sound, termination: 'terminated' as const };
    const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, step);
    recordPrompt(builder, tree, {
      stepId: leaf,
      text: 'What now?',
      ids: [5],
      sampled: [1],
      before: null,
      sampling: { temperature },
    });
    builder.reward(tree, leaf, ordinal, { rolloutId });
    builder.finishRollout(tree, rolloutId, leaf, { steps: 1 });
    return rolloutId;
  });
  builder.closeTree(tree, 3);
  return rollouts;
}

test('a trainer elsewhere gets a batch of several temperatures whole, and each row says its own', async () => {
  const builder = new EventBuilder('temperatures elsewhere');
  recordTemperatures(builder, { backend: 'other' });
  const world = openBatcherWorld(database.db, builder.events);
  await world.project();
  expect(await planLineage(world, POLICY, new AbortController().signal)).toMatchObject({ batches: 1, samples: 3, rejected: 0 });
  await world.project();
  const [batch] = await database.db.selectFrom('batches').select('batchId').execute();
  const rows = await readBatchRows(database.db, world.blobs, batch?.batchId ?? '');
  expect(rows.trajectories.map(({ temperature }) => temperature)).toEqual([0.7, 0.7, 1]);
});

test('members of a batch at another temperature than most are rejected, and a request without one was sampled at that of its run', async () => {
  const builder = new EventBuilder('temperatures');
  const rollouts = recordTemperatures(builder, { backend: 'torch', torch: { model: { kind: 'folder', path: 'm' } } });
  const world = openBatcherWorld(database.db, builder.events);
  await world.project();
  expect(await planLineage(world, POLICY, new AbortController().signal)).toMatchObject({ batches: 1, samples: 2, rejected: 1 });
  await world.project();
  const rejected = await database.db.selectFrom('sampleRejections').select(['rolloutId', 'reason', 'rule', 'measured']).execute();
  const rule = 'it was sampled at temperature 1, and its batch at 0.7; an update has one temperature, so collect at one';
  expect(rejected).toEqual([{ rolloutId: rollouts[2], reason: 'other-distribution', rule, measured: 1 }]);
  const [batch] = await database.db.selectFrom('batches').select('batchId').execute();
  const rows = await readBatchRows(database.db, world.blobs, batch?.batchId ?? '');
  expect(stepRowsOf(rows).map(({ temperature }) => temperature)).toEqual([0.7, 0.7]);
});

test.each([
  ['are left out', undefined, [undefined, 'unclear-calls', 'incomplete-record']],
  ['keep it', 'keep' as const, [undefined, undefined, undefined]],
])(
  'a rollout with unclear calls, or with parts of calls that could not be read, is rejected where the rules %s',
  async (_, unclear, reasons) => {
    const builder = new EventBuilder('unclear');
    declareAndBegin(builder, { backend: 'linear' }, 'step', unclear);
    const runId = builder.run('collect', RUN);
    const given = [
      { unclearCalls: 0, lostParts: 0 },
      { unclearCalls: 2, lostParts: 0 },
      { unclearCalls: 0, lostParts: 3 },
    ];
    const rollouts = given.map((captured, i) => {
      const tree = builder.tree(runId, `task ${i}`, { plannedRollouts: 1, admissibleActions: CANDIDATES });
      const rolloutId = builder.rollout(tree, 0, { policy });
      const step = { policySpans: [{ from: 0, to: 1, ...policy }], tokens: sound, termination: 'terminated' as const };
      const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, { ...step, admissibleActions: CANDIDATES });
      builder.reward(tree, leaf, 1, { rolloutId });
      builder.finishRollout(tree, rolloutId, leaf, { steps: 1, ...captured });
      builder.closeTree(tree, 1);
      return rolloutId;
    });
    const world = openBatcherWorld(database.db, builder.events);
    await world.project();
    await planLineage(world, POLICY, new AbortController().signal);
    await world.project();
    const rejected = await database.db
      .selectFrom('sampleRejections')
      .select(['rolloutId', 'reason', 'rule', 'measured'])
      .execute();
    const of = new Map(rejected.map((each) => [each.rolloutId, each]));
    expect(rollouts.map((rolloutId) => of.get(rolloutId)?.reason)).toEqual(reasons);
    if (unclear !== undefined) return;
    for (const [i, measured] of [2, 3].entries())
      expect(of.get(rollouts[i + 1] ?? '')).toMatchObject({ measured, rule: expect.stringContaining('unclear: keep') });
  },
);

test.each([
  ['the plan of its run', { temperature: 0 }],
  ['its own policy', { temperature: 1, policy: '{"kind":"linear","temperature":0}' }],
])('a rollout without a recorded prompt is rejected where %s took the best action', async (_, config) => {
  const builder = new EventBuilder('greedy');
  declareAndBegin(builder, { backend: 'linear' });
  const runId = builder.run('collect', { config: { ...RUN.config, ...config } });
  const tree = builder.tree(runId, 'task', { plannedRollouts: 1, admissibleActions: CANDIDATES });
  const rolloutId = builder.rollout(tree, 0, { policy });
  const step = { policySpans: [{ from: 0, to: 1, ...policy }], tokens: sound, termination: 'terminated' as const };
  const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, step);
  builder.reward(tree, leaf, 1, { rolloutId });
  builder.finishRollout(tree, rolloutId, leaf, { steps: 1 });
  builder.closeTree(tree, 1);
  const world = openBatcherWorld(database.db, builder.events);
  await world.project();
  expect(await planLineage(world, POLICY, new AbortController().signal)).toMatchObject({ batches: 0, rejected: 1 });
  await world.project();
  const rejected = await database.db.selectFrom('sampleRejections').select(['reason', 'measured']).execute();
  expect(rejected).toEqual([{ reason: 'other-distribution', measured: 0 }]);
});

test('where rows are trajectories, a rollout without token ids of an observation is rejected with the step, and the others are planned', async () => {
  const builder = new EventBuilder('holes');
  const [[hole = ''] = []] = recordPool(builder, [['none'], ['an observation with ids']], 'other', 'verl');
  const world = openBatcherWorld(database.db, builder.events);
  await world.project();
  const planned = await planLineage(world, POLICY, new AbortController().signal);
  expect(planned).toEqual({ kind: 'planned', batches: 1, samples: 1, rejected: 1 });
  await world.project();
  const [rejection] = await database.db.selectFrom('sampleRejections').selectAll().execute();
  expect(rejection).toMatchObject({ rolloutId: hole, reason: 'incomplete-record', measured: null });
  expect(rejection?.rule).toMatch(/^step [0-9a-f-]{36} has no token ids of its observation: .* prompt_token_ids/);
  const [batch] = await database.db.selectFrom('batches').select('batchId').execute();
  const rows = await readBatchRows(database.db, world.blobs, batch?.batchId ?? '');
  expect(encodeRows(rows, 'verl')).toMatchObject({ kind: 'encoded' });
  const [ledger] = await readLedgers(database.db, [POLICY]);
  expect(ledger).toMatchObject({ produced: 2, difference: 0 });
});

test('of two groups of a batch that have a rollout of one id, one is planned, and the other is rejected with the tree of the first', async () => {
  const builder = new EventBuilder('shared');
  declareAndBegin(builder, { backend: 'linear' }, 'step', undefined, 2);
  const runId = builder.run('collect', RUN);
  const shared = builder.id('of two trees');
  const trees = [shared, shared, builder.id('of one')].map((rolloutId, group) => {
    const tree = builder.tree(runId, `task ${group}`, { plannedRollouts: 1, admissibleActions: CANDIDATES });
    builder.rollout(tree, 0, { policy, rolloutId });
    const step = { policySpans: [{ from: 0, to: 1, ...policy }], tokens: sound, termination: 'terminated' as const };
    const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, { ...step, admissibleActions: CANDIDATES });
    builder.reward(tree, leaf, group, { rolloutId });
    builder.finishRollout(tree, rolloutId, leaf, { steps: 1 });
    builder.closeTree(tree, 1);
    return tree.treeId;
  });
  const world = openBatcherWorld(database.db, builder.events);
  await world.project();
  await planLineage(world, POLICY, new AbortController().signal);
  await world.project();
  const planned = await database.db.selectFrom('batchSamples').select(['treeId', 'rolloutId']).orderBy('place').execute();
  const rejected = await database.db.selectFrom('sampleRejections').select(['treeId', 'rolloutId', 'rule']).execute();
  const first = planned.find(({ rolloutId }) => rolloutId === shared)?.treeId ?? '';
  const other = rejected[0]?.treeId ?? '';
  expect([...planned.map(({ treeId }) => treeId), other].sort()).toEqual([...trees].sort());
  const rule = `tree ${first} of its batch has a rollout ${shared} too: give every rollout an id of its own`;
  expect(rejected).toEqual([{ treeId: other, rolloutId: shared, rule }]);
  const [ledger] = await readLedgers(database.db, [POLICY]);
  expect(ledger).toMatchObject({ produced: 3, difference: 0 });
});

/** Records groups of rollouts of two steps; the second has the fault. Returns the fault of each rollout. */
function recordPool(
  builder: EventBuilder,
  groups: readonly (readonly Fault[])[],
  backend: 'linear' | 'torch' | 'other',
  layout: 'step' | 'verl' = 'step',
) {
  declareAndBegin(builder, { backend }, layout);
  const runId = builder.run('collect', RUN);
  return groups.flatMap((faults, group) => {
    const tree = builder.tree(runId, `task ${group}`, { plannedRollouts: faults.length, admissibleActions: CANDIDATES });
    const recorded = faults.map((fault, ordinal): readonly [string, Fault] => {
      const spec: { step: Step; first?: Step; steps?: number; leaf?: string } = FAULTS[fault];
      const rolloutId = builder.rollout(tree, ordinal, { policy });
      const spans = [{ from: 0, to: 1, ...policy }];
      const step = { policySpans: spans, tokens: sound, admissibleActions: CANDIDATES };
      const first = builder.step(tree, rolloutId, tree.rootStepId, 1, { ...step, ...spec.first });
      const leaf = builder.step(tree, rolloutId, first, 2, { ...step, termination: 'terminated', ...spec.step });
      builder.reward(tree, leaf, ordinal, { rolloutId });
      builder.finishRollout(tree, rolloutId, spec.leaf ? builder.id(spec.leaf) : leaf, { steps: spec.steps ?? 2 });
      return [rolloutId, fault];
    });
    builder.closeTree(tree, faults.length);
    return recorded;
  });
}

function declareAndBegin(
  builder: EventBuilder,
  trainer: Readonly<Record<string, unknown>>,
  layout: 'step' | 'verl' = 'step',
  unclear?: 'keep',
  groupsPerBatch = 1,
  unknownSampling?: 'keep' | 'reject',
): void {
  const lineageId = lineageIdOf(POLICY);
  const rules = {
    ...TEST_RULES,
    layout,
    ...(unclear ? { unclear } : {}),
    ...(unknownSampling ? { unknownSampling } : {}),
    groupsPerBatch,
    maxStaleness: null,
    zeroVariance: 'keep' as const,
  };
  const declared = { estimator: { name: 'grpo', revision: '1', mode: { singleton: 'raw' } }, seed: 1, trainer };
  builder.record(
    'TrainingDeclared',
    { lineageId, policyId: POLICY, ...declared, rules: { ...rules, group: { kind: 'at-least', members: 1 } } },
    lineageId,
  );
  recordVersion(builder, POLICY, 0);
}
