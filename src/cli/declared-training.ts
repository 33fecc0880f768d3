import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { sha256Hex } from '../digest/sha256.ts';
import type { Declaration } from '../usecases/train/declaration/declaration-fields.ts';
import { parseDeclaration } from '../usecases/train/declaration/parse-declaration.ts';
import { PRESETS } from '../usecases/train/declaration/presets.ts';
import { computationFieldsOf } from './computation-flags.ts';
import { ENGINE_FLAGS, engineFieldsOf } from './engine-flags.ts';
import { promptFieldsOf } from './prompt-flags.ts';
import type { TrainFlags } from './train-options.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Whether a training needs more than the linear policy and the environment's own chat. */
export function isDeclared({ backend, declaration, preset, prompt }: TrainFlags): boolean {
  return backend !== 'linear' || declaration !== undefined || preset !== undefined || prompt !== undefined;
}

/**
 * Makes the declaration of a training out of its file, its preset and the options that were given, each over the one before.
 * @param given the options that were typed, not those that have a default. @throws Error naming the field or the option.
 */
export async function declarationOf(flags: TrainFlags, given: Partial<TrainFlags>): Promise<Declaration> {
  const file = flags.declaration === undefined ? {} : await readDeclaration(flags.declaration);
  const backend = given.backend ?? file.backend ?? flags.backend;
  const preset = given.preset ?? file.preset;
  const own = fieldsOf(flags, given, backend, modeOf(file, preset));
  const parsed = parseDeclaration(merge(file, { backend, ...own }));
  if (parsed.kind === 'refused') throw new Error(`${parsed.message}; ${parsed.remedy}`);
  return parsed.declaration;
}

function fieldsOf(flags: TrainFlags, given: Partial<TrainFlags>, backend: unknown, mode: string | undefined): Fields {
  refuseOthers(given, backend);
  const { model, precision, maxTokens, learningRate, epochs, entropy } = given;
  const folder = model === undefined ? undefined : { kind: 'folder', path: resolve(model), precision };
  const prompt = promptFieldsOf(given, mode);
  return {
    ...computationFieldsOf(given),
    ...part('preset', given.preset),
    ...part('weights', backend === 'external' ? (given.weights ?? sha256Hex(given.by ?? '')) : undefined),
    ...part('torch', some({ model: folder && some(folder), maxTokens, ...engineFieldsOf(given) })),
    ...part('optimiser', some({ learningRate, epochs, entropyCoefficient: entropy })),
    ...part('prompt', prompt),
    ...part('groupSize', given.group),
    ...part('rules', some({ ...rulesOf(given), tokenBudget: given.tokenBudget })),
    ...part('seed', given.seed ?? (flags.declaration === undefined ? flags.seed : undefined)),
  };
}

/** @throws Error naming an option that means nothing to the backend. */
export function refuseOthers(given: Partial<TrainFlags>, backend: unknown): void {
  if (backend !== 'torch')
    refuseGiven(given, ['model', 'precision', 'maxTokens', 'tokenBudget', 'server', ...ENGINE_FLAGS], '--backend torch');
  if (backend !== 'external') refuseGiven(given, ['by', 'weights'], '--backend external');
}

function rulesOf({ groups, keepZeroVariance, rewards, staleness }: Partial<TrainFlags>): Fields {
  return { groupsPerBatch: groups, zeroVariance: keepZeroVariance ? 'keep' : undefined, rewards, maxStaleness: staleness };
}

async function readDeclaration(path: string): Promise<Fields> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw new Error(`--declaration: cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new Error(`--declaration: ${path} holds no JSON object; \`espalier schemas declaration\` shows every field`);
}

/** The mode in which a file or a preset asks. */
function modeOf(file: Fields, preset: unknown): string | undefined {
  const own = file.prompt as { readonly mode?: unknown } | undefined; // any JSON: what is no object has no mode
  if (typeof own?.mode === 'string') return own.mode;
  if (typeof preset !== 'string' || !Object.hasOwn(PRESETS, preset)) return undefined;
  return PRESETS[preset as keyof typeof PRESETS].values.prompt?.mode; // a key of it
}

/** Puts fields over others: parts that are objects field by field, unless they name another computation. */
function merge(under: Fields, over: Fields): Fields {
  const merged: Record<string, unknown> = { ...under };
  for (const [name, value] of Object.entries(over)) {
    const below = merged[name];
    merged[name] = isFields(below) && isFields(value) && isSame(below, value) ? merge(below, value) : value;
  }
  return merged;
}

function isSame(a: Fields, b: Fields): boolean {
  return a.name === b.name && (a.kind === undefined || b.kind === undefined || a.kind === b.kind);
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function part(name: string, value: unknown): Fields {
  return value === undefined ? {} : { [name]: value };
}

/** Leaves out what is undefined; undefined when nothing is left. */
function some(fields: Fields): Fields | undefined {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

function refuseGiven(given: Partial<TrainFlags>, names: readonly (keyof TrainFlags)[], needed: string): void {
  const found = names.find((name) => given[name] !== undefined);
  if (found !== undefined)
    throw new Error(`--${found.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} goes with ${needed}`);
}
