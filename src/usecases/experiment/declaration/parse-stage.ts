import type { z } from 'zod';
import { isOptions, type Options } from '../../../domain/experiment/change-options.ts';
import { refuseThresholds } from '../../../domain/revision/thresholds.ts';
import { findScorer, listScorers } from '../../../domain/reward/scorers.ts';
import { closestName } from '../../../domain/text/closest-name.ts';
import { parseEnvironment } from '../../../environments/open-environment.ts';
import { isOwnReward, REWARD_FORMS } from '../../../environments/tool-env/open-reward.ts';
import { parseJudgeText } from '../../../policies/create-judge.ts';
import { parsePolicyText } from '../../../policies/policy-spec.ts';
import { declarationFields } from '../../train/declaration/declaration-fields.ts';
import { parseDeclaration } from '../../train/declaration/parse-declaration.ts';
import type { PlannedStage, Refuse } from './experiment.ts';
import { STAGE_FIELDS, STAGE_KINDS } from './stage-fields.ts';

/**
 * Reads the options of one stage: its shape, and what its strings name. @param environment that of the experiment.
 * @throws what `refuse` throws, at a path below the stage.
 */
export function parseStage(name: string, given: Options, environment: string | undefined, refuse: Refuse): PlannedStage {
  const { stage = name } = given;
  const kind = STAGE_KINDS.find((each) => each === stage);
  if (kind === undefined) {
    const near = closestName(String(stage), STAGE_KINDS);
    return refuse(
      ['stage'],
      `${JSON.stringify(stage)} is no kind of stage`,
      `${near === null ? '' : `did you mean ${near}? `}say stage: ${STAGE_KINDS.join(', ')}`,
    );
  }
  const form = kind === 'train' && Object.hasOwn(given, 'on') ? 'clone' : kind;
  const { shape } = STAGE_FIELDS[form];
  const inherited = Object.hasOwn(shape, 'environment') && environment !== undefined ? { environment } : {};
  const parsed = STAGE_FIELDS[form].safeParse({ ...inherited, ...given, stage: kind });
  if (!parsed.success) return refuseShape(parsed.error, Object.keys(shape), refuse);
  // the schema of this form made the options
  const planned = { name, kind, form, options: parsed.data, uses: usesOf(parsed.data) } as PlannedStage;
  checkNames(planned, refuse);
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

/** Refuses what a run would only refuse when the stages before it are done. */
function checkNames({ form, options }: PlannedStage, refuse: Refuse): void {
  const { environment, judge, ...named } = options as Options;
  if (Object.hasOwn(STAGE_FIELDS[form].shape, 'environment') && environment === undefined)
    refuse(['environment'], 'is missing', 'name one here, or for the whole experiment');
  const check = (field: string, value: unknown, parse: (text: string) => unknown) => {
    if (typeof value !== 'string') return;
    try {
      parse(value);
    } catch (error) {
      refuse([field], error instanceof Error ? error.message : String(error), 'correct it');
    }
  };
  check('environment', environment, parseEnvironment);
  if (form !== 'import') check('policy', named.policy, refuseMoving); // there it names who acted
  if (form === 'clone') check('from', named.from, refuseMoving);
  if (judge !== 'self') check('judge', judge, (text) => parseJudgeText(text, null));
  if (form === 'score' && findScorer(options.scorer) === null && !isOwnReward(options.scorer))
    refuse(
      ['scorer'],
      `there is no scorer ${JSON.stringify(options.scorer)}`,
      `name one of ${listScorers()}, or ${REWARD_FORMS}`,
    );
  const thresholds = form === 'revise' ? refuseThresholds(options) : null;
  if (thresholds !== null) refuse(['alpha'], thresholds, 'correct it');
  if (form === 'train') {
    const training = parseDeclaration(declarationPart(options));
    if (training.kind === 'refused')
      refuse(training.field.split('.').filter(Boolean), training.message.replace(`${training.field}: `, ''), training.remedy);
  }
  if (form === 'evaluate' && options.recoverFrom !== undefined)
    for (const field of ['tasks', 'split'] as const)
      if (options[field] !== undefined)
        refuse([field], 'goes without recoverFrom, which takes the tasks of that stage', 'leave one of them out');
  if (form === 'search' && options.maxTokenLength !== undefined && options.compat === undefined)
    refuse(['maxTokenLength'], 'goes with compat', 'add compat: agent-r, or leave it out');
}

/** @throws Error for a policy that changes while the experiment runs; PolicySpecError. */
function refuseMoving(text: string): void {
  const spec = parsePolicyText(text);
  if (spec.kind === 'live' && spec.version === undefined)
    throw new Error(`${text} follows the newest version, which would change what repetitions measure; name one: ${text}@VERSION`);
}

/** Returns the options of a stage that a declaration of training has. */
export function declarationPart(options: object): Options {
  const own = Object.entries(options).filter(
    ([field, value]) => Object.hasOwn(declarationFields.shape, field) && value !== undefined,
  );
  return Object.fromEntries(own);
}
