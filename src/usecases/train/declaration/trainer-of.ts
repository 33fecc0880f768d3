import { configureEstimator } from '../../../domain/training/advantages/estimators.ts';
import { AGGREGATION_MODES } from '../../../domain/training/losses/policy-loss.ts';
import type { PlanRules } from '../../../domain/training/planning/plan-rules.ts';
import { planRules } from '../../../events/schemas/training.ts';
import { type TorchPlan, torchPlan } from '../../../training/backends/torch/torch-plan.ts';
import { LINEAR_SETTINGS, type TrainingSettings, trainingSettings } from '../../../training/backends/training-settings.ts';
import type { Declaration } from './declaration-fields.ts';
import { needsValues } from './presets.ts';

/**
 * The usual rules of a trainer elsewhere: complete groups, strictly on-policy. `zeroVariance` follows from the estimator
 * (`usualZeroVariance`).
 */
const EXTERNAL_RULES: Omit<PlanRules, 'zeroVariance'> = {
  groupsPerBatch: 8,
  group: { kind: 'all' },
  maxStaleness: 0,
  offPolicy: 'any',
  metric: 'environment',
  unscored: 'wait',
  band: null,
  truncated: 'keep',
  maxTokens: null,
  layout: 'step',
  tokenBudget: 16_384,
};

/** The usual rules of our own trainers. A row of a policy over candidates is one token: no budget cuts it. */
const OWN_RULES: Readonly<Record<'linear' | 'torch', typeof EXTERNAL_RULES>> = {
  linear: { ...EXTERNAL_RULES, unscored: 'reject', tokenBudget: 1_000_000 },
  torch: { ...EXTERNAL_RULES, unscored: 'reject' },
};

/** What of a language model's training is chosen where a declaration says nothing: the rates of the published recipes. */
const TORCH_DEFAULTS = {
  learningRate: 1e-6,
  epochs: 1,
  critic: { kind: 'linear', learningRate: 1e-5, epochs: 1, clip: 0.5, bootstrap: 'state' },
} as const;
const LINEAR_DEFAULTS = {
  learningRate: LINEAR_SETTINGS.grpo.learningRate,
  miniBatch: LINEAR_SETTINGS.grpo.miniBatch,
  critic: { kind: 'linear', ...LINEAR_SETTINGS.grpo.critic, bootstrap: 'state' },
} as const;
const LOSS = { name: 'dual_clip', options: {} };

/** Returns the rules by which batches are planned, all of them written out. */
export function planRulesOf({ backend, estimator, rules, correction }: Declaration): PlanRules {
  const usual = { ...(isOwn(backend) ? OWN_RULES[backend] : EXTERNAL_RULES), zeroVariance: usualZeroVariance(estimator) };
  // a correction compares with the log-probs that samples were drawn with
  const offPolicy = correction ? ({ offPolicy: 'log-probs' } as const) : {};
  return planRules.parse({ ...usual, ...offPolicy, ...rules });
}

/** Groups of equal rewards teach nothing where members are compared with each other; every other estimator learns from them. */
export function usualZeroVariance({ name, options }: Declaration['estimator']): PlanRules['zeroVariance'] {
  const configured = configureEstimator(name, options);
  return configured.kind === 'configured' && configured.estimator.readiness.waitsFor === 'closed-groups' ? 'reject' : 'keep';
}

/** Returns how one of our own backends learns, with every default written out. */
export function settingsOf(declaration: Declaration): TrainingSettings {
  const { estimator, loss = LOSS, critic } = declaration;
  const usual = declaration.backend === 'torch' ? TORCH_DEFAULTS : LINEAR_DEFAULTS;
  return trainingSettings.parse({
    ...usual,
    objective: { kind: 'policy-gradient', estimator, loss },
    ...chosen(declaration),
    critic: { ...usual.critic, ...critic },
  });
}

/** Returns what of the torch backend determines its numbers. @throws Error for a declaration of another backend. */
export function torchPlanOf(declaration: Declaration): TorchPlan {
  const { torch, estimator, aggregation = AGGREGATION_MODES[0], optimiser } = declaration;
  if (!torch) throw new Error(`the backend ${declaration.backend} has no torch plan`);
  const weightDecay = optimiser?.weightDecay;
  return torchPlan.parse({
    ...torch,
    critic: needsValues(estimator),
    aggregation,
    tokenBudget: planRulesOf(declaration).tokenBudget,
    ...(weightDecay === undefined ? {} : { weightDecay }),
  });
}

/**
 * Returns what `TrainingDeclared` records for trainers besides estimator, rules and seed. For our own it is all that they compute
 * by; of a trainer elsewhere what was declared of it, and nothing more: what it does else is its own.
 */
export function trainerOf(declaration: Declaration): Readonly<Record<string, unknown>> {
  const { backend, preset, prompt, groupSize, loss, critic, optimiser } = declaration;
  const besides = defined({ preset, prompt, groupSize });
  if (backend === 'linear') return { backend, settings: settingsOf(declaration), ...besides };
  if (backend === 'torch') return { backend, settings: settingsOf(declaration), torch: torchPlanOf(declaration), ...besides };
  const objective = loss && { kind: 'policy-gradient', estimator: declaration.estimator, loss };
  const weightDecay = optimiser?.weightDecay;
  const settings = defined({ objective, ...chosen(declaration), critic, weightDecay });
  return { backend, ...(Object.keys(settings).length > 0 ? { settings } : {}), ...besides };
}

/** What a declaration says of a computation besides estimator and loss, in the terms of `TrainingSettings`. */
function chosen({ optimiser = {}, kl, aggregation, lossScale, correction, mismatch, processRewards }: Declaration) {
  const { kind, weightDecay: _, ...steps } = optimiser;
  return defined({
    optimiser: kind,
    ...steps,
    kl,
    aggregation,
    lossScale,
    correction: correction ?? undefined,
    mismatch,
    processRewards: processRewards ?? undefined,
  });
}

/** Whether Espalier trains with a backend itself. */
export function isOwn(backend: string): backend is 'linear' | 'torch' {
  return backend === 'linear' || backend === 'torch';
}

function defined(given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
