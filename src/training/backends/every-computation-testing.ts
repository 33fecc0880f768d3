import { expect } from '@jest/globals';
import { ESTIMATORS } from '../../domain/training/advantages/estimators.ts';
import { KL_KINDS } from '../../domain/training/kl/kl-penalty.ts';
import { AGGREGATION_MODES } from '../../domain/training/losses/policy-loss.ts';
import { POLICY_LOSSES } from '../../domain/training/losses/policy-losses.ts';
import type { OptionRules } from '../../domain/training/method-options.ts';
import type { Backend } from './backend.ts';
import type { StepRow } from './step-row.ts';
import { type TrainingSettings, trainingSettings } from './training-settings.ts';

type Options = Readonly<Record<string, string | number>>;

/** Estimators, each with every word of every option; of GAE those that whole rows take are trained on one-step rollouts. */
const ESTIMATED: readonly (readonly [name: string, options: Options])[] = Object.values(ESTIMATORS).flatMap(({ name, options }) =>
  wordsOf(options).map((chosen) => [name, chosen] as const),
);

/** One training for each estimator with its options, loss, aggregation, KL and correction that a declaration can name. */
export const EVERY_COMPUTATION: readonly (readonly [what: string, settings: TrainingSettings])[] = [
  ...ESTIMATED.map(([name, options]) => [`${name} ${wordsIn(options)}`, settingsOf(name, options)] as const),
  ...Object.values(POLICY_LOSSES).flatMap(({ name, options }) =>
    wordsOf(options).map((chosen) => [`loss ${name} ${wordsIn(chosen)}`, withLoss(name, chosen)] as const),
  ),
  ...AGGREGATION_MODES.map((aggregation) => {
    const scaled = aggregation === 'seq-mean-token-sum-norm' ? { lossScale: 7 } : {};
    return [`aggregation ${aggregation}`, settingsOf('grpo', {}, { aggregation, ...scaled })] as const;
  }),
  ...KL_KINDS.flatMap((kind) => [
    [`KL ${kind} in the loss`, settingsOf('grpo', {}, { kl: { kind, coefficient: 0.1 } })] as const,
    [`KL ${kind} in the reward`, settingsOf('grpo', {}, { kl: { kind, coefficient: 0.1, in: 'reward' } })] as const,
  ]),
  ['KL k3 unclamped', settingsOf('grpo', {}, { kl: { kind: 'k3', coefficient: 0.1, logRatios: 'unclamped' } })],
  [
    'KL in the reward, adaptive',
    settingsOf(
      'grpo',
      {},
      {
        kl: { kind: 'k1', coefficient: 0.1, in: 'reward', controller: { kind: 'adaptive', target: 0.1, horizon: 100 } },
      },
    ),
  ],
  ...(['token', 'sequence'] as const).flatMap((level) =>
    (['none', 'batch'] as const).map(
      (normalise) =>
        [
          `correction ${level}, normalised ${normalise}`,
          settingsOf('grpo', {}, { correction: { weights: { level, threshold: 2, normalise } } }),
        ] as const,
    ),
  ),
  ...['token', 'seq_sum', 'seq_mean', 'seq_max'].flatMap((level) =>
    ['k1', 'k2', 'k3'].flatMap((statistic) =>
      level === 'seq_max' && statistic === 'k1'
        ? []
        : [
            [
              `rejection ${level}_${statistic}`,
              rejecting(`${level}_${statistic}`, statistic === 'k1' ? '1e-6_1e6' : '1e6'),
            ] as const,
          ],
    ),
  ),
  [
    'weights in the optimal baseline',
    settingsOf('optimal_token_baseline', {}, { correction: { weights: { level: 'token', threshold: 2, normalise: 'none' } } }),
  ],
  ...(['none', 'batch'] as const).map(
    (normalisation) =>
      [
        `process rewards, normalised ${normalisation}`,
        settingsOf('grpo', {}, { processRewards: { components: ['tool'], normalisation } }),
      ] as const,
  ),
  [
    'process rewards at the end of a call',
    settingsOf('grpo', {}, { processRewards: { components: ['tool'], placement: 'call-end', closing: '!' } }),
  ],
  [
    'value loss without its half',
    settingsOf('gae', { variant: 'step' }, { critic: { learningRate: 0.05, epochs: 2, clip: 0.5, factor: 1 } }),
  ],
];

