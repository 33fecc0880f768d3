import type { AggregateFilter } from '../src/projections/analysis/aggregate.ts';
import type { TaskFilter } from '../src/projections/analysis/choose-tasks.ts';
import type { ToolCallFilter } from '../src/projections/analysis/choose-tool-calls.ts';
import type { SampleFilter } from '../src/projections/analysis/sample-query.ts';
import type { StepFilter } from '../src/projections/analysis/step-query.ts';
import type { TextQuery } from '../src/projections/analysis/text-query.ts';
import type { OfTrees } from '../src/projections/analysis/trees-of.ts';
import type { AnnotatedFilter } from '../src/projections/annotations/annotated.ts';
import type { AnnotationFilter } from '../src/projections/annotations/read-annotations.ts';
import type { ExampleFilter } from '../src/projections/dataset-sources/read-examples.ts';
import type { DatasetFilter } from '../src/projections/datasets/read-datasets.ts';
import type { AnomalyFilter } from '../src/projections/journal/read-anomalies.ts';
import type { QuarantineFilter } from '../src/projections/read-quarantine.ts';
import type { ReplayFilter } from '../src/projections/replays/read-replays.ts';
import type { RevisionFilter } from '../src/projections/revisions/read-revisions.ts';
import type { TrajectoryFilter } from '../src/projections/rewards/read-trajectories.ts';
import type { RunFilter } from '../src/projections/runs/read-runs.ts';
import type { RolloutFilter } from '../src/projections/step-tree/read-rollouts.ts';
import type { TreeFilter } from '../src/projections/step-tree/read-trees.ts';
import { argumentId, optionalId } from './argument-id.ts';
import { refusal } from './errors.ts';
import type * as input from './generated/types.ts';

type Input<T> = Readonly<T> | null | undefined;

/** Turns the filters of the schema into those of the read side. @throws BAD_USER_INPUT when an id is no UUID. */
export function runFilter(filter: Input<input.RunFilter>): RunFilter {
  return given({
    experimentId: optionalId('filter.experiment', filter?.experiment),
    kind: filter?.kind,
    outcome: filter?.outcome,
    running: filter?.running,
    environment: filter?.environment,
    policyId: filter?.policy,
    text: filter?.text,
    label: filter?.label,
    startedFrom: filter?.started?.from,
    startedUntil: filter?.started?.until,
  });
}

export function treeFilter(filter: Input<input.TreeFilter>): TreeFilter {
  return given({
    runId: optionalId('filter.run', filter?.run),
    taskId: optionalId('filter.task', filter?.task),
    environment: filter?.environment,
    split: filter?.split,
    taskDepth: filter?.taskDepth,
    taskKind: filter?.taskKind,
    closed: filter?.closed,
    openedFrom: filter?.opened?.from,
    openedUntil: filter?.opened?.until,
    datasetId: optionalId('filter.dataset', filter?.dataset),
  });
}

export function rolloutFilter(filter: Input<input.RolloutFilter>): RolloutFilter {
  return { ...shared(filter), ...given({ finished: filter?.finished }) };
}

export function trajectoryFilter(filter: Input<input.TrajectoryFilter>): TrajectoryFilter {
  return {
    ...shared(filter),
    ...given({
      returnFrom: filter?.return?.from,
      returnUntil: filter?.return?.until,
      stepsFrom: filter?.stepCount?.from,
      stepsUntil: filter?.stepCount?.until,
      datasetId: optionalId('filter.dataset', filter?.dataset),
    }),
  };
}

export function revisionFilter(filter: Input<input.RevisionFilter>): RevisionFilter {
  return given({
    state: filter?.state,
    judge: filter?.judge,
    datasetId: optionalId('filter.dataset', filter?.dataset),
  });
}

export function datasetFilter(filter: Input<input.DatasetFilter>): DatasetFilter {
  return given({
    name: filter?.name,
    format: filter?.format,
    withdrawn: filter?.withdrawn,
    runId: optionalId('filter.run', filter?.run),
    treeId: optionalId('filter.tree', filter?.tree),
    rolloutId: optionalId('filter.rollout', filter?.rollout),
    revisionId: optionalId('filter.revision', filter?.revision),
  });
}

export function exampleFilter(filter: Input<input.DatasetExampleFilter>): Omit<ExampleFilter, 'datasetId'> {
  return given({
    kind: filter?.kind,
    treeId: optionalId('filter.tree', filter?.tree),
    revisionId: optionalId('filter.revision', filter?.revision),
    line: filter?.line,
  });
}

export function annotationFilter(filter: Input<input.AnnotationFilter>): AnnotationFilter {
  return given({
    runId: optionalId('filter.run', filter?.run),
    treeId: optionalId('filter.tree', filter?.tree),
    kind: filter?.kind,
    stepId: optionalId('filter.step', filter?.step),
    rolloutId: optionalId('filter.rollout', filter?.rollout),
    revisionId: optionalId('filter.revision', filter?.revision),
    datasetId: optionalId('filter.dataset', filter?.dataset),
    retracted: filter?.retracted,
    ...said(filter),
  });
}

function annotated(filter: Input<input.AnnotatedFilter>): AnnotatedFilter | null {
  return filter ? { has: filter.has ?? true, ...given(said(filter)) } : null;
}

function said(filter: Input<Pick<input.AnnotationFilter, 'label' | 'by' | 'score'>>) {
  const { label, by: principal, score } = filter ?? {};
  return { label, principal, scoreFrom: score?.from, scoreUntil: score?.until };
}

