import type { z } from 'zod';
import { hasOption, isOptions, mergeOptions, type Options } from '../../../domain/experiment/change-options.ts';
import { goalsOf, neededFor, orderStages, type StageNode } from '../../../domain/experiment/order-stages.ts';
import { closestName } from '../../../domain/text/closest-name.ts';
import type { Experiment, ExperimentRefusal, PlannedArm, PlannedStage } from './experiment.ts';
import { type ExperimentFields, experimentFields } from './experiment-fields.ts';
import { issueText } from './issue-text.ts';
import { parseStage } from './parse-stage.ts';
import type { StageKind } from './stage-fields.ts';

export type ParsedExperiment = { readonly kind: 'parsed'; readonly experiment: Experiment } | ExperimentRefusal;

/** The arm of an experiment that declares none. */
const ONLY_ARM = 'main';

/** Stages whose runs hold trees that others may mine. */
const COLLECTING = ['collect', 'search', 'score', 'fork', 'import'] as const;

/** Which kinds of stages an option may name. */
const MAY_USE: Readonly<Record<string, { readonly kinds: readonly StageKind[]; readonly what: string }>> = {
  policy: { kinds: ['train', 'self-train'], what: 'trains a policy' },
  from: { kinds: ['train', 'self-train'], what: 'trains a policy' },
  on: { kinds: ['release'], what: 'releases a file' },
  recoverFrom: { kinds: ['collect', 'evaluate', 'fork'], what: 'rolls a policy out' },
  'revise.of': { kinds: COLLECTING, what: 'collects trees' },
  'release.of': { kinds: ['revise', ...COLLECTING], what: 'collects or revises trees' },
  'score.of': { kinds: ['collect', 'search', 'evaluate', 'fork', 'import', 'score'], what: 'rolls a policy out' },
};

/**
 * Reads an experiment from what its file holds: its shape, the options of every stage in every arm, and that stages use what
 * there is, without a cycle. An arm has the stages that the experiment is for, those that no other uses in the declaration, and
 * what these use in it.
 */
export function parseExperiment(input: unknown): ParsedExperiment {
  const parsed = experimentFields.safeParse(input);
  if (!parsed.success) return shapeRefusal(parsed.error.issues[0], input);
  const fields = parsed.data;
  if (Object.keys(fields.stages).length === 0)
    return refusal('stages', 'there is none', 'declare one, as evaluate: {policy: planner, tasks: 8}');
  const plain = planArm(fields, ONLY_ARM, {}, null);
  if (plain.kind === 'refused' && fields.arms === undefined) return plain;
  // A field that every arm states may be missing in the stages themselves: the goals need their references alone.
  const goals = goalsOf(nodesOf(fields.stages));
  const arms: PlannedArm[] = [];
  for (const [name, overrides] of Object.entries(fields.arms ?? { [ONLY_ARM]: {} })) {
    const stranger = Object.keys(overrides).find((stage) => !Object.hasOwn(fields.stages, stage));
    if (stranger !== undefined) return unknownStage(`arms.${name}.${stranger}`, stranger, fields.stages);
    const planned = planArm(fields, name, overrides, goals);
    if (planned.kind === 'refused') return planned;
    arms.push(planned.arm);
  }
  const [first] = arms;
  if (!first) return refusal('arms', 'there is none', 'name an arm, or leave arms out');
  const { baseline = first.name, seeds, arms: _, stages: __, ...rest } = fields;
  if (!arms.some(({ name }) => name === baseline))
    return refusal('baseline', `there is no arm ${baseline}`, `name one of ${arms.map(({ name }) => name).join(', ')}`);
  const list = typeof seeds === 'number' ? Array.from({ length: seeds }, (_one, i) => i + 1) : seeds;
  if (new Set(list).size < list.length) return refusal('seeds', 'a seed is there twice', 'name each once');
  return { kind: 'parsed', experiment: { ...rest, declared: input as Options, seeds: list, arms, baseline } };
}

