import { parse } from 'yaml';
import { hasOption, isOptions, mergeOptions, type Options, setOption } from '../../domain/experiment/change-options.ts';
import { closestName } from '../../domain/text/closest-name.ts';
import { type Experiment, ExperimentRefused } from './declaration/experiment.ts';
import { experimentFields } from './declaration/experiment-fields.ts';
import { experimentOf } from './declaration/read-experiment-file.ts';

/** A change of one option: `revise.alpha`, `arms.direct.revise.alpha`, or a field of the experiment, as `seeds`. */
export interface Change {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** Reads `revise.alpha=0.7`; the value as YAML writes it. @throws ExperimentRefused. */
export function parseChange(text: string): Change {
  const { path, value } = halves(text, '--set takes STAGE.OPTION=VALUE, as revise.alpha=0.7');
  return { path, value: readValue(text, value) };
}

/** Reads `train.estimator=grpo,rloo` or `seed=1..3`. @throws ExperimentRefused. */
export function parseAxis(text: string): { readonly path: readonly string[]; readonly values: readonly unknown[] } {
  const { path, value } = halves(text, '--over takes STAGE.OPTION=VALUE,VALUE, as train.estimator=grpo,rloo, or seed=1..3');
  const range = /^(\d+)\.\.(\d+)$/.exec(value);
  if (range) {
    const [from, to] = [Number(range[1]), Number(range[2])];
    if (to < from || to - from >= 1_000) throw refused(text, `${value} is no range of at most 1,000 numbers`, 'write it as 1..3');
    return { path, values: Array.from({ length: to - from + 1 }, (_, i) => from + i) };
  }
  const list = readValue(text, value.startsWith('[') ? value : `[${value}]`);
  if (!Array.isArray(list) || list.length === 0) throw refused(text, 'names no value', 'write them with commas between');
  return { path, values: list };
}

/** Returns an experiment with some options changed. @throws ExperimentRefused. */
export function changedExperiment({ declared }: Experiment, changes: readonly Change[]): Experiment {
  refuseTwice(changes);
  return experimentOf(changes.reduce(changed, declared));
}

/** Returns an experiment whose arms are all combinations of values, each on top of what the arms of the declaration differ in. */
export function sweptExperiment(
  { declared }: Experiment,
  axes: readonly { readonly path: readonly string[]; readonly values: readonly unknown[] }[],
): Experiment {
  refuseTwice(axes);
  const seeds = axes.find(({ path }) => isSeeds(path));
  const others = axes.filter((axis) => axis !== seeds);
  const own = isOptions(declared.arms) ? declared.arms : { '': {} };
  let arms: readonly (readonly [string, Options])[] = Object.entries(own).map(([name, arm]) => [name, isOptions(arm) ? arm : {}]);
  for (const { path, values } of others) {
    stageOf(declared, path);
    arms = arms.flatMap(([name, arm]) =>
      values.map((value) => {
        const label = `${path.join('.')}=${typeof value === 'object' ? JSON.stringify(value).replace(/[^\w.=,:+-]/g, '') : String(value)}`;
        return [name === '' ? label : `${name} ${label}`, mergeOptions(arm, setOption({}, path, value))] as const;
      }),
    );
  }
  const { baseline: _, ...rest } = declared;
  return experimentOf({
    ...(others.length === 0 ? declared : { ...rest, arms: Object.fromEntries(arms) }),
    ...(seeds ? { seeds: seeds.values } : {}),
  });
}

function changed(declared: Options, { path, value }: Change): Options {
  const [first = '', ...rest] = path;
  if (isSeeds(path)) return { ...declared, seeds: typeof value === 'number' && first === 'seed' ? [value] : value };
  if (rest.length === 0 && Object.hasOwn(experimentFields.shape, first)) return { ...declared, [first]: value };
  if (first === 'arms') return setOption(declared, armPath(declared, path), value);
  stageOf(declared, path);
  const hidden = isOptions(declared.arms) ? Object.entries(declared.arms).filter(([, arm]) => hasOption(arm, path)) : [];
  if (hidden.length > 0)
    throw refused(
      path.join('.'),
      `the arm ${hidden.map(([name]) => name).join(', ')} sets it itself`,
      `name the arm: arms.${hidden[0]?.[0]}.${path.join('.')}`,
    );
  return setOption(declared, ['stages', ...path], value);
}

/** @throws ExperimentRefused where one value is named twice: one of the two would be lost. */
function refuseTwice(changes: readonly { readonly path: readonly string[] }[]): void {
  const names = changes.map(({ path }) => (isSeeds(path) ? 'seeds' : path.join('.')));
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw refused(twice, 'is set twice', 'set it once');
}

/**
 * Returns a path into an arm, whose name may have dots. @throws ExperimentRefused for one that is not declared: a typing error
 * would be one more arm.
 */
function armPath({ arms }: Options, path: readonly string[]): readonly string[] {
  const [, ...rest] = path;
  const known = isOptions(arms) ? Object.keys(arms) : [];
  const named = rest.join('.');
  const [arm] = known.filter((name) => `${named}.`.startsWith(`${name}.`)).sort((a, b) => b.length - a.length);
  if (arm !== undefined) {
    const below = rest.slice(arm.split('.').length);
    if (below.length > 1) return ['arms', arm, ...below];
    throw refused(path.join('.'), 'names no option of a stage', `write arms.${arm}.STAGE.OPTION=VALUE`);
  }
  if (known.length === 0)
    throw refused(path.join('.'), 'the experiment declares no arms', 'begin with the stage: STAGE.OPTION=VALUE');
  const near = closestName(rest[0] ?? '', known);
  throw refused(
    path.join('.'),
    `there is no arm ${rest[0]}; there are ${known.join(', ')}`,
    near === null ? 'name one of them' : `did you mean ${near}?`,
  );
}

/** @throws ExperimentRefused for a path that begins with no stage. */
function stageOf(declared: Options, path: readonly string[]): void {
  const stages = isOptions(declared.stages) ? Object.keys(declared.stages) : [];
  const [first = ''] = path;
  if (path.length > 1 && stages.includes(first)) return;
  const near = closestName(first, stages);
  throw refused(
    path.join('.'),
    path.length > 1 ? `there is no stage ${first}; there are ${stages.join(', ')}` : 'names no option of a stage',
    near === null ? `begin with a stage, as ${stages[0]}.OPTION` : `did you mean ${near}?`,
  );
}

function isSeeds(path: readonly string[]): boolean {
  return path.length === 1 && (path[0] === 'seed' || path[0] === 'seeds');
}

function halves(text: string, form: string): { readonly path: readonly string[]; readonly value: string } {
  const at = text.indexOf('=');
  const path = text.slice(0, at).split('.');
  if (at < 1 || path.some((name) => name.trim() === '')) throw refused(text, 'has no option and value', form);
  return { path, value: text.slice(at + 1) };
}

function readValue(text: string, value: string): unknown {
  try {
    return parse(value);
  } catch (error) {
    throw refused(
      text,
      `has no value that can be read (${error instanceof Error ? error.message.split('\n')[0] : ''})`,
      'quote it',
    );
  }
}

function refused(field: string, message: string, remedy: string): ExperimentRefused {
  return new ExperimentRefused({ field, message, remedy });
}
