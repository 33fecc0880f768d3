import type { z } from 'zod';
import { closestName } from '../../../domain/text/closest-name.ts';
import { configureEstimator, ESTIMATORS } from '../../../domain/training/advantages/estimators.ts';
import { configurePolicyLoss, POLICY_LOSSES } from '../../../domain/training/losses/policy-losses.ts';
import type { OptionRules } from '../../../domain/training/method-options.ts';
import { wellFormed } from '../../../events/well-formed.ts';
import { VISION_PRESETS, visionPreset } from '../../../images/vision-tokens.ts';
import { type Declaration, type DeclarationFields, declarationFields } from './declaration-fields.ts';
import { mergePreset, needsValues } from './presets.ts';
import { isOwn } from './trainer-of.ts';

/** What is wrong with a declaration: the first field, why, and what to do. */
interface DeclarationRefused {
  readonly kind: 'refused';
  /** With dots between names; empty for the whole. */
  readonly field: string;
  /** Begins with the field. */
  readonly message: string;
  readonly remedy: string;
}
type ParsedDeclaration = { readonly kind: 'parsed'; readonly declaration: Declaration } | DeclarationRefused;

/** Reads a declaration from JSON: its shape, its preset, and whether its parts go together. */
export function parseDeclaration(input: unknown): ParsedDeclaration {
  const parsed = declarationFields.safeParse(input);
  return parsed.success ? completeDeclaration(parsed.data) : refuseShape(parsed.error);
}

/** Fills in the preset of a declaration whose shape was checked, and refuses parts that do not go together. */
export function completeDeclaration(fields: DeclarationFields): ParsedDeclaration {
  const merged = mergePreset(fields);
  const declaration: Declaration = {
    ...merged,
    estimator: merged.estimator ?? { name: 'grpo', options: {} },
    rules: merged.rules ?? {},
    seed: merged.seed ?? 1,
  };
  const wrong = checkDeclaration(declaration, fields);
  if (wrong === null) return { kind: 'parsed', declaration };
  return { kind: 'refused', field: wrong.field, message: `${wrong.field}: ${wrong.reason}`, remedy: wrong.remedy };
}

function refuseShape({ issues: [issue] }: z.ZodError): DeclarationRefused {
  const field = issue?.path.join('.') ?? '';
  const message = `${field || 'the declaration'}: ${issue?.message ?? 'is not valid'}`;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  const near = unknown === undefined || field !== '' ? null : closestName(unknown, Object.keys(declarationFields.shape));
  const remedy = near === null ? 'correct it; `espalier schemas declaration` shows every field' : `did you mean ${near}?`;
  return { kind: 'refused', field, message, remedy };
}

/** A field that does not fit the others. */
interface Misfit {
  readonly field: string;
  readonly reason: string;
  readonly remedy: string;
}

/**
 * Finds the first part of a declaration that does not exist or belongs to another one. @param own what the declaration itself
 * says, without its preset.
 */
function checkDeclaration(declaration: Declaration, own: DeclarationFields): Misfit | null {
  return (
    checkTexts(own) ??
    checkMethod('estimator', declaration.estimator, ESTIMATORS, configureEstimator) ??
    (declaration.loss ? checkMethod('loss', declaration.loss, POLICY_LOSSES, configurePolicyLoss) : null) ??
    checkBackend(declaration) ??
    checkLearning(declaration, own) ??
    checkGroups(declaration) ??
    checkRewards(declaration) ??
    checkPrompt(declaration)
  );
}

/** The log repairs text that no database stores: what is recorded would be another declaration. */
function checkTexts(own: DeclarationFields): Misfit | null {
  const [field] = wellFormed(own).repaired;
  if (field === undefined) return null;
  return { field, reason: 'its text holds a NUL or half a character', remedy: 'send well-formed text' };
}

type Registry = Readonly<Record<string, { readonly options: OptionRules }>>;
type Configure = (
  name: string,
  options: Readonly<Record<string, unknown>>,
) => { readonly kind: string; readonly reason?: string };
/** Names of the field, for what the registry calls otherwise. */
const ALIASES = new Map([
  ['ppo', 'gae'],
  ['reinforce++', 'reinforce_plus_plus'],
  ['otb', 'optimal_token_baseline'],
]);

function checkMethod(
  field: 'estimator' | 'loss',
  { name, options }: Declaration['estimator'],
  registry: Registry,
  configure: Configure,
): Misfit | null {
  const configured = configure(name, options);
  if (configured.kind === 'configured') return null;
  const reason = configured.reason ?? '';
  if (!Object.hasOwn(registry, name)) {
    const alias = field === 'estimator' ? ALIASES.get(name.toLowerCase()) : undefined;
    const near = alias ?? closestName(name, Object.keys(registry));
    return { field: `${field}.name`, reason, remedy: near === null ? 'name one of them' : `did you mean ${near}?` };
  }
  const rules = registry[name]?.options ?? {};
  const unknown = Object.keys(options).find((option) => !Object.hasOwn(rules, option));
  if (unknown === undefined) return { field: `${field}.options`, reason, remedy: 'correct the value' };
  const owners = Object.keys(registry).filter((other) => Object.hasOwn(registry[other]?.options ?? {}, unknown));
  const belongs = owners.length > 0 ? `, which belongs to ${owners.join(', ')}` : '';
  const near = closestName(unknown, Object.keys(rules));
  const other = owners.length > 0 ? `leave it out, or choose ${owners[0]} as ${field}` : 'leave it out';
  return {
    field: `${field}.options.${unknown}`,
    reason: `${name} has no option ${unknown}${belongs}; it has ${Object.keys(rules).join(', ') || 'none'}`,
    remedy: near === null ? other : `did you mean ${near}?`,
  };
}