export function anomalyFilter(filter: Input<input.AnomalyFilter>): AnomalyFilter {
  return given({ kind: filter?.kind, stream: optionalId('filter.stream', filter?.stream) });
}

export function quarantineFilter(filter: Input<input.QuarantineFilter>): QuarantineFilter {
  return given({ projection: filter?.projection, code: filter?.code, requeued: filter?.requeued });
}

export function replayFilter(filter: Input<input.ReplayFilter>): ReplayFilter {
  return given({ runId: optionalId('filter.run', filter?.run), mode: filter?.mode, outcome: filter?.outcome });
}

export function stepFilter(filter: Input<input.StepFilter>): StepFilter {
  const { text, reward } = filter ?? {};
  return {
    ...ofTrees(filter),
    ...given({
      text: textQuery(text),
      rolloutId: optionalId('filter.rollout', filter?.rollout),
      action: filter?.action,
      tool: filter?.tool,
      reward: reward && given({ component: reward.component, from: reward.value?.from, until: reward.value?.until }),
      verdict: filter?.verdict,
      returnFrom: filter?.return?.from,
      returnUntil: filter?.return?.until,
      annotated: annotated(filter?.annotated),
      sampleState: filter?.sampleState,
      sampleReason: filter?.sampleReason,
      policyId: filter?.policy,
      policyVersion: filter?.policyVersion,
      depthFrom: filter?.depth?.from,
      depthUntil: filter?.depth?.until,
      termination: filter?.termination,
      wellFormatted: filter?.wellFormatted,
      executable: filter?.executable,
    }),
  };
}

/** Words that are searched; up to when they are indexed is read where they are. */
function textQuery(text: Input<input.TextSearch>): TextQuery | null {
  return text ? { words: text.words, fields: text.in ?? [], mark: null } : null;
}

export function toolCallFilter(filter: Input<input.ToolCallFilter>): ToolCallFilter {
  return {
    ...ofTrees(filter),
    ...given({
      tool: filter?.tool,
      text: filter?.text,
      outcome: filter?.outcome,
      stepId: optionalId('filter.step', filter?.step),
      durationFrom: filter?.durationMs?.from,
      durationUntil: filter?.durationMs?.until,
    }),
  };
}

export function sampleFilter(filter: Input<input.SampleFilter>): SampleFilter {
  return {
    ...ofTrees(filter),
    ...given({ policyId: filter?.policy, state: filter?.state, reason: filter?.reason, version: filter?.version }),
    ...given({ text: textQuery(filter?.text), annotated: annotated(filter?.annotated) }),
  };
}

export function taskFilter(filter: Input<input.TaskFilter>): TaskFilter {
  return given({
    text: filter?.text,
    runId: optionalId('filter.run', filter?.run),
    environment: filter?.environment,
    split: filter?.split,
    taskDepth: filter?.taskDepth,
    taskKind: filter?.kind,
  });
}

export const NAMED = 100; // runs or tasks that are summed up together

/** @throws BAD_USER_INPUT also where neither runs nor tasks are named: the whole record is no answer. */
export function aggregateFilter(filter: Input<input.AggregateFilter>): AggregateFilter {
  const ids = (argument: string, given: readonly string[] | null | undefined) => {
    if (given && given.length > NAMED)
      throw refusal('BAD_USER_INPUT', `${argument} names ${given.length}, and ${NAMED} are summed up at once`, { argument });
    return given?.map((id) => argumentId(argument, id));
  };
  const [runIds, taskIds] = [ids('filter.runs', filter?.runs), ids('filter.tasks', filter?.tasks)];
  if (!runIds && !taskIds && !filter?.environment && !filter?.policy)
    throw refusal('BAD_USER_INPUT', 'filter must name what is summed up: runs, tasks, a policy or an environment', {
      argument: 'filter',
    });
  return given({
    runIds,
    taskIds,
    environment: filter?.environment,
    split: filter?.split,
    taskDepth: filter?.taskDepth,
    taskKind: filter?.taskKind,
    policyId: filter?.policy,
    policyVersion: filter?.policyVersion,
  });
}

/** What is chosen by the trees that it lies in. */
function ofTrees(
  filter: Input<Pick<input.ToolCallFilter, 'run' | 'tree' | 'task' | 'environment' | 'split' | 'taskDepth' | 'taskKind'>>,
): OfTrees {
  return given({
    runId: optionalId('filter.run', filter?.run),
    treeId: optionalId('filter.tree', filter?.tree),
    taskId: optionalId('filter.task', filter?.task),
    environment: filter?.environment,
    split: filter?.split,
    taskDepth: filter?.taskDepth,
    taskKind: filter?.taskKind,
  });
}

function shared(filter: Input<Omit<input.RolloutFilter, 'finished'>>): RolloutFilter {
  return given({
    runId: optionalId('filter.run', filter?.run),
    treeId: optionalId('filter.tree', filter?.tree),
    taskId: optionalId('filter.task', filter?.task),
    environment: filter?.environment,
    outcomes: filter?.outcomes,
    success: filter?.success,
    annotated: annotated(filter?.annotated),
    policyId: filter?.policy,
    policyVersionFrom: filter?.policyVersion?.from,
    policyVersionUntil: filter?.policyVersion?.until,
    finishedFrom: filter?.finishedIn?.from,
    finishedUntil: filter?.finishedIn?.until,
  });
}

/**
 * Leaves out what is null or undefined: to the caller `null` and nothing are the same, to the read side there is only nothing.
 */
function given<T extends object>(parts: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(parts).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> }; // only entries of `parts`, none of them null
}
