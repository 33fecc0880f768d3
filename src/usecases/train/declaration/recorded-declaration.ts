import type { LineageRecord } from '../../../projections/training-pool/read-lineages.ts';
import { needsValues } from './presets.ts';

/** A computation and the options that were chosen of it. */
export interface ChosenMethod {
  readonly name: string;
  readonly options: Fields;
}

/**
 * What is recorded of a declaration, in the terms of one: null where nothing was declared. What trainers receive is any JSON;
 * what is none of a declaration's fields is left out.
 */
export interface RecordedDeclaration {
  readonly backend: string | null;
  readonly preset: string | null;
  readonly torch: Fields | null;
  readonly estimator: ChosenMethod;
  readonly loss: ChosenMethod | null;
  readonly aggregation: string | null;
  readonly lossScale: number | null;
  readonly kl: Fields | null;
  readonly correction: Fields | null;
  readonly mismatch: Fields | null;
  readonly processRewards: Fields | null;
  readonly critic: Fields | null;
  readonly optimiser: Fields | null;
  readonly prompt: Fields | null;
  readonly groupSize: number | null;
  readonly rules: Fields;
  readonly seed: number;
}

type Fields = Readonly<Record<string, unknown>>;

/** Returns the declaration of a lineage as it was recorded, defaults written out where the training is Espalier's own. */
export function recordedDeclaration({ estimator, rules, seed, trainer }: LineageRecord): RecordedDeclaration {
  const { backend, preset, prompt, groupSize, settings, torch } = fieldsOf(trainer) ?? {};
  const {
    objective,
    optimiser: kind,
    learningRate,
    epochs,
    miniBatch,
    clipNorm,
    entropyCoefficient,
    ...rest
  } = fieldsOf(settings) ?? {};
  const { critic: _, aggregation: tokens, weightDecay: decay, tokenBudget: _budget, ...engine } = fieldsOf(torch) ?? {};
  const { weightDecay = decay, critic, kl, lossScale, correction, mismatch, processRewards } = rest;
  const { estimator: chosen, loss } = fieldsOf(objective) ?? {};
  const method = methodOf(chosen) ?? { name: estimator.name, options: fieldsOf(estimator.mode) ?? {} };
  return {
    backend: textOf(backend),
    preset: textOf(preset),
    torch: fieldsOf(torch) && engine,
    estimator: method,
    loss: methodOf(loss),
    // what the engine was declared with counts where the settings say nothing; a token's mean is what both mean then
    aggregation: textOf(rest.aggregation ?? (tokens === 'token-mean' ? null : tokens)),
    lossScale: numberOf(lossScale),
    kl: fieldsOf(kl),
    correction: fieldsOf(correction),
    mismatch: fieldsOf(mismatch),
    processRewards: fieldsOf(processRewards),
    // our own settings hold a critic always; it is a part of the declaration where values are taken
    critic: needsValues({ name: estimator.name, options: method.options as Record<string, string | number> })
      ? fieldsOf(critic)
      : null,
    optimiser: whereAny({ kind, learningRate, weightDecay, epochs, miniBatch, clipNorm, entropyCoefficient }),
    prompt: fieldsOf(prompt),
    groupSize: numberOf(groupSize),
    rules: fieldsOf(rules) ?? {},
    seed,
  };
}

/** Returns a recorded declaration as `PUT /v1/training/policies/{id}` takes it: of another policy, it is trained alike. */
export function asDeclared(recorded: RecordedDeclaration): Fields {
  return Object.fromEntries(Object.entries(recorded).filter(([, value]) => value !== null));
}

function fieldsOf(value: unknown): Fields | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null; // an object
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

function methodOf(value: unknown): ChosenMethod | null {
  const { name, options } = fieldsOf(value) ?? {};
  return typeof name === 'string' ? { name, options: fieldsOf(options) ?? {} } : null;
}

function whereAny(fields: Fields): Fields | null {
  const defined = Object.entries(fields).filter(([, value]) => value !== undefined);
  return defined.length === 0 ? null : Object.fromEntries(defined);
}
