import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { pack } from '../../../../events/packed.ts';
import { tokensAsJson } from '../../../../projections/step-tree/token-bytes.ts';
import { datasetWorkshop } from '../../../../testing/dataset-workshop.ts';

const shop = datasetWorkshop();

// written by the code of each: rLLM 9beb6e0f, SkyRL a9564572, slime 624b824a
const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
const steps = () =>
  shop.db
    .selectFrom('steps')
    .innerJoin('rollouts', 'rollouts.rolloutId', 'steps.rolloutId')
    .select([
      'response',
      'observation',
      'policySpans',
      'rollouts.outcome',
      'rollouts.success',
      tokensAsJson('steps').as('tokens'),
    ])
    .where('depth', '>', 0)
    .orderBy('response')
    .execute();
const rewards = () =>
  shop.db.selectFrom('rewards').select(['component', 'value']).orderBy('value').orderBy('component').execute();
const notesOf = ({ notes }: { notes: readonly { kind: string; field: string | null }[] }) =>
  notes.map(({ kind, field }) => (field === null ? kind : `${kind} ${field}`)).sort();

test('each trajectory of an episode of rLLM is a rollout, with the tokens, rewards and version of its steps', async () => {
  const report = await shop.importing({ source: fixture('rllm-episodes.json') });
  expect(report).toMatchObject({ source: 'rllm', trees: 2, rollouts: 2, steps: 3 });
  expect(notesOf(report)).toEqual(['field-not-read metrics', 'field-not-read steps[].prompt_ids']);
  const ended = { outcome: 'terminated', success: true };
  expect(await steps()).toMatchObject([
    { ...ended, response: 'It is 4.', tokens: { ids: pack('int32', [13]), logProbs: pack('float32', [-1]), mask: null } },
    { ...ended, response: 'calc(2+2)', observation: '4', policySpans: [{ from: 0, to: 2, policyId: 'rllm', version: 3 }] },
    { ...ended, response: 'yes', policySpans: [{ to: 1, version: 0 }] },
  ]);
  expect(await rewards()).toEqual([
    { component: 'environment', value: 0.5 },
    { component: 'environment', value: 1 },
  ]);
  expect(await shop.importing({ source: fixture('rllm-episodes.json') })).toMatchObject({ alreadyThere: report.events });
});

test('an episode that a trainer of rLLM logged has the training step as its version, and no tokens', async () => {
  const report = await shop.importing({ source: fixture('rllm-logged.json') });
  expect(report).toMatchObject({ source: 'rllm', trees: 2, rollouts: 2, steps: 3 });
  expect(await steps()).toMatchObject([4, 4, 4].map((version) => ({ tokens: null, policySpans: [{ version }] })));
});

test('a dumped evaluation of SkyRL is a rollout of its prompt, with the sum of its scores, whose reply is context', async () => {
  const report = await shop.importing({ source: fixture('skyrl.jsonl') });
  expect(report).toMatchObject({ source: 'skyrl', trees: 1, rollouts: 2, steps: 2 });
  expect(notesOf(report)).toEqual(['field-not-read env_extras', 'reply-without-mask']);
  expect(await steps()).toMatchObject([
    { response: '4', outcome: 'terminated', policySpans: [{ policyId: 'skyrl:context' }] },
    { response: 'five, or six', outcome: 'truncated' },
  ]);
  expect((await rewards()).map(({ value }) => value)).toEqual([0, 1]);
});

test('a sample of slime keeps its tokens with the mask, each of its rewards, its group and the version that sampled it', async () => {
  const report = await shop.importing({ source: fixture('slime.jsonl') });
  expect(report).toMatchObject({ source: 'slime', trees: 1, rollouts: 2, steps: 2 });
  expect(notesOf(report)).toEqual(['field-not-read label', 'field-not-read metadata']);
  expect(await steps()).toMatchObject([
    { response: 'Fi', outcome: 'truncated', tokens: { ids: pack('int32', [21]), logProbs: pack('float32', [-2]), mask: null } },
    {
      response: 'calc 2+2 = 4. Four.',
      outcome: 'terminated',
      tokens: {
        ids: pack('int32', [11, 12, 13, 14]),
        logProbs: pack('float32', [-0.5, -0.25, 0, -1]),
        mask: pack('uint8', [1, 1, 0, 1]),
      },
      policySpans: [{ from: 0, to: 4, policyId: 'slime', version: 3 }],
    },
  ]);
  expect(await rewards()).toEqual([
    { component: 'right', value: 0 },
    { component: 'short', value: 0.5 },
    { component: 'environment', value: 1 },
  ]);
});
