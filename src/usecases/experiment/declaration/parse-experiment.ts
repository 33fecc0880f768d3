import { hasOption, isOptions, mergeOptions, type Options } from '../../../domain/experiment/change-options.ts';
import { goalsOf, neededFor, orderStages, type StageNode } from '../../../domain/experiment/order-stages.ts';
import { closestName } from '../../../domain/text/closest-name.ts';
import {
  type Experiment,
  type ExperimentFields,
  ExperimentRefused,
  experimentFields,
  type PlannedArm,
  type PlannedStage,
  type Refuse,
} from './experiment.ts';
import { parseStage, refuseShape, usesOf } from './parse-stage.ts';
import type { StageKind } from './stage-fields.ts';

/** The arm of an experiment that declares none. */
const ONLY_ARM = 'main';

/** Stages whose runs hold trees that others may mine. */
const COLLECTING = ['collect', 'search', 'score', 'fork', 'import'] as const;

/** Which kinds of stages an option may name. */
const MAY_USE: Readonly<Record<string, readonly StageKind[]>> = {
  policy: ['train'],
  from: ['train'],
  on: ['release'],
  recoverFrom: ['collect', 'evaluate', 'fork'],
  'revise.of': COLLECTING,
  'release.of': ['revise', ...COLLECTING],
  'score.of': ['collect', 'search', 'evaluate', 'fork', 'import', 'score'],
};

/**
 * Checks a declaration: its shape, the options of every stage in every arm, and that stages use what exists, without a cycle. An
 * arm has the stages that no other stage uses in the declaration, and what these use in it.
 * @throws ExperimentRefused that names the field.
 */
export function experimentOf(declared: unknown): Experiment {
  const parsed = experimentFields.safeParse(declared);
  if (!parsed.success) return refuseShape(parsed.error, Object.keys(experimentFields.shape), refuse);
  const fields = parsed.data;
  const { baseline, seeds, arms: overrides = { [ONLY_ARM]: {} }, stages, ...rest } = fields;
  if (Object.keys(stages).length === 0) refuse(['stages'], 'is empty', 'declare one, as evaluate: {policy: planner, tasks: 8}');
  // a field that every arm sets may be missing in the stages themselves: the goals need only their references
  const goals = goalsOf(nodesOf(stages));
  const arms = Object.entries(overrides).map(([name, own]) => planArm(fields, name, own, goals));
  const names = arms.map(({ name }) => name);
  const [first] = names;
  if (first === undefined) return refuse(['arms'], 'is empty', 'name an arm, or leave arms out');
  if (baseline !== undefined && !names.includes(baseline))
    refuse(['baseline'], `there is no arm ${baseline}`, `name one of ${names.join(', ')}`);
  const list = typeof seeds === 'number' ? Array.from({ length: seeds }, (_, i) => i + 1) : seeds;
  if (new Set(list).size < list.length) refuse(['seeds'], 'a seed is named twice', 'name each once');
  return { ...rest, declared: declared as Options, seeds: list, arms, baseline: baseline ?? first };
}

function refuse(path: readonly string[], message: string, remedy: string): never {
  throw new ExperimentRefused(path.join('.'), message, remedy);
}

function planArm(
  { environment, stages }: ExperimentFields,
  name: string,
  overrides: Readonly<Record<string, Options>>,
  goals: readonly string[],
): PlannedArm {
  for (const stage of Object.keys(overrides))
    if (!Object.hasOwn(stages, stage)) refuseStage(['arms', name, stage], stage, stages);
  const merged = Object.fromEntries(
    Object.entries(stages).map(([stage, options]) => [stage, mergeOptions(options, overrides[stage] ?? {})]),
  );
  const placeOf = (stage: string, path: readonly string[]) =>
    path.length > 0 && hasOption(overrides[stage], path) ? ['arms', name, stage, ...path] : ['stages', stage, ...path];
  const nodes = nodesOf(merged);
  const order = orderStages(nodes);
  if (order.kind === 'cycle')
    return refuse(
      placeOf(order.names[0] ?? '', []),
      `the stages ${order.names.join(' → ')} use each other in a circle`,
      'let one of them use something else',
    );
  if (order.kind === 'unknown')
    return refuseStage(placeOf(order.stage, optionNaming(merged[order.stage] ?? {}, order.used)), order.used, stages);
  const needed = neededFor(goals, nodes);
  const planned: PlannedStage[] = [];
  for (const stage of order.names.filter((each) => needed.has(each))) {
    const refuseAt: Refuse = (path, message, remedy) => refuse(placeOf(stage, path), message, remedy);
    const parsed = parseStage(stage, merged[stage] ?? {}, environment, refuseAt);
    checkUses(parsed, planned, refuseAt);
    planned.push(parsed);
  }
  return { name, overrides, stages: planned };
}

/** @throws ExperimentRefused if a stage uses one of a kind that it cannot use. */
function checkUses({ kind, options, uses }: PlannedStage, earlier: readonly PlannedStage[], refuseAt: Refuse): void {
  for (const [field, used] of Object.entries(uses)) {
    const kinds = MAY_USE[field] ?? MAY_USE[`${kind}.${field}`];
    const found = earlier.find(({ name }) => name === used)?.kind;
    if (kinds && found && !kinds.includes(found))
      refuseAt(
        optionNaming(options, used),
        `${used} is of the kind ${found}, which ${kind}.${field} cannot use`,
        `name a stage of the kind ${kinds.join(', ')}`,
      );
  }
}

/** What each stage uses, as far as unchecked options say. */
function nodesOf(stages: Readonly<Record<string, Options>>): readonly StageNode[] {
  return Object.entries(stages).map(([name, options]) => ({ name, uses: Object.values(usesOf(options)) }));
}

function optionNaming(options: object, used: string): readonly string[] {
  const naming = Object.entries(options).find(([, value]) => value === used || (isOptions(value) && value.of === used));
  return naming ? [naming[0]] : [];
}

function refuseStage(path: readonly string[], stage: string, stages: Readonly<Record<string, unknown>>): never {
  const names = Object.keys(stages);
  const near = closestName(stage, names);
  return refuse(
    path,
    `there is no stage ${stage}; there are ${names.join(', ')}`,
    near === null ? 'name one of them' : `did you mean ${near}?`,
  );
}
