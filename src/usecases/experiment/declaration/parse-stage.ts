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
import type { ExperimentRefusal, PlannedStage } from './experiment.ts';
import { issueText } from './issue-text.ts';
import { STAGE_FIELDS, STAGE_KINDS, type StageKind } from './stage-fields.ts';

/** What is wrong, at a path below the stage. */
export interface StageRefusal extends Omit<ExperimentRefusal, 'field' | 'kind'> {
  readonly kind: 'refused';
  readonly path: readonly string[];
}

/** Reads the options of one stage: its shape, and what its texts name. @param environment that of the experiment. */
export function parseStage(
  name: string,
  given: Options,
  environment: string | undefined,
): { readonly kind: 'parsed'; readonly stage: PlannedStage } | StageRefusal {
  const kind = kindOf(name, given);
  if (kind === null) {
    const said = given.stage === undefined ? name : String(given.stage);
    const near = closestName(said, STAGE_KINDS);
    return {
      kind: 'refused',
      path: ['stage'],
      message:
        given.stage === undefined ? `${name} is no kind of stage` : `there is no kind of stage ${JSON.stringify(given.stage)}`,
      remedy: `${near === null ? '' : `did you mean ${near}? `}say stage: ${STAGE_KINDS.join(', ')}`,
    };
  }
  const form = kind === 'train' && Object.hasOwn(given, 'on') ? 'clone' : kind;
  const schema = STAGE_FIELDS[form];
  const inherited = Object.hasOwn(schema.shape, 'environment') && environment !== undefined ? { environment } : {};
  const parsed = schema.safeParse({ ...inherited, ...given, stage: kind });
  if (!parsed.success) return shapeRefusal(parsed.error, form);
  // the schema of this form made the options
  const stage = { name, kind, form, options: parsed.data, uses: usesOf(parsed.data) } as PlannedStage;
  return refuseNames(stage) ?? { kind: 'parsed', stage };
}

function kindOf(name: string, { stage = name }: Options): StageKind | null {
  return STAGE_KINDS.find((kind) => kind === stage) ?? null;
}

/** The stages that options name, by the option. */
function usesOf(options: object): Readonly<Record<string, string>> {
  const entries = Object.entries(options).flatMap(([field, value]): [string, string][] => {
    if ((field === 'of' || field === 'on') && typeof value === 'string') return [[field, value]];
    return isOptions(value) && typeof value.of === 'string' ? [[field, value.of]] : [];
  });
  return Object.fromEntries(entries);
}

function shapeRefusal({ issues: [issue] }: z.ZodError, form: keyof typeof STAGE_FIELDS): StageRefusal {
  const path = (issue?.path ?? []).map(String);
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  if (unknown === undefined)
    return {
      kind: 'refused',
      path,
      message: issueText(issue),
      remedy: 'correct it; `espalier schemas experiment` shows every field',
    };
  const kind = form === 'clone' ? 'train (on a released file)' : form;
  const names = path.length === 0 ? Object.keys(STAGE_FIELDS[form].shape) : [];
  const near = closestName(unknown, names);
  const foreign =
    form === 'clone' && Object.hasOwn(STAGE_FIELDS.train.shape, unknown) ? '; it goes with training by rewards, without on' : '';
  return {
    kind: 'refused',
    path: [...path, unknown],
    message: `is no option of ${path.length === 0 ? kind : path.join('.')}${foreign}`,
    remedy:
      near === null ? `remove it${names.length === 0 ? '' : `, or name one of ${names.join(', ')}`}` : `did you mean ${near}?`,
  };
}

/** What a run would only refuse when the stages before it are done. */
function refuseNames({ form, options }: PlannedStage): StageRefusal | null {
  if (Object.hasOwn(STAGE_FIELDS[form].shape, 'environment') && !Object.hasOwn(options, 'environment'))
    return refusal(['environment'], 'is missing', 'name one here, or for the whole experiment');
  const checks: [string, () => unknown][] = [];
  const policies = form === 'clone' ? { from: options.from } : 'policy' in options ? { policy: options.policy } : {};
  if ('environment' in options && options.environment !== undefined) {
    const { environment } = options;
    checks.push(['environment', () => parseEnvironment(environment)]);
  }
  for (const [field, policy] of Object.entries(policies))
    if (typeof policy === 'string') checks.push([field, () => refuseMoving(policy)]);
  if ('judge' in options && options.judge !== 'self') checks.push(['judge', () => parseJudgeText(options.judge, null)]);
  if (form === 'score' && findScorer(options.scorer) === null && !isOwnReward(options.scorer))
    return refusal(
      ['scorer'],
      `there is no scorer ${JSON.stringify(options.scorer)}`,
      `name one of ${listScorers()}, or ${REWARD_FORMS}`,
    );
  for (const [field, check] of checks) {
    const wrong = messageOf(check);
    if (wrong !== null) return refusal([field], wrong, 'correct it');
  }
  if (form === 'revise') {
    const wrong = refuseThresholds(options);
    if (wrong !== null) return refusal(['alpha'], wrong, 'correct it');
  }
  if (form === 'train') {
    const { kind, ...wrong } = parseDeclaration(declarationPart(options));
    if (kind === 'refused' && 'field' in wrong) {
      const { field, message, remedy } = wrong;
      return refusal(field.split('.').filter(Boolean), message.replace(`${field}: `, ''), remedy);
    }
  }
  if (form === 'evaluate' && options.recoverFrom !== undefined) {
    const field = (['tasks', 'split'] as const).find((each) => options[each] !== undefined);
    if (field !== undefined)
      return refusal([field], 'goes without recoverFrom, which takes the tasks of that stage', 'leave one of them out');
  }
  if (form === 'search' && options.maxTokenLength !== undefined && options.compat === undefined)
    return refusal(['maxTokenLength'], 'goes with compat', 'add compat: agent-r, or leave it out');
  return null;
}

/** @throws Error for a policy that changes while the experiment goes on; PolicySpecError. */
function refuseMoving(text: string): void {
  const spec = parsePolicyText(text);
  if (spec.kind === 'live' && spec.version === undefined)
    throw new Error(`${text} follows the newest version, which would change what repetitions measure; name one: ${text}@VERSION`);
}

/** What of a stage's options a declaration of training says. */
export function declarationPart(options: object): Options {
  const named = Object.entries(options).filter(
    ([field, value]) => Object.hasOwn(declarationFields.shape, field) && value !== undefined,
  );
  return Object.fromEntries(named);
}

function refusal(path: readonly string[], message: string, remedy: string): StageRefusal {
  return { kind: 'refused', path, message, remedy };
}

function messageOf(check: () => unknown): string | null {
  try {
    check();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
