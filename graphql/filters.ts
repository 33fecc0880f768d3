import type { AggregateFilter } from '../src/projections/analysis/aggregate.ts';
import type { TaskFilter } from '../src/projections/analysis/choose-tasks.ts';
import type { ToolCallFilter } from '../src/projections/analysis/choose-tool-calls.ts';
import type { SampleFilter } from '../src/projections/analysis/sample-query.ts';
import type { StepFilter } from '../src/projections/analysis/step-query.ts';
import type { TextQuery } from '../src/projections/analysis/text-query.ts';
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

// A filter has the same parts in the schema and on the read side, but for these. A new one is declared in both; nothing is added here.

/** The parts that are UUIDs, and what the read side calls them. */
const IDS = {
  experiment: 'experimentId',
  run: 'runId',
  tree: 'treeId',
  task: 'taskId',
  rollout: 'rolloutId',
  step: 'stepId',
  revision: 'revisionId',
  dataset: 'datasetId',
  stream: 'stream',
} as const;

/** Other parts that the read side calls otherwise. */
const NAMES = { policy: 'policyId', by: 'principal' } as const;

/** The parts that may be ranges: the read side has their ends, as `openedFrom` and `openedUntil`. */
const RANGES = {
  started: 'started',
  opened: 'opened',
  finishedIn: 'finished',
  durationMs: 'duration',
  stepCount: 'steps',
  depth: 'depth',
  policyVersion: 'policyVersion',
  return: 'return',
  score: 'score',
} as const;

type Names = typeof IDS & typeof NAMES;
type Shared<I> = keyof I & keyof typeof RANGES;
type RangesOf<I> =
  Shared<I> extends infer K ? (K extends Shared<I> ? (NonNullable<I[K]> extends object ? K : never) : never) : never;
type EndOf<I, K extends keyof I, End extends 'from' | 'until'> =
  NonNullable<I[K]> extends { readonly [E in End]?: infer V } ? NonNullable<V> : never;

/** A filter of the schema with the names of the read side. */
type Renamed<I> = {
  readonly [K in Exclude<keyof I, RangesOf<I>> as K extends keyof Names ? Names[K] : K]?: NonNullable<I[K]>;
} & { readonly [K in RangesOf<I> as `${(typeof RANGES)[K]}From`]?: EndOf<I, K, 'from'> } & {
  readonly [K in RangesOf<I> as `${(typeof RANGES)[K]}Until`]?: EndOf<I, K, 'until'>;
};

/** No argument where the read side has every part of a filter, of the same type; else one that names what it lacks. */
type Fits<I, F> = [Exclude<keyof Renamed<I>, keyof F>] extends [never]
  ? [Renamed<I>] extends [Partial<F>]
    ? []
    : [differs: F]
  : [lacks: Exclude<keyof Renamed<I>, keyof F>];

/** Makes what turns a filter of the schema into that of the read side; both types are named. @throws BAD_USER_INPUT when an id is no UUID. */
function reader<I extends object, F>(..._fits: Fits<I, F>): (filter: Input<I>) => Partial<F> {
  return (filter) => {
    const parts = Object.entries<unknown>(filter ?? {}).flatMap(([name, value]): (readonly [string, unknown])[] => {
      if (Object.hasOwn(IDS, name))
        return [[IDS[name as keyof typeof IDS], optionalId(`filter.${name}`, value as string | null)]];
      if (Object.hasOwn(RANGES, name) && typeof value === 'object') {
        const range = RANGES[name as keyof typeof RANGES];
        const ends = value as { readonly from?: unknown; readonly until?: unknown } | null;
        return [
          [`${range}From`, ends?.from],
          [`${range}Until`, ends?.until],
        ];
      }
      return [[Object.hasOwn(NAMES, name) ? NAMES[name as keyof typeof NAMES] : name, value]];
    });
    return given(Object.fromEntries(parts)) as Partial<F>; // `Fits` compares the types
  };
}

export const runFilter = reader<input.RunFilter, RunFilter>();
export const treeFilter = reader<input.TreeFilter, TreeFilter>();
export const datasetFilter = reader<input.DatasetFilter, DatasetFilter>();
export const exampleFilter = reader<input.DatasetExampleFilter, Omit<ExampleFilter, 'datasetId'>>();
export const annotationFilter = reader<input.AnnotationFilter, AnnotationFilter>();
export const revisionFilter = reader<input.RevisionFilter, RevisionFilter>();
export const anomalyFilter = reader<input.AnomalyFilter, AnomalyFilter>();
export const quarantineFilter = reader<input.QuarantineFilter, QuarantineFilter>();
export const replayFilter = reader<input.ReplayFilter, ReplayFilter>();

const rolloutParts = reader<Omit<input.RolloutFilter, 'annotated'>, RolloutFilter>();
export function rolloutFilter(filter: Input<input.RolloutFilter>): RolloutFilter {
  const { annotated, ...parts } = filter ?? {};
  return { ...rolloutParts(parts), ...annotatedPart(annotated) };
}

const trajectoryParts = reader<Omit<input.TrajectoryFilter, 'annotated'>, TrajectoryFilter>();
export function trajectoryFilter(filter: Input<input.TrajectoryFilter>): TrajectoryFilter {
  const { annotated, ...parts } = filter ?? {};
  return { ...trajectoryParts(parts), ...annotatedPart(annotated) };
}

const stepParts = reader<Omit<input.StepFilter, 'text' | 'reward' | 'annotated'>, StepFilter>();
export function stepFilter(filter: Input<input.StepFilter>): StepFilter {
  const { text, reward, annotated, ...parts } = filter ?? {};
  const ofReward = reward && given({ component: reward.component, from: reward.value?.from, until: reward.value?.until });
  return { ...stepParts(parts), ...textPart(text), ...annotatedPart(annotated), ...given({ reward: ofReward }) };
}

export const toolCallFilter = reader<input.ToolCallFilter, ToolCallFilter>();

const sampleParts = reader<Omit<input.SampleFilter, 'text' | 'annotated'>, SampleFilter>();
export function sampleFilter(filter: Input<input.SampleFilter>): SampleFilter {
  const { text, annotated, ...parts } = filter ?? {};
  return { ...sampleParts(parts), ...textPart(text), ...annotatedPart(annotated) };
}

const taskParts = reader<Omit<input.TaskFilter, 'kind'>, TaskFilter>();
export function taskFilter(filter: Input<input.TaskFilter>): TaskFilter {
  const { kind, ...parts } = filter ?? {};
  return { ...taskParts(parts), ...given({ taskKind: kind }) };
}

const annotatedParts = reader<Omit<input.AnnotatedFilter, 'has'>, AnnotatedFilter>();
function annotatedPart(filter: Input<input.AnnotatedFilter>): { readonly annotated?: AnnotatedFilter } {
  if (!filter) return {};
  const { has, ...parts } = filter;
  return { annotated: { has: has ?? true, ...annotatedParts(parts) } };
}

/** Words that are searched; up to when they are indexed is read where they are. */
function textPart(text: Input<input.TextSearch>): { readonly text?: TextQuery } {
  return text ? { text: { words: text.words, fields: text.in ?? [], mark: null } } : {};
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

/**
 * Leaves out what is null or undefined: to the caller `null` and nothing are the same, to the read side there is only nothing.
 */
function given<T extends object>(parts: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(parts).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> }; // only entries of `parts`, none of them null
}
