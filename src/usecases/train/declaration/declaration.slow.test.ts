import { describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { ESTIMATORS } from '../../../domain/training/advantages/estimators.ts';
import { POLICY_LOSSES } from '../../../domain/training/losses/policy-losses.ts';
import { planRules } from '../../../events/schemas/training.ts';
import { trainingSettings } from '../../../training/backends/training-settings.ts';
import { trainerPlan } from '../open-backend.ts';
import { PRESET_NAMES } from './declaration-fields.ts';
import { declarationSchema, OPTION_WORDS } from './declaration-schema.ts';
import { parseDeclaration } from './parse-declaration.ts';
import { PRESETS } from './presets.ts';
import { promptPlanOf } from './prompt-fields.ts';
import { planRulesOf, settingsOf, torchPlanOf, trainerOf } from './trainer-of.ts';

const TINY = { model: { kind: 'tiny', layers: 1, width: 16, heads: 2, context: 64 } };
const LINEAR = { critic: { kind: 'linear' } };
const BACKENDS = [{ backend: 'linear' }, { backend: 'torch', torch: TINY }, { backend: 'external' }];

function parse(input: object) {
  const parsed = parseDeclaration(input);
  if (parsed.kind === 'refused') throw new Error(`${parsed.message}; ${parsed.remedy}`);
  return parsed.declaration;
}

describe('a preset', () => {
  test.each(PRESET_NAMES)('%s is a whole training for every backend, and names its source', (preset) => {
    expect(PRESETS[preset].source).toMatch(/§/);
    for (const backend of BACKENDS) {
      const own = backend.backend !== 'external' && PRESETS[preset].values.critic ? LINEAR : {};
      const declaration = parse({ preset, ...backend, ...own });
      expect(planRules.safeParse(planRulesOf(declaration)).error).toBeUndefined();
      const trainer = JSON.parse(JSON.stringify(trainerOf(declaration)));
      expect(trainer).toMatchObject({
        ...(backend.backend === 'torch' ? {} : backend),
        preset,
        groupSize: PRESETS[preset].values.groupSize,
      });
      const { weightDecay, ...settings } = trainer.settings; // that of a trainer elsewhere; ours is of the torch plan
      const ownCritic = { learningRate: 1, epochs: 1, clip: 1 }; // a trainer elsewhere has its own where none is declared
      expect(trainingSettings.safeParse({ critic: ownCritic, ...settings }).error).toBeUndefined();
      expect(weightDecay).toBe(backend.backend === 'external' ? PRESETS[preset].values.optimiser?.weightDecay : undefined);
      if (backend.backend !== 'external') expect(trainerPlan.parse(trainer)).toEqual(trainer);
    }
  });

  test.each([
    ['grpo', 'reject'],
    ['rloo', 'reject'],
    ['gae', 'keep'],
    ['reinforce_plus_plus', 'keep'],
    ['remax', 'keep'],
  ])('groups of equal rewards are, for %s, by default: %s', (name, zeroVariance) => {
    const declaration = parse({ backend: 'external', weights: 'a'.repeat(64), estimator: { name } });
    expect(planRulesOf(declaration).zeroVariance).toBe(zeroVariance);
  });

  test.each(PRESET_NAMES)('%s decays weights as the AdamW of verl does', (preset) => {
    const declaration = parse({ preset, backend: 'torch', torch: TINY, ...(preset === 'agent-r1-ppo' ? LINEAR : {}) });
    expect(torchPlanOf(declaration).weightDecay).toBe(0.01);
  });

  test('a preset holds the values that its paper published', () => {
    const ocr = parse({ preset: 'agentocr-grpo', backend: 'torch', torch: TINY });
    expect(planRulesOf(ocr)).toMatchObject({ groupsPerBatch: 16, maxStaleness: 0, zeroVariance: 'keep' });
    expect(settingsOf(ocr)).toMatchObject({ learningRate: 1e-6, epochs: 1, clipNorm: 1, entropyCoefficient: 0.001, kl: null });
    expect(torchPlanOf(ocr)).toMatchObject({ weightDecay: 0.01, critic: false, aggregation: 'token-mean' });
    expect(promptPlanOf(ocr.prompt, 'alfworld', 5)).toEqual({
      template: { name: 'alfworld', version: 1 },
      mode: 'image',
      historyLength: 50,
      invalidPenalty: 0.1,
      image: { profile: 'agentocr-alfworld', vision: 'qwen2.5-vl', emptyHistory: 'blank-image' },
      compression: { candidateFactor: 1.2, reward: 'factor', lambda: 0.01, mu: 0, every: 5, iteration: 5 },
    });
    const ppo = parse({ preset: 'agent-r1-ppo', backend: 'torch', torch: TINY, ...LINEAR });
    expect(planRulesOf(ppo).groupsPerBatch).toBe(128);
    expect(torchPlanOf(ppo).critic).toBe(true);
    expect(settingsOf(ppo)).toMatchObject({
      learningRate: 1e-6,
      epochs: 1,
      miniBatch: 64,
      entropyCoefficient: 0,
      kl: { in: 'reward', kind: 'k1', coefficient: 0.001 },
      critic: { kind: 'linear', learningRate: 1e-5, clip: 0.5, factor: 0.5 },
    });
    const grpo = parse({ preset: 'agent-r1-grpo' });
    expect(grpo).toMatchObject({ groupSize: 5, kl: { in: 'loss', kind: 'k3', coefficient: 0.001, logRatios: 'unclamped' } });
  });

  test('every field that is named overrides the preset, and another estimator takes the place of all its options', () => {
    const own = parse({
      preset: 'agentocr-grpo',
      backend: 'linear',
      groupSize: 4,
      kl: null,
      optimiser: { learningRate: 0.1 },
      rules: { groupsPerBatch: 2 },
      prompt: { mode: 'image', compression: { every: 8 } },
      estimator: { name: 'step_parts_grpo', options: { scale: 'none' } },
    });
    expect(own).toMatchObject({
      preset: 'agentocr-grpo',
      groupSize: 4,
      optimiser: { learningRate: 0.1, entropyCoefficient: 0.001 },
      rules: { groupsPerBatch: 2, zeroVariance: 'keep' },
      prompt: { profile: 'agentocr-alfworld', compression: { every: 8, lambda: 0.01 } },
      estimator: { options: { scale: 'none', parts: 'summed' } },
    });
    const other = parse({ preset: 'agent-r1-ppo', estimator: { name: 'grpo' }, prompt: { mode: 'chat' } });
    expect(other.estimator).toEqual({ name: 'grpo', options: {} });
    expect(other.critic).toBeUndefined();
    expect(parse({ preset: 'agentocr-grpo', prompt: { mode: 'image', compression: null } }).prompt).toMatchObject({
      compression: null,
    });
  });
});

describe('a declaration without a preset', () => {
  test('a trainer elsewhere has nothing recorded of it that was not declared', () => {
    expect(trainerOf(parse({ backend: 'example' }))).toEqual({ backend: 'example' });
    expect(trainerOf(parse({ loss: { name: 'gspo' }, optimiser: { weightDecay: 0.1 }, kl: null }))).toEqual({
      backend: 'external',
      settings: {
        objective: { kind: 'policy-gradient', estimator: { name: 'grpo', options: {} }, loss: { name: 'gspo', options: {} } },
        kl: null,
        weightDecay: 0.1,
      },
    });
    expect(planRulesOf(parse({}))).toMatchObject({
      groupsPerBatch: 8,
      maxStaleness: 0,
      unscored: 'wait',
      tokenBudget: 16_384,
    });
  });

  test('the linear policy is strictly on-policy, and corrected samples need log-probabilities', () => {
    expect(planRulesOf(parse({ backend: 'linear' }))).toMatchObject({ maxStaleness: 0, unscored: 'reject', offPolicy: 'any' });
    const corrected = parse({ backend: 'linear', correction: { weights: { level: 'token' } }, rules: { maxStaleness: 3 } });
    expect(planRulesOf(corrected)).toMatchObject({ maxStaleness: 3, offPolicy: 'log-probs' });
    expect(settingsOf(corrected)).toMatchObject({ learningRate: 0.1, correction: { weights: { threshold: 2 } } });
  });
});

describe('a declaration that does not go together', () => {
  test.each([
    [{ estimator: { name: 'ppo' } }, 'estimator.name', 'there is no estimator ppo; there are gae,', 'did you mean gae?'],
    [{ estimator: { name: 'grpq' } }, 'estimator.name', 'there is no estimator grpq', 'did you mean grpo?'],
    [{ estimator: { name: 'constructor' } }, 'estimator.name', 'there is no estimator constructor', 'name one of them'],
    [
      { estimator: { name: 'grpo', options: { gamma: 0.9 } } },
      'estimator.options.gamma',
      'grpo has no option gamma, which belongs to gae, reinforce_plus_plus, reinforce_step, gigpo; it has over, scale,',
      'leave it out, or choose gae as estimator',
    ],
    [
      { estimator: { name: 'grpo', options: { sclae: 1 } } },
      'estimator.options.sclae',
      'no option sclae;',
      'did you mean scale?',
    ],
    [
      { estimator: { name: 'gae', options: { gamma: 2 } } },
      'estimator.options',
      'gamma is a number from 0 to 1, not 2',
      'correct',
    ],
    [
      { preset: 'agent-r1-ppo', estimator: { name: 'gae', options: { over: 'rows' } } },
      'estimator.options.over',
      'gae has no',
      'leave',
    ],
    [{ loss: { name: 'gspo', options: { dualClip: 3 } } }, 'loss.options.dualClip', 'which belongs to dual_clip', 'as loss'],
    [{ backend: 'torch' }, 'torch', 'has no model', 'name one, as'],
    [{ backend: 'linear', torch: TINY }, 'torch', 'it belongs to the backend torch, not to linear', 'choose torch'],
    [{ backend: 'torch', torch: TINY, optimiser: { kind: 'sgd' } }, 'optimiser.kind', 'by AdamW', 'choose adam'],
    [{ backend: 'linear', optimiser: { weightDecay: 0.1 } }, 'optimiser.weightDecay', 'no weight decay', 'leave it out'],
    [{ preset: 'agent-r1-ppo', backend: 'torch', torch: TINY }, 'critic.kind', 'has a linear critic', 'choose linear'],
    [{ critic: { clip: 1 } }, 'critic', 'the estimator grpo takes no values', 'choose gae'],
    [{ lossScale: 2 }, 'lossScale', 'it belongs to the aggregation seq-mean-token-sum-norm', 'leave it out'],
    [{ aggregation: 'seq-mean-token-sum-norm' }, 'lossScale', 'divides by it, in every mini-batch alike', 'the longest reply'],
    [{ estimator: { name: 'rloo' }, groupSize: 1 }, 'groupSize', 'compares 2 members of a group', 'choose 2 or more'],
    [{ groupSize: 2, rules: { group: { kind: 'at-least', members: 3 } } }, 'rules.group.members', '3 fit members', 'at most 2'],
    [{ backend: 'linear', estimator: { name: 'remax' }, rules: { maxStaleness: 1 } }, 'rules.maxStaleness', 'greedy', 'choose 0'],
    [{ processRewards: { components: ['tool'] } }, 'processRewards.components', 'tool has no weight', '"tool": 1'],
    [{ prompt: { mode: 'image', vision: 'qwen3vl' } }, 'prompt.vision', 'there is no vision processor', 'did you mean qwen3-vl?'],
    [{ kept: { blob: 'a'.repeat(64), size: 1, mediaType: 'x' } }, 'kept', 'that no field names', 'add weights'],
    [{ preset: 'agent-r1-pp' }, 'preset', 'Invalid option', 'correct it'],
    [{ estimtor: { name: 'grpo' } }, '', 'Unrecognized key: "estimtor"', 'did you mean estimator?'],
    [
      { kl: { kind: 'k3', coefficient: 1, controller: { kind: 'adaptive', target: 1, horizon: 1 } } },
      'kl.controller',
      'adaptive',
      '',
    ],
    [{ correction: { rejection: { rules: 'nope', bounds: '1' } } }, 'correction.rejection', 'nope', ''],
    [{ prompt: { mode: 'text', compression: {} } }, 'prompt', 'Unrecognized key: "compression"', ''],
    [[], '', 'expected object', ''],
    [null, '', 'expected object', ''],
  ])('%j is refused by its field, with the remedy', (input, field, message, remedy) => {
    expect(parseDeclaration(input)).toEqual({
      kind: 'refused',
      field,
      message: expect.stringContaining(message),
      remedy: expect.stringContaining(remedy),
    });
  });
});

describe('the JSON Schema of a declaration', () => {
  const schema = declarationSchema();

  test('describes every field, and every option of every estimator and loss', () => {
    expect(undescribed(schema, '')).toEqual([]);
    const options = [ESTIMATORS, POLICY_LOSSES].flatMap((registry) =>
      Object.values(registry).flatMap((of) => Object.keys(of.options)),
    );
    expect(Object.keys(OPTION_WORDS).sort()).toEqual([...new Set(options)].sort());
  });

  test('accepts every preset as a declaration, and refuses an option of another estimator', () => {
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
    for (const { values } of Object.values(PRESETS)) {
      validate(values);
      expect(validate.errors ?? []).toEqual([]);
    }
    expect(validate({ estimator: { name: 'grpo', options: { gamma: 1 } } })).toBe(false);
    expect(validate({ estimator: { name: 'gae', options: { gamma: 1 } } })).toBe(true);
  });
});

/** The paths of properties without a description. */
function undescribed(node: unknown, path: string): readonly string[] {
  if (typeof node !== 'object' || node === null) return [];
  if (Array.isArray(node)) return node.flatMap((each) => undescribed(each, path));
  const { properties, ...rest } = node as { properties?: Record<string, { description?: string }> };
  const own = Object.entries(properties ?? {}).flatMap(([name, property]) => [
    ...(property.description === undefined ? [`${path}.${name}`] : []),
    ...undescribed(property, `${path}.${name}`),
  ]);
  return [...own, ...Object.values(rest).flatMap((each) => undescribed(each, path))];
}