function planArm(
  { environment, stages }: ExperimentFields,
  name: string,
  overrides: Readonly<Record<string, Options>>,
  goals: readonly string[] | null,
): { readonly kind: 'planned'; readonly arm: PlannedArm } | ExperimentRefusal {
  const merged = Object.fromEntries(
    Object.entries(stages).map(([stage, options]) => [stage, mergeOptions(options, overrides[stage] ?? {})]),
  );
  const place = (stage: string, path: readonly string[]) =>
    path.length > 0 && hasOption(overrides[stage], path)
      ? `arms.${name}.${[stage, ...path].join('.')}`
      : ['stages', stage, ...path].join('.');
  const nodes = nodesOf(merged);
  const order = orderStages(nodes);
  if (order.kind === 'cycle')
    return refusal(
      place(order.names[0] ?? '', []),
      `the stages ${order.names.join(' → ')} use each other in a circle`,
      'let one of them use something else',
    );
  if (order.kind === 'unknown') {
    const path = fieldNaming(merged[order.stage] ?? {}, order.used);
    return unknownStage(place(order.stage, path), order.used, stages);
  }
  const needed = neededFor(goals ?? goalsOf(nodes), nodes);
  const planned: PlannedStage[] = [];
  for (const stage of order.names.filter((each) => needed.has(each))) {
    const parsed = parseStage(stage, merged[stage] ?? {}, environment);
    if (parsed.kind === 'refused') return refusal(place(stage, parsed.path), parsed.message, parsed.remedy);
    planned.push(parsed.stage);
  }
  const kinds = new Map(planned.map((stage) => [stage.name, stage.kind]));
  for (const { name: stage, kind, uses } of planned)
    for (const [field, used] of Object.entries(uses)) {
      const rule = MAY_USE[field] ?? MAY_USE[`${kind}.${field}`];
      const found = kinds.get(used);
      if (!rule || !found || rule.kinds.includes(found)) continue;
      const named = fieldNaming(merged[stage] ?? {}, used);
      return refusal(
        place(stage, named),
        `${used} is of the kind ${found}, and ${kind}.${field} needs a stage that ${rule.what}`,
        `name one of the kind ${rule.kinds.join(', ')}`,
      );
    }
  return { kind: 'planned', arm: { name, overrides, stages: planned } };
}

/** What each stage uses, as far as unchecked options say. */
function nodesOf(stages: Readonly<Record<string, Options>>): readonly StageNode[] {
  return Object.entries(stages).map(([name, options]) => ({
    name,
    uses: Object.entries(options).flatMap(([field, value]) => {
      if ((field === 'of' || field === 'on') && typeof value === 'string') return [value];
      return isOptions(value) && typeof value.of === 'string' && Object.keys(value).length === 1 ? [value.of] : [];
    }),
  }));
}

function fieldNaming(options: Options, used: string): readonly string[] {
  const found = Object.entries(options).find(([, value]) => value === used || (isOptions(value) && value.of === used));
  return found ? [found[0]] : [];
}

function unknownStage(field: string, named: string, stages: Readonly<Record<string, unknown>>): ExperimentRefusal {
  const near = closestName(named, Object.keys(stages));
  const there = `there are ${Object.keys(stages).join(', ')}`;
  return refusal(field, `there is no stage ${named}; ${there}`, near === null ? 'name one of them' : `did you mean ${near}?`);
}

function shapeRefusal(issue: z.core.$ZodIssue | undefined, input: unknown): ExperimentRefusal {
  const field = (issue?.path ?? []).map(String).join('.');
  const unknown =
    issue?.code === 'unrecognized_keys' && isOptions(input)
      ? Object.keys(input).find((key) => !Object.hasOwn(experimentFields.shape, key))
      : undefined;
  if (unknown === undefined)
    return refusal(field, issueText(issue), 'correct it; `espalier schemas experiment` shows every field');
  const near = closestName(unknown, Object.keys(experimentFields.shape));
  return refusal(
    unknown,
    'is no field of an experiment',
    near === null ? `remove it, or name one of ${Object.keys(experimentFields.shape).join(', ')}` : `did you mean ${near}?`,
  );
}

function refusal(field: string, message: string, remedy: string): ExperimentRefusal {
  return { kind: 'refused', field, message, remedy };
}
