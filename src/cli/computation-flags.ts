import { type Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { configureEstimator, ESTIMATORS } from '../domain/training/advantages/estimators.ts';
import { KL_KINDS } from '../domain/training/kl/kl-penalty.ts';
import { AGGREGATION_MODES } from '../domain/training/losses/policy-loss.ts';
import { configurePolicyLoss, POLICY_LOSSES } from '../domain/training/losses/policy-losses.ts';
import { LINEAR_SETTINGS, type TrainingSettings, trainingSettings } from '../training/backends/training-settings.ts';
import { numberBetween } from './with-platform.ts';

type Options = Readonly<Record<string, string | number>>;

/** What of a training's computation the command line names. */
export interface ComputationFlags {
  readonly estimator: string;
  readonly estimatorOptions?: Options;
  readonly loss: string;
  readonly lossOptions?: Options;
  readonly aggregation?: (typeof AGGREGATION_MODES)[number];
  readonly lossScale?: number;
  readonly kl: 'none' | 'loss' | 'reward';
  readonly klKind?: (typeof KL_KINDS)[number];
  readonly klCoefficient?: number;
  readonly klLogRatios?: 'clamped' | 'unclamped';
  readonly klController?: 'fixed' | 'adaptive';
  readonly klTarget?: number;
  readonly klHorizon?: number;
  readonly correction: 'none' | 'token-tis' | 'sequence-tis';
  readonly correctionThreshold?: number;
  readonly correctionNormalise?: true;
  readonly reject?: string;
  readonly rejectBounds?: string;
  readonly processRewards?: readonly string[];
  readonly processPlacement?: 'last-token' | 'call-end';
  readonly processNormalise?: true;
  readonly critic?: 'linear' | 'model';
  readonly valueFactor?: number;
}

/** The estimators by the names of `espalier train` and by those of their registry. */
const ESTIMATOR_NAMES = [...new Set([...Object.keys(LINEAR_SETTINGS), ...Object.keys(ESTIMATORS)])];

/** The options of `espalier train` that name how it learns: estimator, loss, KL, correction of rollouts, process rewards. */
export function addComputationOptions(command: Command): Command {
  return command
    .addOption(new Option('--estimator <name>', 'how advantages are computed').choices(ESTIMATOR_NAMES).default('grpo'))
    .option('--estimator-options <list>', 'options of the estimator, as gamma=0.9,variant=step', options('--estimator-options'))
    .addOption(new Option('--loss <name>', 'policy loss').choices(Object.keys(POLICY_LOSSES)).default('dual_clip'))
    .option('--loss-options <list>', 'options of the loss, as clipLow=0.2,clipHigh=0.28', options('--loss-options'))
    .addOption(new Option('--aggregation <mode>', 'how token losses become one number').choices([...AGGREGATION_MODES]))
    .option('--loss-scale <x>', 'what seq-mean-token-sum-norm divides by, and needs', numberBetween('--loss-scale', 1e-6, 1e9))
    .addOption(
      new Option('--kl <where>', 'hold the policy to its first version: a term of the loss, or part of the reward')
        .choices(['none', 'loss', 'reward'])
        .default('none'),
    )
    .addOption(new Option('--kl-kind <name>', 'KL: its estimate of a token; k3 when left out').choices([...KL_KINDS]))
    .option('--kl-coefficient <x>', 'KL: 0.001 when left out', numberBetween('--kl-coefficient', 1e-12, 1_000))
    .addOption(new Option('--kl-log-ratios <how>', 'KL: whether the exponent of k3 is bounded').choices(['clamped', 'unclamped']))
    .addOption(
      new Option('--kl-controller <kind>', 'KL in the reward: whether its coefficient moves').choices(['fixed', 'adaptive']),
    )
    .option('--kl-target <x>', 'adaptive: the KL to keep to; 0.1 when left out', numberBetween('--kl-target', 1e-12, 1e6))
    .option('--kl-horizon <n>', 'adaptive: how slowly it moves; 10000 when left out', numberBetween('--kl-horizon', 1, 1e12))
    .addOption(
      new Option('--correction <kind>', 'weigh tokens that an older version drew: truncated importance weights')
        .choices(['none', 'token-tis', 'sequence-tis'])
        .default('none'),
    )
    .option(
      '--correction-threshold <x>',
      'correction: the largest weight; 2 when left out',
      numberBetween('--correction-threshold', 1e-6, 1e6),
    )
    .option('--correction-normalise', 'correction: divide weights by their mean over the batch')
    .option('--reject <options>', 'leave out tokens or steps that drifted, as token_k1,seq_max_k2')
    .option('--reject-bounds <bounds>', 'reject: one bound for each option or for all, as 0.5_2,0.1')
    .option('--process-rewards <list>', 'reward components of single steps, apart from the outcome', (text: string) =>
      text.split(','),
    )
    .addOption(
      new Option('--process-placement <where>', 'process rewards: the token they are on').choices(['last-token', 'call-end']),
    )
    .option('--process-normalise', 'process rewards: divide by their largest sum over a trajectory of the batch')
    .addOption(
      new Option(
        '--critic <kind>',
        'linear on features that it does not train, as that of linear and torch is, or a model of its own (external)',
      ).choices(['linear', 'model']),
    )
    .addOption(
      new Option('--value-factor <x>', 'of the squared error of the critic: 0.5, or 1 as in verl 0.4.0').argParser(
        numberBetween('--value-factor', 0.5, 1),
      ),
    );
}

/**
 * Makes the settings of a training out of the command line. @throws Error naming the option that does not exist or does not go
 * with the others.
 */
export function computationOf(flags: ComputationFlags): TrainingSettings {
  const base = LINEAR_SETTINGS[flags.estimator as keyof typeof LINEAR_SETTINGS] ?? LINEAR_SETTINGS.grpo;
  const named = flags.estimator in LINEAR_SETTINGS ? base.objective.estimator : { name: flags.estimator, options: {} };
  const estimator = { name: named.name, options: { ...named.options, ...flags.estimatorOptions } };
  const loss = { name: flags.loss, options: { ...flags.lossOptions } };
  for (const [flag, configured] of [
    ['--estimator-options', configureEstimator(estimator.name, estimator.options)],
    ['--loss-options', configurePolicyLoss(loss.name, loss.options)],
  ] as const)
    if (configured.kind === 'refused') throw new Error(`${flag}: ${configured.reason}`);
  const { aggregation, lossScale, critic, valueFactor } = flags;
  if (critic === 'model') throw new Error('--critic model goes with --backend external');
  const settings = {
    ...base,
    objective: { kind: 'policy-gradient', estimator, loss },
    ...(aggregation === undefined ? {} : { aggregation }),
    ...(lossScale === undefined ? {} : { lossScale }),
    ...klOf(flags),
    ...correctionOf(flags),
    ...processOf(flags),
    ...(valueFactor === undefined ? {} : { critic: { ...base.critic, factor: valueFactor } }),
  };
  const parsed = trainingSettings.safeParse(settings);
  if (!parsed.success) throw new Error(`these options do not go together: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** The estimators by the names of `espalier train`, and what the registry calls them. */
const REGISTERED = new Map([
  ['ppo', 'gae'],
  ['reinforce++', 'reinforce_plus_plus'],
]);

/** Makes what a declaration says of the computation out of the options that were given. @throws Error as `computationOf`. */
export function computationFieldsOf(given: Partial<ComputationFlags>): object {
  const { estimator, estimatorOptions, loss, lossOptions, aggregation, lossScale, critic, valueFactor } = given;
  const flags = { estimator: '', loss: '', ...given, kl: given.kl ?? 'none', correction: given.correction ?? 'none' } as const;
  const chosen = {
    ...(estimator === undefined && estimatorOptions === undefined
      ? {}
      : { estimator: methodOf(REGISTERED.get(estimator ?? 'grpo') ?? estimator ?? 'grpo', estimatorOptions) }),
    ...(loss === undefined && lossOptions === undefined ? {} : { loss: methodOf(loss ?? 'dual_clip', lossOptions) }),
    ...(aggregation === undefined ? {} : { aggregation }),
    ...(lossScale === undefined ? {} : { lossScale }),
    ...(critic === undefined && valueFactor === undefined ? {} : { critic: defined({ kind: critic, factor: valueFactor }) }),
  };
  return { ...chosen, ...klOf(flags), ...correctionOf(flags), ...processOf(flags) };
}

function defined(fields: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function methodOf(name: string, options: Options = {}) {
  return { name, options };
}

function klOf(flags: ComputationFlags): Partial<Record<'kl', unknown>> {
  const { kl: place, klKind, klCoefficient, klLogRatios, klController, klTarget, klHorizon } = flags;
  if (place === 'none') {
    refuseWithout('--kl loss or --kl reward', { klKind, klCoefficient, klLogRatios, klController, klTarget, klHorizon });
    return {};
  }
  const adaptive = klController === 'adaptive';
  if (!adaptive) refuseWithout('--kl-controller adaptive', { klTarget, klHorizon });
  if (adaptive && place === 'loss')
    throw new Error('--kl-controller adaptive goes with --kl reward: a coefficient in the loss is fixed');
  return {
    kl: {
      kind: klKind ?? 'k3',
      coefficient: klCoefficient ?? 0.001,
      ...(place === 'reward' ? { in: place } : {}),
      ...(klLogRatios === undefined ? {} : { logRatios: klLogRatios }),
      ...(adaptive ? { controller: { kind: 'adaptive', target: klTarget ?? 0.1, horizon: klHorizon ?? 10_000 } } : {}),
    },
  };
}

function correctionOf(flags: ComputationFlags): Partial<Record<'correction', unknown>> {
  const { correction, correctionThreshold, correctionNormalise, reject, rejectBounds } = flags;
  if (correction === 'none')
    refuseWithout('--correction token-tis or sequence-tis', { correctionThreshold, correctionNormalise });
  if ((reject === undefined) !== (rejectBounds === undefined))
    throw new Error('--reject and --reject-bounds go together: name both, or neither');
  const weights = {
    level: correction === 'token-tis' ? 'token' : 'sequence',
    threshold: correctionThreshold ?? 2,
    normalise: correctionNormalise ? 'batch' : 'none',
  };
  if (correction === 'none' && reject === undefined) return {};
  return {
    correction: {
      ...(correction === 'none' ? {} : { weights }),
      ...(reject === undefined ? {} : { rejection: { rules: reject, bounds: rejectBounds } }),
    },
  };
}

function processOf({
  processRewards,
  processPlacement,
  processNormalise,
}: ComputationFlags): Partial<Record<'processRewards', unknown>> {
  if (processRewards === undefined) {
    refuseWithout('--process-rewards', { processPlacement, processNormalise });
    return {};
  }
  return {
    processRewards: {
      components: processRewards,
      ...(processPlacement === undefined ? {} : { placement: processPlacement }),
      ...(processNormalise ? { normalisation: 'batch' } : {}),
    },
  };
}

function refuseWithout(needed: string, flags: Readonly<Record<string, unknown>>): void {
  const given = Object.entries(flags).find(([, value]) => value !== undefined)?.[0];
  if (given !== undefined)
    throw new Error(`--${given.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} goes with ${needed}`);
}

/** Reads `name=value,…`, numbers as numbers. */
function options(flag: string): (text: string) => Options {
  return (text) => {
    const read = new Map<string, string | number>();
    for (const part of text.split(',')) {
      const [name = '', value = '', ...rest] = part.split('=').map((each) => each.trim());
      if (name === '' || value === '' || rest.length > 0 || read.has(name))
        throw new InvalidArgumentError(`${flag} takes name=value, each name once, as gamma=0.9, not ${JSON.stringify(part)}`);
      read.set(name, Number.isFinite(Number(value)) ? Number(value) : value);
    }
    return Object.fromEntries(read);
  };
}
