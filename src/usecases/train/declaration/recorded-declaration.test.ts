import { expect, test } from '@jest/globals';
import type { LineageRecord } from '../../../projections/training-pool/read-lineages.ts';
import { trainingDeclared } from '../batcher/declare-training.ts';
import { PRESET_NAMES } from './declaration-fields.ts';
import { parseDeclaration } from './parse-declaration.ts';
import { asDeclared, recordedDeclaration } from './recorded-declaration.ts';
import { planRulesOf, trainerOf } from './trainer-of.ts';

const TINY = { model: { kind: 'tiny', layers: 1, width: 16, heads: 2, context: 64 } };
const BACKENDS = [{ backend: 'linear' }, { backend: 'torch', torch: TINY }, { backend: 'somebody' }];

/** Records a declaration as the log keeps it. */
function recorded(input: object) {
  const parsed = parseDeclaration(input);
  if (parsed.kind === 'refused') throw new Error(`${parsed.message}; ${parsed.remedy}`);
  const { declaration } = parsed;
  const { estimator, seed } = declaration;
  const rules = planRulesOf(declaration);
  const data = trainingDeclared({ policyId: 'p', estimator, rules, seed, trainer: trainerOf(declaration) });
  const counts = { newestVersion: 0, planned: 0, trained: 0, abandoned: 0, lastManifest: null, declaredAt: new Date(0) };
  return { ...JSON.parse(JSON.stringify(data)), ...counts } as LineageRecord;
}

test.each([
  {},
  { backend: 'linear', estimator: { name: 'gae', options: { variant: 'step' } }, critic: { clip: 1 }, seed: 4 },
  { backend: 'torch', torch: TINY, aggregation: 'seq-mean-token-sum-norm', lossScale: 3, optimiser: { weightDecay: 0.1 } },
  { loss: { name: 'gspo' }, correction: { rejection: { rules: 'token_k1', bounds: '0.5_2' } }, prompt: { mode: 'chat' } },
  ...PRESET_NAMES.flatMap((preset) =>
    BACKENDS.map((backend) => ({ preset, ...backend, ...(preset === 'agent-r1-ppo' ? { critic: { kind: 'linear' } } : {}) })),
  ),
])('%j, declared again as it is recorded, is the same declaration', (input) => {
  const lineage = recorded(input);
  const again = recorded(asDeclared(recordedDeclaration(lineage)));
  expect(again).toEqual(lineage);
});

test('a recorded training shows what was declared of it, and what trainers received in another form shows nothing', () => {
  const lineage = recorded({
    preset: 'agent-r1-ppo',
    backend: 'linear',
    critic: { kind: 'linear' },
    optimiser: { learningRate: 0.5 },
  });
  expect(recordedDeclaration(lineage)).toMatchObject({
    backend: 'linear',
    preset: 'agent-r1-ppo',
    torch: null,
    groupSize: 1,
    prompt: null,
    seed: 1,
    estimator: { name: 'gae', options: { variant: 'token-across-steps', gamma: 1, lambda: 1 } },
    loss: { name: 'dual_clip' },
    kl: { in: 'reward', kind: 'k1', coefficient: 0.001 },
    optimiser: { kind: 'adam', learningRate: 0.5, miniBatch: 64 },
    critic: { kind: 'linear', learningRate: 1e-5 },
    rules: { groupsPerBatch: 128 },
  });
  for (const trainer of [null, 7, 'text', [1], { backend: 1, settings: 'none', preset: {}, groupSize: 'x', torch: [] }])
    expect(recordedDeclaration({ ...lineage, trainer })).toMatchObject({
      backend: null,
      preset: null,
      torch: null,
      loss: null,
      kl: null,
      optimiser: null,
      groupSize: null,
      prompt: null,
      estimator: { name: 'gae', options: { lambda: 1 } },
    });
});
