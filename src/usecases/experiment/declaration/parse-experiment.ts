import { readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import type { z } from 'zod';
import { hasOption, isOptions, mergeOptions, type Options } from '../../../domain/experiment/change-options.ts';
import { goalsOf, neededFor, orderStages, type StageNode } from '../../../domain/experiment/order-stages.ts';
import { closestName } from '../../../domain/text/closest-name.ts';
import { parseEnvironment } from '../../../environments/open-environment.ts';
import { type Refuse, refuseText } from '../stages/stage-work.ts';
import { STAGE_KINDS, STAGES, stageFormOf } from '../stages/stages.ts';
import {
  type Experiment,
  type ExperimentFields,
  ExperimentRefused,
  experimentFields,
  type PlannedArm,
  type PlannedStage,
} from './experiment.ts';

/** The arm of an experiment that declares none. */
const ONLY_ARM = 'main';

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
function checkUses({ kind, form, options, uses }: PlannedStage, earlier: readonly PlannedStage[], refuseAt: Refuse): void {
  for (const [field, used] of Object.entries(uses)) {
    const kinds = stageFormOf(form).uses[field];
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

/**
 * Reads the options of one stage: its shape, and what its strings name. @param environment that of the experiment.
 * @throws what `refuse` throws, at a path below the stage.
 */
function parseStage(name: string, options: Options, environment: string | undefined, refuse: Refuse): PlannedStage {
  const { stage = name } = options;
  const kind = STAGE_KINDS.find((each) => each === stage);
  if (kind === undefined) {
    const near = closestName(String(stage), STAGE_KINDS);
    return refuse(
      ['stage'],
      `${JSON.stringify(stage)} is no kind of stage`,
      `${near === null ? '' : `did you mean ${near}? `}say stage: ${STAGE_KINDS.join(', ')}`,
    );
  }
  const form = kind === 'train' && Object.hasOwn(options, 'on') ? 'clone' : kind;
  const { fields, check } = stageFormOf(form);
  const { shape } = fields;
  const inherited = Object.hasOwn(shape, 'environment') && environment !== undefined ? { environment } : {};
  const parsed = fields.safeParse({ ...inherited, ...options, stage: kind });
  if (!parsed.success) return refuseShape(parsed.error, Object.keys(shape), refuse);
  // the schema of this form made the options
  const planned = { name, kind, form, options: parsed.data, uses: usesOf(parsed.data) } as PlannedStage;
  checkEnvironment(planned, refuse);
  check?.(planned.options, refuse);
  return planned;
}

/** Refuses the first thing that a schema does. @param names of the fields of the whole. */
export function refuseShape({ issues: [issue] }: z.ZodError, names: readonly string[], refuse: Refuse): never {
  const path = (issue?.path ?? []).map(String);
  if (issue?.code !== 'unrecognized_keys')
    return refuse(path, issue?.message ?? 'is not valid', 'correct it; `espalier schemas experiment` shows every field');
  const [unknown = ''] = issue.keys;
  const near = path.length > 0 ? null : closestName(unknown, names);
  const remedy = path.length > 0 ? 'remove it' : `remove it, or name one of ${names.join(', ')}`;
  return refuse([...path, unknown], 'is no option here', near === null ? remedy : `did you mean ${near}?`);
}

/** The stages that options name, by the option. */
export function usesOf(options: object): Readonly<Record<string, string>> {
  const entries = Object.entries(options).flatMap(([field, value]): [string, string][] => {
    if ((field === 'of' || field === 'on') && typeof value === 'string') return [[field, value]];
    return isOptions(value) && typeof value.of === 'string' && Object.keys(value).length === 1 ? [[field, value.of]] : [];
  });
  return Object.fromEntries(entries);
}

/** Refuses a stage that acts nowhere, or in no environment that there is. */
function checkEnvironment({ form, options }: PlannedStage, refuse: Refuse): void {
  if (!Object.hasOwn(STAGES[form].fields.shape, 'environment')) return;
  const { environment } = options as Options;
  if (environment === undefined) refuse(['environment'], 'is missing', 'name one here, or for the whole experiment');
  refuseText('environment', environment, parseEnvironment, refuse);
}

const LARGEST = 10_000_000; // characters: a file of that size is no declaration

/** Reads a declaration: YAML, of which JSON is a part. @throws ExperimentRefused that names the file, or the field. */
export async function readExperimentFile(path: string): Promise<Experiment> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new ExperimentRefused(path, `cannot be read (${error.code})`, 'name an existing file');
  });
  if (text.length > LARGEST) throw new ExperimentRefused(path, `has ${text.length} characters`, 'name a declaration');
  let declared: unknown;
  try {
    const document = parseDocument(text, { merge: true });
    const [error] = document.errors;
    if (error) throw error;
    declared = document.toJS({ maxAliasCount: 1_000 });
  } catch (error) {
    const [message = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new ExperimentRefused(path, message.replace(/:$/, ''), 'correct it; JSON is YAML too');
  }
  return experimentOf(declared);
}
