import { configureEstimator } from '../../../domain/training/advantages/estimators.ts';
import type { DeclarationFields } from './declaration-fields.ts';
import { PRESETS } from './presets.ts';

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
