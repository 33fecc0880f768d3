import { configureEstimator } from '../../../domain/training/advantages/estimators.ts';
import type { DeclarationFields, PresetName } from './declaration-fields.ts';

interface Preset {
  readonly summary: string;
  /** Where the values were published, and what was chosen where the source is silent. */
  readonly source: string;
  /** A part of a declaration: what a declaration names itself takes its place. */
  readonly values: Omit<DeclarationFields, 'preset' | 'backend' | 'weights' | 'kept' | 'torch' | 'seed'>;
}

/** Every row is trained on once, strictly on-policy, groups of equal rewards too: none of the three recipes filters them. */
const ON_POLICY = { maxStaleness: 0, zeroVariance: 'keep' } as const;

/** The clipped surrogate as verl computed it before 0.4.1: log-ratios without a bound (specification of Agent-R1, §2.0, §2.5). */
const LOSS_BEFORE_CLAMP = {
  name: 'dual_clip',
  options: { clipLow: 0.2, clipHigh: 0.2, dualClip: 3, logRatios: 'unclamped' },
} as const;

/** Both generations leave it at the default of verl's AdamW. */
const WEIGHT_DECAY = 0.01;

/** Agent-R1 `legacy`, the scripts for HotpotQA: 128 questions of a batch in mini-batches of 64 (§1.2). */
const LEGACY = {
  loss: LOSS_BEFORE_CLAMP,
  aggregation: 'token-mean',
  kl: null,
  optimiser: {
    kind: 'adam',
    learningRate: 1e-6,
    weightDecay: WEIGHT_DECAY,
    epochs: 1,
    miniBatch: 64,
    clipNorm: 1,
    entropyCoefficient: 0,
  },
} as const;
const LEGACY_RULES = { ...ON_POLICY, groupsPerBatch: 128 } as const;

/** KL in the reward with a fixed coefficient; `kl` of verl is k1 (§1.2, §2.6). */
const KL_IN_REWARD = { in: 'reward', kind: 'k1', coefficient: 0.001 } as const;

/** Agent-R1 v0.1, on verl 0.7: recipes with 256 questions and mini-batches of 256 whole trajectories (§1.3, §3.6). */
const V01 = {
  loss: { name: 'dual_clip', options: { clipLow: 0.2, clipHigh: 0.2, dualClip: 3 } },
  aggregation: 'token-mean',
  kl: null,
  optimiser: {
    kind: 'adam',
    learningRate: 1e-6,
    weightDecay: WEIGHT_DECAY,
    epochs: 1,
    miniBatch: 256,
    clipNorm: 1,
    entropyCoefficient: 0,
  },
} as const;
const V01_RULES = { ...ON_POLICY, groupsPerBatch: 256 } as const;

/**
 * The published recipes as partial declarations. Sources are the specifications of AgentOCR and Agent-R1 as they were read from
 * the authors' code: sections are named in `source`.
 */
