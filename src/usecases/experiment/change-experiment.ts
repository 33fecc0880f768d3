import { parse } from 'yaml';
import { hasOption, isOptions, mergeOptions, type Options, setOption } from '../../domain/experiment/change-options.ts';
import { closestName } from '../../domain/text/closest-name.ts';
import { type Experiment, ExperimentRefused, experimentFields } from './declaration/experiment.ts';
import { experimentOf } from './declaration/parse-experiment.ts';

/** A change of one option of a stage, as `revise.alpha`, or of a field of the experiment, as `seeds`. */
export interface Change {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** An option or field with the values that a sweep gives it. */
export interface Axis {
  readonly path: readonly string[];
  readonly values: readonly unknown[];
}

/** Reads `revise.alpha=0.7`; the value as YAML writes it. @throws ExperimentRefused. */
export function parseChange(text: string): Change {
  const { path, value } = halves(text, '--set takes STAGE.OPTION=VALUE, as revise.alpha=0.7');
  return { path, value: readValue(text, value) };
}

/** Reads `train.estimator=grpo,rloo` or `seed=1..3`. @throws ExperimentRefused. */
export function parseAxis(text: string): Axis {
  const { path, value } = halves(text, '--over takes STAGE.OPTION=VALUE,VALUE, as train.estimator=grpo,rloo, or seed=1..3');
  const [, from, to] = (/^(\d+)\.\.(\d+)$/.exec(value) ?? []).map(Number);
  if (from !== undefined && to !== undefined) {
    if (to < from || to - from >= 1_000)
      throw new ExperimentRefused(text, `${value} is no range of at most 1,000 numbers`, 'write it as 1..3');
    return { path, values: Array.from({ length: to - from + 1 }, (_, i) => from + i) };
  }
  const list = readValue(text, value.startsWith('[') ? value : `[${value}]`);
  if (!Array.isArray(list) || list.length === 0)
    throw new ExperimentRefused(text, 'names no value', 'write them with commas between');
  return { path, values: list };
}

/** Returns an experiment with some options changed. @throws ExperimentRefused. */
export function changedExperiment({ declared }: Experiment, changes: readonly Change[]): Experiment {
  refuseTwice(changes);
  return experimentOf(changes.reduce(changed, declared));
}

/** Returns an experiment whose arms are all combinations of values, each on top of what the declared arms differ in. */
export function sweptExperiment({ declared }: Experiment, axes: readonly Axis[]): Experiment {
  refuseTwice(axes);
  const seeds = axes.find(({ path }) => isSeeds(path));
  const others = axes.filter((axis) => axis !== seeds);
  let arms: readonly (readonly [string, Options])[] = isOptions(declared.arms)
    ? Object.entries(declared.arms).map(([name, arm]) => [name, isOptions(arm) ? arm : {}])
    : [['', {}]];
  for (const { path, values } of others) {
    refuseOtherThanStage(declared, path);
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
  refuseOtherThanStage(declared, path);
  const arms = isOptions(declared.arms) ? Object.entries(declared.arms) : [];
  const hiding = arms.filter(([, arm]) => hasOption(arm, path)).map(([name]) => name);
  if (hiding.length > 0)
    throw new ExperimentRefused(path.join('.'), `the arm ${hiding.join(', ')} sets it itself`, 'change it in the file');
  return setOption(declared, ['stages', ...path], value);
}

/** @throws ExperimentRefused if one option is named twice: one of its values would be lost. */
function refuseTwice(changes: readonly { readonly path: readonly string[] }[]): void {
  const names = changes.map(({ path }) => (isSeeds(path) ? 'seeds' : path.join('.')));
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw new ExperimentRefused(twice, 'is set twice', 'set it once');
}

/** @throws ExperimentRefused for a path that does not begin with a stage. */
function refuseOtherThanStage(declared: Options, path: readonly string[]): void {
  const stages = isOptions(declared.stages) ? Object.keys(declared.stages) : [];
  const [first = ''] = path;
  if (path.length > 1 && stages.includes(first)) return;
  const near = closestName(first, stages);
  throw new ExperimentRefused(
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
  if (at < 1 || path.some((name) => name.trim() === '')) throw new ExperimentRefused(text, 'has no option and value', form);
  return { path, value: text.slice(at + 1) };
}

function readValue(text: string, value: string): unknown {
  try {
    return parse(value);
  } catch (error) {
    const [message = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new ExperimentRefused(text, `has no value that can be read (${message})`, 'quote it');
  }
}