function settingsOf(estimator: string, options: Options, more: Readonly<Record<string, unknown>> = {}): TrainingSettings {
  return trainingSettings.parse({
    objective: { kind: 'policy-gradient', estimator: { name: estimator, options }, loss: { name: 'dual_clip', options: {} } },
    learningRate: 0.01,
    epochs: 1,
    miniBatch: 4,
    ...more,
  });
}

function withLoss(name: string, options: Options): TrainingSettings {
  return settingsOf(
    'grpo',
    {},
    {
      objective: { kind: 'policy-gradient', estimator: { name: 'grpo', options: {} }, loss: { name, options } },
    },
  );
}

function rejecting(rules: string, bounds: string): TrainingSettings {
  return settingsOf('grpo', {}, { correction: { rejection: { rules, bounds } } });
}

/** The options of a computation with each word of each choice once, the others at their defaults; at least the defaults alone. */
function wordsOf(rules: OptionRules): readonly Options[] {
  const chosen = Object.entries(rules).flatMap(([name, rule]) =>
    rule.kind === 'choice' ? rule.of.slice(1).map((word) => ({ [name]: word })) : [],
  );
  return [{}, ...chosen];
}

function wordsIn(options: Options): string {
  return Object.entries(options)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

const { signal } = new AbortController();
const CANDIDATES = ['look', 'get planks', 'craft stick'];

/** Two groups of two rollouts of one step each: every estimator takes them. The two of a group differ in what they earned. */
export function rowsOf(tokens: (chosen: number) => NonNullable<StepRow['tokens']>): readonly StepRow[] {
  return Array.from({ length: 4 }, (_, i): StepRow => {
    const [group, chosen] = [i >> 1, i % 2];
    const [outcome, tool] = [chosen === group ? 1 : 0, 0.1 + 0.1 * chosen];
    const response = `${'ab'[chosen]}!c`;
    return {
      groupId: `group-${group}`,
      rolloutId: `rollout-${i}`,
      step: 0,
      temperature: 1,
      version: 0,
      candidates: CANDIDATES,
      situation: { goal: 'craft stick', firstObservation: `Goal: craft stick ${group}.`, history: [] },
      chat: { messages: [{ role: 'user', content: `${group}` }], reply: { role: 'assistant', content: response } },
      tokens: tokens(chosen),
      reward: outcome + tool,
      parts: [
        { component: 'environment', value: outcome, weight: 1, of: 'step' },
        { component: 'tool', value: tool, weight: 1, of: 'step' },
      ],
      greedyScore: 0.25,
      stateHash: `state-${group}`,
      action: CANDIDATES[chosen] ?? '',
      observation: 'seen',
      end: i === 3 ? 'truncated' : 'terminated',
    };
  });
}

export async function train(backend: Backend, first: Uint8Array, rows: readonly StepRow[], settings: TrainingSettings) {
  const updated = await backend.update(
    { checkpoint: first, reference: backend.weightsOf(first), rows, settings, version: 9, seed: 3 },
    signal,
  );
  if (updated.kind === 'refused') throw new Error(updated.reason);
  return updated;
}

export function expectTrained(settings: TrainingSettings, first: Uint8Array, updated: Awaited<ReturnType<typeof train>>): void {
  const { objective } = settings;
  expect(Buffer.from(updated.checkpoint).equals(Buffer.from(first))).toBe(false);
  expect(Object.entries(updated.metrics).filter(([, value]) => !Number.isFinite(value))).toEqual([]);
  expect(updated.estimator).toMatchObject({ name: objective.estimator.name, mode: objective.estimator.options });
  expect(updated.loss).toMatchObject({ name: objective.loss.name, mode: objective.loss.options });
  expect('rewardKl' in updated.metrics).toBe(settings.kl?.in === 'reward');
  expect(updated.metrics).toMatchObject({ rolloutK3: expect.any(Number), rolloutMaxRatio: expect.any(Number) });
}