export const PRESETS: Readonly<Record<PresetName, Preset>> = {
  'agentocr-grpo': {
    summary: 'AgentOCR on ALFWorld: GRPO over steps, histories as images, compression paid in every fifth iteration.',
    source:
      'AgentOCR §2.3, §3.4, §3.5 (alfworld), V8. K is that of the paper; its top-level scripts say 8. A success is worth 10. Mini-batches there are 256 steps, which may cut a trajectory; here 5 whole trajectories, as many steps at the limit of 50.',
    values: {
      estimator: { name: 'step_parts_grpo', options: { parts: 'summed', scale: 'deviation', epsilon: 1e-6 } },
      loss: LOSS_BEFORE_CLAMP,
      aggregation: 'token-mean',
      kl: null,
      optimiser: {
        kind: 'adam',
        learningRate: 1e-6,
        weightDecay: WEIGHT_DECAY,
        epochs: 1,
        miniBatch: 5,
        clipNorm: 1,
        entropyCoefficient: 0.001,
      },
      prompt: {
        mode: 'image',
        historyLength: 50,
        invalidPenalty: 0.1,
        profile: 'agentocr-alfworld',
        vision: 'qwen2.5-vl',
        emptyHistory: 'blank-image',
        compression: { reward: 'factor', lambda: 0.01, mu: 0, every: 5 },
      },
      groupSize: 8,
      rules: { ...ON_POLICY, groupsPerBatch: 16, rewards: { environment: 10, compression: 1, 'invalid-action': 1 } },
    },
  },
  'agent-r1-grpo': {
    summary: 'Agent-R1 on HotpotQA: GRPO with five rollouts of a question and KL in the loss.',
    source: 'Agent-R1 §1.1 (n = 5), §1.2 (`legacy`), §2.3. The length of a batch is that of the scripts.',
    values: {
      ...LEGACY,
      estimator: { name: 'grpo', options: { scale: 'std', scores: 'trained-tokens', singleton: 'raw' } },
      kl: { in: 'loss', kind: 'k3', coefficient: 0.001, logRatios: 'unclamped' },
      groupSize: 5,
      rules: LEGACY_RULES,
    },
  },
  'agent-r1-ppo': {
    summary: 'Agent-R1 on HotpotQA: PPO with a critic of its own model over action tokens and KL in the reward.',
    source:
      'Agent-R1 §1.2 (`legacy`), §2.2, §2.6. The compact recursion over action tokens has the values of `token-across-steps` on every trained token. The critic there is a model of its own with a value head; `critic: { kind: linear }` trains with that of our own backends. Its warm-up (5 updates) is left out.',
    values: {
      ...LEGACY,
      estimator: { name: 'gae', options: { variant: 'token-across-steps', gamma: 1, lambda: 1 } },
      kl: KL_IN_REWARD,
      critic: { kind: 'model', learningRate: 1e-5, epochs: 1, clip: 0.5, factor: 0.5 },
      groupSize: 1,
      rules: LEGACY_RULES,
    },
  },
  'agent-r1-reinforce++': {
    summary: 'Agent-R1 on HotpotQA: REINFORCE++ over action tokens with KL in the reward.',
    source: 'Agent-R1 §1.2 (`legacy`), §2.3 (compact), §2.6.',
    values: {
      ...LEGACY,
      estimator: { name: 'reinforce_plus_plus', options: { variant: 'compact', gamma: 1 } },
      kl: KL_IN_REWARD,
      groupSize: 1,
      rules: LEGACY_RULES,
    },
  },
  'agent-r1-rloo': {
    summary: 'Agent-R1 on HotpotQA: RLOO with five rollouts of a question.',
    source:
      'Agent-R1 §1.6 (technical report v1), §2.3 (a lone member keeps its score, as in the loop form). The scripts are those of `legacy` (§1.2); how many rollouts RLOO had is not published, five are those of GRPO.',
    values: {
      ...LEGACY,
      estimator: { name: 'rloo', options: { over: 'trajectory-sums', scores: 'trained-tokens', singleton: 'raw' } },
      groupSize: 5,
      rules: LEGACY_RULES,
    },
  },
  'agent-r1-remax': {
    summary: 'Agent-R1 v0.1: ReMax, which subtracts the score of a greedy rollout of the same question.',
    source: 'Agent-R1 §1.3 (v0.1), §2.3. Sizes are those of its recipes.',
    values: {
      ...V01,
      estimator: { name: 'remax', options: { over: 'trajectories' } },
      groupSize: 1,
      rules: V01_RULES,
    },
  },
  'agent-r1-gigpo': {
    summary: 'Agent-R1 v0.1: GiGPO, which compares episodes and, within equal states, steps.',
    source:
      'Agent-R1 §1.3 (v0.1), §2.4 (mean_std_norm, γ 0.99, w 1, equal states). How many rollouts a question had is not published; 8 are those of verl-agent (AgentOCR §3.5).',
    values: {
      ...V01,
      estimator: {
        name: 'gigpo',
        options: {
          mode: 'mean_std_norm',
          episode: 'trajectory-sums',
          scores: 'trained-tokens',
          gamma: 0.99,
          stepWeight: 1,
          anchors: 'exact',
        },
      },
      groupSize: 8,
      rules: V01_RULES,
    },
  },
};