function checkBackend({ backend, torch, optimiser, weights, kept }: Declaration): Misfit | null {
  if (backend === 'torch' && !torch)
    return {
      field: 'torch',
      reason: 'the backend torch has no model',
      remedy: 'name one, as {"torch": {"model": {"kind": "folder", "path": "…"}}}',
    };
  if (backend !== 'torch' && torch)
    return {
      field: 'torch',
      reason: `it belongs to the backend torch, not to ${backend}`,
      remedy: 'leave it out, or choose torch as backend',
    };
  if (backend === 'torch' && optimiser?.kind === 'sgd')
    return {
      field: 'optimiser.kind',
      reason: 'the backend torch steps by AdamW, not by sgd',
      remedy: 'choose adam, or leave it out',
    };
  if (backend === 'linear' && optimiser?.weightDecay !== undefined)
    return { field: 'optimiser.weightDecay', reason: 'the backend linear has no weight decay', remedy: 'leave it out' };
  if (kept && weights === undefined)
    return { field: 'kept', reason: 'it says where weights are that no field names', remedy: 'add weights, their SHA-256' };
  return null;
}

function checkLearning(
  { backend, estimator, aggregation, lossScale, critic }: Declaration,
  own: DeclarationFields,
): Misfit | null {
  if (own.critic && !needsValues(estimator))
    return {
      field: 'critic',
      reason: `the estimator ${estimator.name} takes no values of a critic`,
      remedy: 'leave it out, or choose gae as estimator',
    };
  if (isOwn(backend) && critic?.kind === 'model')
    return {
      field: 'critic.kind',
      reason: `the backend ${backend} has a linear critic on features that it does not train, and none that is a model of its own`,
      remedy: 'choose linear, or train elsewhere, as by verl',
    };
  if (lossScale !== undefined && aggregation !== 'seq-mean-token-sum-norm')
    return {
      field: 'lossScale',
      reason: `it belongs to the aggregation seq-mean-token-sum-norm, not to ${aggregation ?? 'token-mean'}`,
      remedy: 'leave it out, or choose that aggregation',
    };
  if (lossScale === undefined && aggregation === 'seq-mean-token-sum-norm')
    return {
      field: 'lossScale',
      reason: 'the aggregation seq-mean-token-sum-norm divides by it, in every mini-batch alike',
      remedy: 'name one number for the whole training, for example the longest reply in tokens',
    };
  return null;
}

function checkGroups({ estimator: { name, options }, groupSize, rules, backend }: Declaration): Misfit | null {
  const configured = configureEstimator(name, options);
  if (configured.kind === 'refused') return null; // refused before
  const { groupSize: least, waitsFor } = configured.estimator.readiness;
  if (groupSize !== undefined && groupSize < least)
    return {
      field: 'groupSize',
      reason: `the estimator ${name} compares ${least} members of a group, and a group has ${groupSize}`,
      remedy: `choose ${least} or more`,
    };
  const needed = rules.group?.kind === 'at-least' ? rules.group.members : 0;
  if (groupSize !== undefined && needed > groupSize)
    return {
      field: 'rules.group.members',
      reason: `${needed} fit members are asked of groups of ${groupSize}`,
      remedy: `choose at most ${groupSize}, or larger groups`,
    };
  if (isOwn(backend) && waitsFor === 'greedy-sibling' && (rules.maxStaleness ?? 0) !== 0)
    return {
      field: 'rules.maxStaleness',
      reason: `the estimator ${name} compares with greedy rollouts by the same version`,
      remedy: 'choose 0',
    };
  return null;
}

const MOST_COMPONENTS = 1_000;

function checkRewards({
  rules: { metric = 'environment', rewards = { [metric]: 1 } },
  processRewards,
}: Declaration): Misfit | null {
  const named = Object.keys(rewards).length;
  if (named > MOST_COMPONENTS)
    return {
      field: 'rules.rewards',
      reason: `it names ${named} components, and every batch records them`,
      remedy: `name at most ${MOST_COMPONENTS}`,
    };
  const unweighed = processRewards?.components.find((component) => !rewards[component]);
  if (unweighed === undefined) return null;
  return {
    field: 'processRewards.components',
    reason: `the component ${unweighed} has no weight among the rewards that are trained on`,
    remedy: `add it to rules.rewards, as {"${metric}": 1, "${unweighed}": 1}`,
  };
}

function checkPrompt({ prompt }: Declaration): Misfit | null {
  if (prompt?.mode !== 'image' || prompt.vision === undefined || visionPreset(prompt.vision)) return null;
  const names = Object.keys(VISION_PRESETS);
  const near = closestName(prompt.vision, names);
  return {
    field: 'prompt.vision',
    reason: `there is no vision processor ${prompt.vision}; there are ${names.join(', ')}`,
    remedy: near === null ? 'name one of them' : `did you mean ${near}?`,
  };
}
