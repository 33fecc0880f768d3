import type { Options } from '../../domain/experiment/change-options.ts';
import { isOptions } from '../../domain/experiment/change-options.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import { canonicalJson } from '../../events/canonical-json.ts';
import type { DataOf } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import { newId } from '../../events/new-id.ts';
import { openAppender } from '../../platform/open-appender.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { type ExperimentPlanRecord, readExperimentPlans } from '../../projections/experiment-stages/read-stages.ts';
import { RunRefused } from '../collect/hold-run.ts';
import type { Experiment } from './declaration/experiment.ts';
import { experimentOf } from './declaration/parse-experiment.ts';
import { settle } from './stages/stage-work.ts';

/** An experiment that was declared, or is about to be: its id follows from what is declared. */
export interface DeclaredExperiment {
  readonly experimentId: string;
  readonly experiment: Experiment;
  readonly rerunOf: string | null;
}

/** Names an experiment by what it declares: the same file is the same experiment. */
export function declaredAs(experiment: Experiment, rerunOf: string | null = null): DeclaredExperiment {
  const experimentId = derivedId('experiment', canonicalJson(recordedForm(experiment.declared)), rerunOf ?? '');
  return { experimentId, experiment, rerunOf };
}

/** Reads a recorded experiment. @throws RunRefused when there is none with stages; ExperimentRefused. */
export async function readExperiment(platform: Platform, experimentId: string): Promise<DeclaredExperiment> {
  await settle(platform);
  const [plan] = await readExperimentPlans(platform.database.db, [experimentId]);
  if (!plan)
    throw new RunRefused(
      `there is no experiment ${experimentId} with stages; \`espalier experiment list\` lists those that there are`,
    );
  return declaredOf(plan);
}

/** Returns an experiment as it was declared. @throws ExperimentRefused where this version cannot run it. */
export function declaredOf({ experimentId, declaration, rerunOf }: ExperimentPlanRecord): DeclaredExperiment {
  return { experimentId, experiment: experimentOf(declaredForm(declaration)), rerunOf };
}

/** Records the declaration, unless it is on record. */
export async function recordDeclaration(platform: Platform, declared: DeclaredExperiment): Promise<void> {
  const { experimentId, experiment, rerunOf } = declared;
  const [known] = await readExperimentPlans(platform.database.db, [experimentId]);
  if (known) return;
  const { name, question } = experiment;
  const data = { experimentId, name, question, declaration: recordedForm(experiment.declared), rerunOf };
  const id = derivedId('ExperimentDeclared', experimentId);
  await openAppender(platform, 'experimenter').append([{ type: 'ExperimentDeclared', id, correlationId: experimentId, data }]);
}

/** Records the end of a stage. A failure is a fact of its own each time; a completed stage is one fact. */
export async function recordStage(platform: Platform, data: DataOf<'StageFinished'>): Promise<void> {
  const { experimentId, arm, seed, stage, key, outcome } = data;
  const id = outcome === 'failed' ? newId() : derivedId('StageFinished', experimentId, arm, seed, stage, key);
  const message = cutText(data.message, 10_000);
  await openAppender(platform, 'experimenter').append([
    { type: 'StageFinished', id, correlationId: experimentId, data: { ...data, message } },
  ]);
}

/** A database keeps no order of names, and that of arms and stages means something: it is recorded next to them. */
function recordedForm(declared: Options): Options {
  const namesOf = (value: unknown) => (isOptions(value) ? Object.keys(value) : []);
  return { ...declared, order: { stages: namesOf(declared.stages), arms: namesOf(declared.arms) } };
}

/** Returns a declaration as its file had it; one that was declared over HTTP may have no order. */
export function declaredForm({ order, ...declared }: Options): Options {
  const ordered = (name: 'stages' | 'arms') => {
    const [value, names] = [declared[name], isOptions(order) ? order[name] : undefined];
    if (!isOptions(value) || !Array.isArray(names)) return {};
    const known = names.filter((each): each is string => typeof each === 'string' && Object.hasOwn(value, each));
    return { [name]: Object.fromEntries([...new Set([...known, ...Object.keys(value)])].map((each) => [each, value[each]])) };
  };
  return { ...declared, ...ordered('stages'), ...ordered('arms') };
}