/**
 * Fills in what the preset of a declaration says and the declaration does not. A field that is a single value, a penalty or a
 * correction is replaced whole; options, optimiser, critic, rules and prompt field by field, as long as they belong to the same
 * computation: options of another estimator than the preset's are never mixed with its own.
 */
export function mergePreset(declared: DeclarationFields): DeclarationFields {
  if (declared.preset === undefined) return declared;
  const { values } = PRESETS[declared.preset];
  const estimator = mergeMethod(values.estimator, declared.estimator);
  const merged: DeclarationFields = {
    ...values,
    ...declared,
    ...(estimator ? { estimator } : {}),
    ...whole('loss', mergeMethod(values.loss, declared.loss)),
    ...whole('optimiser', mergeOptimiser(values.optimiser, declared)),
    ...whole('rules', { ...values.rules, ...declared.rules }),
    ...whole('prompt', mergePrompt(values.prompt, declared.prompt)),
  };
  // a critic of the preset goes with its estimator; one that the declaration names itself is checked with the rest
  if (values.critic && (declared.critic || needsValues(estimator)))
    return { ...merged, critic: { ...values.critic, ...declared.critic } };
  const { critic: _, ...rest } = merged;
  return declared.critic ? merged : rest;
}

/**
 * Returns what a preset, or else a default, says of the parts of a declaration that are otherwise replaced whole or need a name:
 * what is laid below a change of a single field. @param metric of the rules, for the usual rewards.
 */
export function partsBelow(preset: PresetName | undefined, metric: unknown): readonly (readonly [readonly string[], object])[] {
  const { estimator, loss, kl, prompt, rules } = preset === undefined ? {} : PRESETS[preset].values;
  return [
    [['estimator'], { name: estimator?.name ?? 'grpo' }],
    [['loss'], { name: loss?.name ?? 'dual_clip' }],
    [['kl'], kl ?? { kind: 'k3', coefficient: 0.001 }],
    [['prompt'], prompt ? { mode: prompt.mode } : {}],
    [['rules', 'rewards'], rules?.rewards ?? { [typeof metric === 'string' ? metric : 'environment']: 1 }],
  ];
}

/** Whether an estimator takes values of a critic; false for one that does not exist. */
export function needsValues(estimator: DeclarationFields['estimator']): boolean {
  if (!estimator) return false;
  const configured = configureEstimator(estimator.name, estimator.options);
  return configured.kind === 'configured' && configured.estimator.readiness.columns.includes('values');
}

type Method = DeclarationFields['estimator'];

function mergeMethod(preset: Method, own: Method): Method {
  if (!preset || !own) return own ?? preset;
  return own.name === preset.name ? { name: own.name, options: { ...preset.options, ...own.options } } : own;
}

/** Weight decay is the torch backend's and that of trainers elsewhere: a preset asks it of nobody else. */
function mergeOptimiser(preset: DeclarationFields['optimiser'], { backend, optimiser }: DeclarationFields) {
  if (!preset || backend !== 'linear') return { ...preset, ...optimiser };
  const { weightDecay: _, ...rest } = preset;
  return { ...rest, ...optimiser };
}

function mergePrompt(preset: DeclarationFields['prompt'], own: DeclarationFields['prompt']): DeclarationFields['prompt'] {
  if (!preset || !own) return own ?? preset;
  if (own.mode !== 'image' || preset.mode !== 'image') return own;
  const compression = own.compression === null ? null : { ...preset.compression, ...own.compression };
  return { ...preset, ...own, compression };
}

function whole<Name extends string, Value>(name: Name, value: Value | undefined): Partial<Record<Name, Value>> {
  return value === undefined ? {} : ({ [name]: value } as Record<Name, Value>); // one key, of this name
}
