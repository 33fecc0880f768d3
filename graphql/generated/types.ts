// Written by graphql/codegen.ts from graphql/schema; `npm run codegen` writes it again.
import type { GraphQLResolveInfo, GraphQLScalarType, GraphQLScalarTypeConfig } from 'graphql';
import type { Root, ReachedModel, ImageTotalsModel, RunEnvironmentModel, OutlineBackUpsModel, CapturedChoiceModel, RevisionTurnModel, HistorySegmentModel, PromptModel, PromptMessageModel, PromptPartModel, DiscardedSamplesModel, PolicyVersionModel, AnnotationsRecordedModel, FoundSteps, FoundStep, RunComparisonModel, TrajectoryDivergenceModel } from '../models.ts';
import type { LargeTextModel } from '../large-text.ts';
import type { EventDeliveryModel } from '../live/event-delivery-model.ts';
import type { ExperimentRecord } from '../../src/projections/runs/read-experiments.ts';
import type { RecordedArm, RecordedStage } from '../../src/usecases/experiment/recorded-arms.ts';
import type { ArmResult as ArmResultModel } from '../../src/usecases/experiment/report.ts';
import type { RunRecord } from '../../src/projections/runs/read-runs.ts';
import type { ForkOrigin as ForkOriginModel } from '../../src/projections/runs/read-forks.ts';
import type { EvaluationRecord, TrainedOnRecord } from '../../src/projections/evaluations/read-evaluations.ts';
import type { KeptVerification } from '../../src/usecases/verify/keep-verification.ts';
import type { Connection, CountedConnection } from '../connection.ts';
import type { ReplayRecord } from '../../src/projections/replays/read-replays.ts';
import type { TreeRecord } from '../../src/projections/step-tree/read-trees.ts';
import type { Outline } from '../../src/projections/step-tree/read-outline.ts';
import type { StepRecord } from '../../src/projections/step-tree/read-steps.ts';
import type { CapturedCall as CapturedCallRecord } from '../../src/projections/journal/read-captured-calls.ts';
import type { RolloutRecord } from '../../src/projections/step-tree/read-rollouts.ts';
import type { ToolCallRecord } from '../../src/projections/step-tree/read-tool-calls.ts';
import type { DivergenceRecord } from '../../src/projections/step-tree/read-divergences.ts';
import type { TrajectoryRecord } from '../../src/projections/rewards/read-trajectories.ts';
import type { RewardRecord, RewardRevisionRecord } from '../../src/projections/rewards/read-rewards.ts';
import type { AnomalyRecord } from '../../src/projections/journal/read-anomalies.ts';
import type { QuarantineRecord } from '../../src/projections/read-quarantine.ts';
import type { NodeStatistics } from '../../src/projections/search-statistics/read-statistics.ts';
import type { RevisionRecord } from '../../src/projections/revisions/read-revisions.ts';
import type { JudgementRecord } from '../../src/projections/revisions/read-judgements.ts';
import type { DatasetRecord } from '../../src/projections/datasets/read-datasets.ts';
import type { ExampleRecord } from '../../src/projections/dataset-sources/read-examples.ts';
import type { HistoryImageRecord } from '../../src/projections/images/read-history-images.ts';
import type { HistoryAtFactor as HistoryAtFactorModel } from '../../src/projections/images/history-at-factors.ts';
import type { DriftRecord } from '../../src/projections/prompts/read-drift.ts';
import type { RenderSpecRecord } from '../../src/projections/images/read-render-specs.ts';
import type { LineageRecord } from '../../src/projections/training-pool/read-lineages.ts';
import type { RecordedDeclaration } from '../../src/usecases/train/declaration/recorded-declaration.ts';
import type { Waiting } from '../../src/usecases/train/waiting/why-waiting.ts';
import type { EventPlace } from '../../src/projections/lineage/trace-events.ts';
import type { Trace as TraceModel } from '../../src/usecases/lineage/trace-record.ts';
import type { Touched as TouchedModel } from '../../src/projections/lineage/touched.ts';
import type { Ledger as LedgerRecord } from '../../src/projections/training-pool/read-ledger.ts';
import type { BatchOutcome } from '../../src/projections/training-pool/read-batch-outcomes.ts';
import type { PolicyUpdateRecord } from '../../src/projections/training-pool/read-policy-updates.ts';
import type { BatchRecord, AbandonmentRecord, LeaseRecord } from '../../src/projections/training-pool/read-batches.ts';
import type { SampleRecord } from '../../src/projections/training-pool/read-samples.ts';
import type { BatchEstimates as BatchEstimatesModel, SampleEstimate as SampleEstimateModel, StepEstimate as StepEstimateModel } from '../../src/usecases/train/estimates/batch-estimates.ts';
import type { ActorRecord } from '../../src/projections/training-pool/read-actors.ts';
import type { Packed } from '../../src/events/schemas/values.ts';
import type { AnnotationRecord } from '../../src/projections/annotations/read-annotations.ts';
import type { TaskRecord } from '../../src/projections/answers/choose-tasks.ts';
import type { Aggregate as AggregateModel } from '../../src/projections/answers/aggregate.ts';
import type { PairedComparison } from '../../src/domain/evaluation/compare-paired.ts';
import type { Context } from '../context.ts';
export type Maybe<T> = T | null;
export type InputMaybe<T> = T | null | undefined;
export type Omit<T, K extends keyof T> = Pick<T, Exclude<keyof T, K>>;
export type RequireFields<T, K extends keyof T> = Omit<T, K> & { [P in K]-?: NonNullable<T[P]> };
/** All built-in and custom scalars, mapped to their actual values */
export type Scalars = {
  ID: { input: string; output: string; }
  String: { input: string; output: string; }
  Boolean: { input: boolean; output: boolean; }
  Int: { input: number; output: number; }
  Float: { input: number; output: number; }
  /** An instant, as ISO 8601 in UTC with milliseconds: 2026-01-31T09:30:00.000Z. Input takes any ISO 8601 instant with its zone. */
  DateTime: { input: Date; output: Date; }
  /** Any JSON value. */
  JSON: { input: unknown; output: unknown; }
  /** A whole number within ±(2^53 − 1): offsets, seeds and counts that may exceed 32 bits. */
  SafeInt: { input: number; output: number; }
};

/** What can be written: annotations (scope `annotate`), and releases from quarantine (scope `admin`). It needs a request by POST of the type application/json. */
export type Mutation = {
  readonly __typename?: 'Mutation';
  /**
   * Annotates steps, rollouts, revisions, rows of released datasets or trees: all of a call, 500 at most, or none. Refused with FORBIDDEN without the scope
   * `annotate`, and with NOT_ON_RECORD where the caller sees no such thing. An annotation with the id of one that says the same is not recorded again.
   */
  readonly annotate: AnnotationsRecorded;
  /** Retracts annotations, 500 at most: they no longer count. Who added one retracts it, or an administrator. */
  readonly retractAnnotations: AnnotationsRecorded;
  /**
   * Releases what waits in quarantine at these places, 50 at most, such as `trees.0:41`: each event is appended again behind all there is in its partition, where
   * it is not refused again. Refused with FORBIDDEN without the scope `admin`, and with NOT_ON_RECORD where nothing that the caller sees waits at a place.
   */
  readonly releaseQuarantined: ReadonlyArray<QuarantineRelease>;
};


/** What can be written: annotations (scope `annotate`), and releases from quarantine (scope `admin`). It needs a request by POST of the type application/json. */
export type MutationAnnotateArgs = {
  annotations: ReadonlyArray<NewAnnotation>;
};


/** What can be written: annotations (scope `annotate`), and releases from quarantine (scope `admin`). It needs a request by POST of the type application/json. */
export type MutationRetractAnnotationsArgs = {
  ids: ReadonlyArray<Scalars['ID']['input']>;
  reason?: Scalars['String']['input'];
};


/** What can be written: annotations (scope `annotate`), and releases from quarantine (scope `admin`). It needs a request by POST of the type application/json. */
export type MutationReleaseQuarantinedArgs = {
  places: ReadonlyArray<Scalars['String']['input']>;
  reason?: Scalars['String']['input'];
};

/** What is said of something: a label, a score or a note, at least one of them. Exactly one of `step`, `rollout`, `revision`, `tree` and `row` names it. */
export type NewAnnotation = {
  /** A UUID of the caller's own, by which a repetition is recognised; a new one unless given. */
  readonly id?: InputMaybe<Scalars['ID']['input']>;
  /** A step. */
  readonly step?: InputMaybe<Scalars['ID']['input']>;
  /** A rollout, and the trajectory that it ended. */
  readonly rollout?: InputMaybe<Scalars['ID']['input']>;
  /** A revision. */
  readonly revision?: InputMaybe<Scalars['ID']['input']>;
  /** A tree as a whole. */
  readonly tree?: InputMaybe<Scalars['ID']['input']>;
  /** A row of a released dataset. */
  readonly row?: InputMaybe<DatasetRow>;
  /** A label to filter by: at most 100 characters, none of them a control or formatting character. */
  readonly label?: InputMaybe<Scalars['String']['input']>;
  /** A score. */
  readonly score?: InputMaybe<Scalars['Float']['input']>;
  /** A text for people, at most 10,000 characters. */
  readonly note?: Scalars['String']['input'];
};

/** An example of a released dataset. */
export type DatasetRow = {
  /** The dataset. */
  readonly dataset: Scalars['ID']['input'];
  /** Its first line in the file, from 1. */
  readonly line: Scalars['Int']['input'];
};

/** What a call recorded. */
export type AnnotationsRecorded = {
  readonly __typename?: 'AnnotationsRecorded';
  /** The ids of the annotations, in the order in which they were named. */
  readonly ids: ReadonlyArray<Scalars['ID']['output']>;
  /** The annotations as the read models hold them: one that they do not hold after two seconds is missing here, and on record. */
  readonly annotations: ReadonlyArray<Annotation>;
  /** Next offsets behind what was appended, to be waited for; empty where all was on record before. */
  readonly position: Scalars['String']['output'];
};

/** What somebody said of a step, a rollout, a revision, a row of a dataset or a tree. */
export type Annotation = {
  readonly __typename?: 'Annotation';
  /** Its id. */
  readonly id: Scalars['ID']['output'];
  /** What is annotated. */
  readonly kind: AnnotatedKind;
  /** The id of the tree. */
  readonly treeId: Scalars['ID']['output'];
  /** The tree that it belongs to. */
  readonly tree?: Maybe<Tree>;
  /** The id of the run. */
  readonly runId: Scalars['ID']['output'];
  /** The run that it belongs to. */
  readonly run?: Maybe<Run>;
  /** The id of the step; null where none is annotated. */
  readonly stepId?: Maybe<Scalars['ID']['output']>;
  /** The step. */
  readonly step?: Maybe<Step>;
  /** The id of the rollout; null where none is annotated. */
  readonly rolloutId?: Maybe<Scalars['ID']['output']>;
  /** The rollout. */
  readonly rollout?: Maybe<Rollout>;
  /** The id of the revision; null where none is annotated. */
  readonly revisionId?: Maybe<Scalars['ID']['output']>;
  /** The revision. */
  readonly revision?: Maybe<Revision>;
  /** The id of the dataset; null where no row is annotated. */
  readonly datasetId?: Maybe<Scalars['ID']['output']>;
  /** The dataset of the row. */
  readonly dataset?: Maybe<Dataset>;
  /** The first line of the row in its file. */
  readonly line?: Maybe<Scalars['Int']['output']>;
  /** The label; null without one. */
  readonly label?: Maybe<Scalars['String']['output']>;
  /** The score; null without one. */
  readonly score?: Maybe<Scalars['Float']['output']>;
  /** The note; empty without one. */
  readonly note: Scalars['String']['output'];
  /** Who added it: `local`, or `key:` and the id of the API key. Written by the server. */
  readonly principal: Scalars['String']['output'];
  /** The name of that key; `local` without one, null where the key is not known here. */
  readonly author?: Maybe<Scalars['String']['output']>;
  /** When it was added. */
  readonly addedAt: Scalars['DateTime']['output'];
  /** When it was retracted; null while it counts. */
  readonly retractedAt?: Maybe<Scalars['DateTime']['output']>;
  /** Who retracted it. */
  readonly retractedBy?: Maybe<Scalars['String']['output']>;
  /** Why it was retracted. */
  readonly retractReason?: Maybe<Scalars['String']['output']>;
};

/** What can be annotated. */
export type AnnotatedKind =
  /** A step. */
  | 'step'
  /** A rollout, and the trajectory that it ended. */
  | 'rollout'
  /** A revision. */
  | 'revision'
  /** A row of a released dataset. */
  | 'row'
  /** A tree as a whole. */
  | 'tree';

/** What annotations are chosen by; all parts must hold. */
export type AnnotationFilter = {
  /** The run. */
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  /** The tree. */
  readonly tree?: InputMaybe<Scalars['ID']['input']>;
  /** What is annotated. */
  readonly kind?: InputMaybe<AnnotatedKind>;
  /** The step. */
  readonly step?: InputMaybe<Scalars['ID']['input']>;
  /** The rollout itself, not its steps. */
  readonly rollout?: InputMaybe<Scalars['ID']['input']>;
  /** The revision. */
  readonly revision?: InputMaybe<Scalars['ID']['input']>;
  /** The dataset whose rows are annotated. */
  readonly dataset?: InputMaybe<Scalars['ID']['input']>;
  /** The label. */
  readonly label?: InputMaybe<Scalars['String']['input']>;
  /** Who added it: `local`, or `key:` and the id of the API key. */
  readonly by?: InputMaybe<Scalars['String']['input']>;
  /** The score. */
  readonly score?: InputMaybe<FloatRange>;
  /** Retracted ones too. */
  readonly retracted?: InputMaybe<Scalars['Boolean']['input']>;
};

/** What steps, rollouts, trajectories and samples are annotated with; all parts must hold of one annotation that is not retracted. */
export type AnnotatedFilter = {
  /** false chooses those without such an annotation: what nobody has looked at yet. */
  readonly has?: Scalars['Boolean']['input'];
  /** The label. */
  readonly label?: InputMaybe<Scalars['String']['input']>;
  /** Who added it: `local`, or `key:` and the id of the API key. */
  readonly by?: InputMaybe<Scalars['String']['input']>;
  /** The score. */
  readonly score?: InputMaybe<FloatRange>;
};

/** The order of annotations; equal ones by their id. */
export type AnnotationOrder =
  /** The first added first. */
  | 'ADDED_ASC'
  /** The last added first. */
  | 'ADDED_DESC';

/** A label and how often it was given. */
export type LabelCount = {
  readonly __typename?: 'LabelCount';
  /** The label. */
  readonly label: Scalars['String']['output'];
  /** How many annotations have it that are not retracted. */
  readonly count: Scalars['SafeInt']['output'];
  /** Of their scores the mean; null where none has one. */
  readonly meanScore?: Maybe<Scalars['Float']['output']>;
};

/** A page of annotations. */
export type AnnotationConnection = {
  readonly __typename?: 'AnnotationConnection';
  /** The items with their cursors. */
  readonly edges: ReadonlyArray<AnnotationEdge>;
  /** The items alone. */
  readonly nodes: ReadonlyArray<Annotation>;
  /** Where the page lies. */
  readonly pageInfo: PageInfo;
  /** How many there are in all; it is counted only when asked for. */
  readonly totalCount: Scalars['SafeInt']['output'];
};

/** One of a page of annotations. */
export type AnnotationEdge = {
  readonly __typename?: 'AnnotationEdge';
  /** Its place in the list, for `after` and `before`. It belongs to the ordering it was given in. */
  readonly cursor: Scalars['String']['output'];
  /** The item. */
  readonly node: Annotation;
};

/** What steps are chosen by; all parts must hold. */
export type StepFilter = {
  /** Words of their texts. */
  readonly text?: InputMaybe<TextSearch>;
  /** The run. */
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  /** The tree. */
  readonly tree?: InputMaybe<Scalars['ID']['input']>;
  /** The task. */
  readonly task?: InputMaybe<Scalars['ID']['input']>;
  /** The rollout that took it. */
  readonly rollout?: InputMaybe<Scalars['ID']['input']>;
  /** The environment. */
  readonly environment?: InputMaybe<Scalars['String']['input']>;
  /** The split of the task. */
  readonly split?: InputMaybe<Scalars['String']['input']>;
  /** The depth of the task. */
  readonly taskDepth?: InputMaybe<Scalars['Int']['input']>;
  /** The kind of the task. */
  readonly taskKind?: InputMaybe<Scalars['String']['input']>;
  /** The whole action. */
  readonly action?: InputMaybe<Scalars['String']['input']>;
  /** A tool that was called in it. */
  readonly tool?: InputMaybe<Scalars['String']['input']>;
  /** A reward on the step itself. */
  readonly reward?: InputMaybe<RewardFilter>;
  /** What a judge said of it. */
  readonly verdict?: InputMaybe<Verdict>;
  /** The return of the rollout that took it. */
  readonly return?: InputMaybe<FloatRange>;
  /** What it is annotated with itself. */
  readonly annotated?: InputMaybe<AnnotatedFilter>;
  /** What became of its rollout as a training sample. */
  readonly sampleState?: InputMaybe<SampleState>;
  /** Why its rollout is never trained on. */
  readonly sampleReason?: InputMaybe<Scalars['String']['input']>;
  /** The name of a policy that sampled tokens of it. */
  readonly policy?: InputMaybe<Scalars['String']['input']>;
  /** The version of that policy. */
  readonly policyVersion?: InputMaybe<Scalars['Int']['input']>;
  /** How many actions lead there. */
  readonly depth?: InputMaybe<IntRange>;
  /** Whether the episode ended there. */
  readonly termination?: InputMaybe<Termination>;
  /** The answer had the form that was asked for. */
  readonly wellFormatted?: InputMaybe<Scalars['Boolean']['input']>;
  /** The environment could carry the action out. */
  readonly executable?: InputMaybe<Scalars['Boolean']['input']>;
};

/**
 * Words to search for: `craft stick` finds both, `"oak log"` one behind the other, `craft or smelt` either, `craft -bowl` leaves out; English words are found in every
 * inflection. A text over 64 KiB is not searched.
 */
export type TextSearch = {
  /** The words. */
  readonly words: Scalars['String']['input'];
  /** The texts that must match by themselves, one of them; left out, all three are searched as one. */
  readonly in?: InputMaybe<ReadonlyArray<TextField>>;
};

/** A text of a step that is searched. */
export type TextField =
  /** What the environment answered. */
  | 'observation'
  /** The action that was taken. */
  | 'action'
  /** The part of the answer that is thought. */
  | 'thought';

/** A reward that a step has. */
export type RewardFilter = {
  /** Its component. */
  readonly component?: InputMaybe<Scalars['String']['input']>;
  /** Its value in force. */
  readonly value?: InputMaybe<FloatRange>;
};

/** The order of steps. */
export type StepOrder =
  /** Tree by tree, in each as it grew. Trees come in the order of their ids, which are hashes: every filter can be read page by page in it. */
  | 'TREE'
  /** The first taken first. */
  | 'TAKEN_ASC'
  /** The last taken first. */
  | 'TAKEN_DESC'
  /** Those that most back-ups of a search passed first. */
  | 'VISITS';

/** Where a text of a step holds the words that were searched. */
export type Highlight = {
  readonly __typename?: 'Highlight';
  /** The text. */
  readonly field: TextField;
  /** Fragments of it, with the matches marked. */
  readonly text: Scalars['String']['output'];
};

/** What calls of tools are chosen by; all parts must hold. */
export type ToolCallFilter = {
  /** The tool. */
  readonly tool?: InputMaybe<Scalars['String']['input']>;
  /** Words of its arguments and output, as in `TextSearch`; the filter names a step, a tree, a task or a run with them. */
  readonly text?: InputMaybe<Scalars['String']['input']>;
  /** Whether it worked. */
  readonly outcome?: InputMaybe<ToolOutcome>;
  /** The step. */
  readonly step?: InputMaybe<Scalars['ID']['input']>;
  /** The run. */
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  /** The tree. */
  readonly tree?: InputMaybe<Scalars['ID']['input']>;
  /** The task. */
  readonly task?: InputMaybe<Scalars['ID']['input']>;
  /** The environment. */
  readonly environment?: InputMaybe<Scalars['String']['input']>;
  /** The split of the task. */
  readonly split?: InputMaybe<Scalars['String']['input']>;
  /** The depth of the task. */
  readonly taskDepth?: InputMaybe<Scalars['Int']['input']>;
  /** The kind of the task. */
  readonly taskKind?: InputMaybe<Scalars['String']['input']>;
  /** How long it took, in milliseconds. */
  readonly durationMs?: InputMaybe<FloatRange>;
};

/** The order of tool calls. */
export type ToolCallOrder =
  /** Tree by tree, in the order of their ids. */
  | 'TREE'
  /** The fastest first. */
  | 'DURATION_ASC'
  /** The slowest first. */
  | 'DURATION_DESC';

/** What training samples are chosen by; all parts must hold. */
export type SampleFilter = {
  /** The policy that they train. */
  readonly policy?: InputMaybe<Scalars['String']['input']>;
  /** What became of it. */
  readonly state?: InputMaybe<SampleState>;
  /** Why it is never trained on: `stale`, `no-variance`, … */
  readonly reason?: InputMaybe<Scalars['String']['input']>;
  /** Words of the texts of a step that it took. `steps` with the same words and `rollout` shows where. Words that very many steps hold need a run, a tree or a task. */
  readonly text?: InputMaybe<TextSearch>;
  /** What it, or a step that it took, is annotated with. */
  readonly annotated?: InputMaybe<AnnotatedFilter>;
  /** A version that acted in it, by its oldest and newest span. */
  readonly version?: InputMaybe<Scalars['Int']['input']>;
  /** The run. */
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  /** The tree. */
  readonly tree?: InputMaybe<Scalars['ID']['input']>;
  /** The task. */
  readonly task?: InputMaybe<Scalars['ID']['input']>;
  /** The environment. */
  readonly environment?: InputMaybe<Scalars['String']['input']>;
  /** The split of the task. */
  readonly split?: InputMaybe<Scalars['String']['input']>;
  /** The depth of the task. */
  readonly taskDepth?: InputMaybe<Scalars['Int']['input']>;
  /** The kind of the task. */
  readonly taskKind?: InputMaybe<Scalars['String']['input']>;
};

/** What tasks are chosen by; all parts must hold. */
export type TaskFilter = {
  /** Words of the goal, as in `TextSearch`. */
  readonly text?: InputMaybe<Scalars['String']['input']>;
  /** A run that has trees of it. */
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  /** The environment. */
  readonly environment?: InputMaybe<Scalars['String']['input']>;
  /** The split it belongs to. */
  readonly split?: InputMaybe<Scalars['String']['input']>;
  /** Its depth. */
  readonly taskDepth?: InputMaybe<Scalars['Int']['input']>;
  /** Its kind. */
  readonly kind?: InputMaybe<Scalars['String']['input']>;
};

/** What is summed up; all parts must hold. It names runs, tasks, an environment or a policy: without runs and tasks those runs count that began with the policy and act in the environment. */
export type AggregateFilter = {
  /** These runs, 100 at most. */
  readonly runs?: InputMaybe<ReadonlyArray<Scalars['ID']['input']>>;
  /** These tasks, 100 at most. */
  readonly tasks?: InputMaybe<ReadonlyArray<Scalars['ID']['input']>>;
  /** The environment. */
  readonly environment?: InputMaybe<Scalars['String']['input']>;
  /** The split of the task. */
  readonly split?: InputMaybe<Scalars['String']['input']>;
  /** The depth of the task. */
  readonly taskDepth?: InputMaybe<Scalars['Int']['input']>;
  /** The kind of the task. */
  readonly taskKind?: InputMaybe<Scalars['String']['input']>;
  /** The policy that acted in the rollout. */
  readonly policy?: InputMaybe<Scalars['String']['input']>;
  /** The version of that policy. */
  readonly policyVersion?: InputMaybe<Scalars['Int']['input']>;
};

/** What rollouts are summed up by. */
export type AggregateBy =
  /** The run. */
  | 'RUN'
  /** The task. */
  | 'TASK'
  /** The depth of the task. */
  | 'DEPTH'
  /** The kind of the task: of ALFWorld the six task types, else what the environment names. */
  | 'KIND'
  /** The policy that the rollout began with, and its version. */
  | 'POLICY_VERSION'
  /** The environment. */
  | 'ENVIRONMENT'
  /** The tool: the rollouts that called it, the steps that did, and its calls. A rollout that calls two tools counts for both. */
  | 'TOOL';

/** What a group of rollouts amounts to. Of what groups have in common, the parts that it is not grouped by are null. */
export type Aggregate = {
  readonly __typename?: 'Aggregate';
  /** Names the group: `after` reads on behind it. */
  readonly key: Scalars['String']['output'];
  /** The run. */
  readonly run?: Maybe<Run>;
  /** The id of the task. */
  readonly taskId?: Maybe<Scalars['ID']['output']>;
  /** The depth of the task; null also for tasks without one. */
  readonly taskDepth?: Maybe<Scalars['Int']['output']>;
  /** The kind of the task; null also for tasks without one. */
  readonly taskKind?: Maybe<Scalars['String']['output']>;
  /** The policy and its version. */
  readonly policy?: Maybe<PolicyVersion>;
  /** The environment. */
  readonly environment?: Maybe<Scalars['String']['output']>;
  /** The tool. */
  readonly tool?: Maybe<Scalars['String']['output']>;
  /** The rollouts; by tool, those that called it. */
  readonly rollouts: RolloutSums;
  /** The actions, in a search also those that no rollout took; by tool, those that called it. */
  readonly steps: StepSums;
  /** The calls of tools. */
  readonly tools: ToolSums;
  /** The rewards in force on these steps and rollouts, by component. */
  readonly components: ReadonlyArray<ComponentSums>;
  /** What showing histories as images amounts to, over these steps; by tool, over those that called it. */
  readonly images: ImageTotals;
};

/** The rollouts of a group. Rates and means are null while there is nothing to divide by. */
export type RolloutSums = {
  readonly __typename?: 'RolloutSums';
  /** All of them, also those that go on. */
  readonly rollouts: Scalars['SafeInt']['output'];
  /** Those that are finished. */
  readonly finished: Scalars['SafeInt']['output'];
  /** Those that succeeded. */
  readonly successes: Scalars['SafeInt']['output'];
  /** Successes per finished rollout; null where the environment judges none. */
  readonly successRate?: Maybe<Scalars['Float']['output']>;
  /** The mean return. */
  readonly meanReturn?: Maybe<Scalars['Float']['output']>;
  /** The lowest return. */
  readonly minReturn?: Maybe<Scalars['Float']['output']>;
  /** The highest return. */
  readonly maxReturn?: Maybe<Scalars['Float']['output']>;
  /** The mean steps of a finished one, from where it began. */
  readonly meanSteps?: Maybe<Scalars['Float']['output']>;
};

/** The actions of a group. */
export type StepSums = {
  readonly __typename?: 'StepSums';
  /** How many. */
  readonly steps: Scalars['SafeInt']['output'];
  /** Those whose answer had the form that was asked for. */
  readonly wellFormatted: Scalars['SafeInt']['output'];
  /** Those that the environment could carry out. */
  readonly executable: Scalars['SafeInt']['output'];
  /** Tokens of their prompts, where servers counted them. */
  readonly promptTokens: Scalars['SafeInt']['output'];
  /** Tokens of their answers, where servers counted them. */
  readonly completionTokens: Scalars['SafeInt']['output'];
  /** Milliseconds of waiting for the policy. */
  readonly policyMs: Scalars['Float']['output'];
  /** Milliseconds of waiting for the environment. */
  readonly environmentMs: Scalars['Float']['output'];
};

/** The calls of tools in a group. */
export type ToolSums = {
  readonly __typename?: 'ToolSums';
  /** How many. */
  readonly calls: Scalars['SafeInt']['output'];
  /** Those that did not work. */
  readonly errors: Scalars['SafeInt']['output'];
  /** How long they took together, in milliseconds. */
  readonly durationMs: Scalars['Float']['output'];
};

/** The rewards in force of one component. */
export type ComponentSums = {
  readonly __typename?: 'ComponentSums';
  /** The component. */
  readonly component: Scalars['String']['output'];
  /** How many rewards. */
  readonly rewards: Scalars['SafeInt']['output'];
  /** Their mean. */
  readonly mean: Scalars['Float']['output'];
  /** The lowest. */
  readonly min: Scalars['Float']['output'];
  /** The highest. */
  readonly max: Scalars['Float']['output'];
};

/** How a run does on the tasks that it shares with another one, the baseline. */
export type RunComparison = {
  readonly __typename?: 'RunComparison';
  /** The run. */
  readonly run: Run;
  /** The run that it is compared with. */
  readonly baseline: Run;
  /** The tasks that both have finished rollouts of. */
  readonly tasks: Scalars['Int']['output'];
  /** Tasks of the run that the baseline lacks. */
  readonly unpaired: Scalars['Int']['output'];
  /** By success rate; null where they share no task that the environment judges. */
  readonly success?: Maybe<PairedDifference>;
  /** By mean return; null where they share no task. */
  readonly return?: Maybe<PairedDifference>;
};

/** The mean difference within a task. */
export type PairedDifference = {
  readonly __typename?: 'PairedDifference';
  /** The tasks that are compared. */
  readonly tasks: Scalars['Int']['output'];
  /** The mean over the tasks of the baseline. */
  readonly baselineMean: Scalars['Float']['output'];
  /** The mean over the tasks of the run. */
  readonly mean: Scalars['Float']['output'];
  /** mean − baselineMean. */
  readonly difference: Scalars['Float']['output'];
  /** The interval of the difference; one that does not hold 0 says that they differ. */
  readonly interval: Interval;
  /** Tasks on which the run does better. */
  readonly better: Scalars['Int']['output'];
  /** Tasks on which it does worse. */
  readonly worse: Scalars['Int']['output'];
  /** Tasks on which both do the same. */
  readonly equal: Scalars['Int']['output'];
};

/** Where two trajectories part. */
export type TrajectoryDivergence = {
  readonly __typename?: 'TrajectoryDivergence';
  /** How many actions they share. */
  readonly depth: Scalars['Int']['output'];
  /** What differs first. */
  readonly kind: DivergenceKind;
  /** The last step of the first trajectory up to which both are the same; null where their first observations differ. */
  readonly common?: Maybe<Step>;
  /** The first step of the first trajectory that differs; null where it ended. */
  readonly a?: Maybe<Step>;
  /** The first step of the second trajectory that differs; null where it ended. */
  readonly b?: Maybe<Step>;
};

/** What differs where two trajectories part. */
export type DivergenceKind =
  /** What was done. */
  | 'action'
  /** What was seen behind the same action. */
  | 'observation'
  /** One goes on and the other does not. */
  | 'end';

/** A call that a program made of a model, captured by the proxy or from the spans of a trace. */
export type CapturedCall = {
  readonly __typename?: 'CapturedCall';
  /** Its id. */
  readonly id: Scalars['ID']['output'];
  /** The id of its tree. */
  readonly treeId: Scalars['ID']['output'];
  /** The id of its rollout. */
  readonly rolloutId: Scalars['ID']['output'];
  /** Its rollout; null until that is projected. */
  readonly rollout?: Maybe<Rollout>;
  /** Its number in the rollout, from 0, in the order in which calls began. */
  readonly ordinal: Scalars['Int']['output'];
  /** The id of the step at which it was made. */
  readonly parentStepId: Scalars['ID']['output'];
  /** The id of the step that its reply becomes; null where it becomes none. */
  readonly stepId?: Maybe<Scalars['ID']['output']>;
  /** The step that its reply became; null where it becomes none, or what followed on the reply is not known yet. */
  readonly step?: Maybe<Step>;
  /** path, where it goes on with the conversation of the rollout; branch next to it, as the call of a sub-agent does. */
  readonly place: Scalars['String']['output'];
  /** How it was captured: proxy or trace. */
  readonly source: Scalars['String']['output'];
  /** The protocol: chat.completions, responses. */
  readonly api: Scalars['String']['output'];
  /** answered, failed or cancelled. */
  readonly outcome: Scalars['String']['output'];
  /** The HTTP status of the model server; null where there is none. */
  readonly status?: Maybe<Scalars['Int']['output']>;
  /** What went wrong; empty where nothing did. */
  readonly message: Scalars['String']['output'];
  /** The SHA-256 of the conversation that was sent; null where the request could not be read. */
  readonly promptSha256?: Maybe<Scalars['String']['output']>;
  /** What the model returned; of a cancelled call what had arrived of it. */
  readonly choices: ReadonlyArray<CapturedChoice>;
  /** The request that was answered; null where it was not. */
  readonly call?: Maybe<ModelCall>;
  /** From the request to the first part of the reply, in milliseconds; null where none came, or the whole at once. */
  readonly firstMs?: Maybe<Scalars['Float']['output']>;
  /** From the request to the end of the call, in milliseconds. */
  readonly totalMs: Scalars['Float']['output'];
  /** The agents that made it, the outermost first, where a trace names them. */
  readonly agents: ReadonlyArray<Scalars['String']['output']>;
  /** The attributes of its span that have no field here, as JSON; null where there are none. */
  readonly attributes?: Maybe<Scalars['String']['output']>;
  /** The pictures of its prompt that no observation of the tree holds, in order. */
  readonly pictures: ReadonlyArray<Picture>;
  /** When it was recorded: at its end. */
  readonly occurredAt: Scalars['DateTime']['output'];
};

/** One reply of a model to a captured call. */
export type CapturedChoice = {
  readonly __typename?: 'CapturedChoice';
  /** The message as JSON, as the model server returned it. */
  readonly message: Scalars['String']['output'];
  /** The sampled tokens; null where the server returned none. */
  readonly tokens?: Maybe<CapturedTokens>;
  /** How many tokens were read and written; null where it is not exactly known. */
  readonly usage?: Maybe<Usage>;
  /** Why sampling stopped; null where it is not reported. */
  readonly finishReason?: Maybe<Scalars['String']['output']>;
};

/** The sampled tokens of a captured reply. */
export type CapturedTokens = {
  readonly __typename?: 'CapturedTokens';
  /** The ids. */
  readonly ids: PackedArray;
  /** Their log-probabilities; null where the server returned none. */
  readonly logProbs?: Maybe<PackedArray>;
};

/** A page of captured calls. */
export type CapturedCallConnection = {
  readonly __typename?: 'CapturedCallConnection';
  /** The items with their cursors. */
  readonly edges: ReadonlyArray<CapturedCallEdge>;
  /** The items alone. */
  readonly nodes: ReadonlyArray<CapturedCall>;
  /** Where the page lies. */
  readonly pageInfo: PageInfo;
  /** How many there are in all; it is counted only when asked for. */
  readonly totalCount: Scalars['SafeInt']['output'];
};

/** One of a page of captured calls. */
export type CapturedCallEdge = {
  readonly __typename?: 'CapturedCallEdge';
  /** Its place in the list, for `after` and `before`. */
  readonly cursor: Scalars['String']['output'];
  /** The item. */
  readonly node: CapturedCall;
};

/** A page of experiments. */
export type ExperimentConnection = {
  readonly __typename?: 'ExperimentConnection';
  /** The items with their cursors. */
  readonly edges: ReadonlyArray<ExperimentEdge>;
  /** The items alone. */
  readonly nodes: ReadonlyArray<Experiment>;
  /** Where the page lies. */
  readonly pageInfo: PageInfo;
  /** How many there are in all; it is counted only when asked for. */
  readonly totalCount: Scalars['SafeInt']['output'];
};

/** One of a page of experiments. */
export type ExperimentEdge = {
  readonly __typename?: 'ExperimentEdge';
  /** Its place in the list, for `after` and `before`. It belongs to the ordering it was given in. */
  readonly cursor: Scalars['String']['output'];
  /** The item. */
  readonly node: Experiment;
};

/** A page of runs. */
export type RunConnection = {
  readonly __typename?: 'RunConnection';
  /** The items with their cursors. */
  readonly edges: ReadonlyArray<RunEdge>;
  /** The items alone. */
  readonly nodes: ReadonlyArray<Run>;
  /** Where the page lies. */
  readonly pageInfo: PageInfo;
  /** How many there are in all; it is counted only when asked for. */
  readonly totalCount: Scalars['SafeInt']['output'];
};

/** One of a page of runs. */
export type RunEdge = {
  readonly __typename?: 'RunEdge';
  /** Its place in the list, for `after` and `before`. It belongs to the ordering it was given in. */
  readonly cursor: Scalars['String']['output'];
  /** The item. */
  readonly node: Run;
};

/** A page of trees. */
export type TreeConnection = {
  readonly __typename?: 'TreeConnection';
  /** The items with their cursors. */
  readonly edges: ReadonlyArray<TreeEdge>;
  /** The items alone. */
  readonly nodes: ReadonlyArray<Tree>;
  /** Where the page lies. */
  readonly pageInfo: PageInfo;
  /** How many there are in all; it is counted only when asked for. */
  readonly totalCount: Scalars['SafeInt']['output'];
};

/** One of a page of trees. */
export type TreeEdge = {
  readonly __typename?: 'TreeEdge';
  /** Its place in the list, for `after` and `before`. It belongs to the ordering it was given in. */
  readonly cursor: Scalars['String']['output'];
  /** The item. */
  readonly node: Tree;
};

/** A page of rollouts. */
export type RolloutConnection = {
  readonly __typename?: 'RolloutConnection';
  /** The items with their cursors. */
  readonly edges: ReadonlyArray<RolloutEdge>;
  /** The items alone. */
  readonly nodes: ReadonlyArray<Rollout>;
  /** Where the page lies. */
  readonly pageInfo: PageInfo;
  /** How many there are in all; it is counted only when asked for. */
  readonly totalCount: Scalars['SafeInt']['output'];
};

/** One of a page of rollouts. */
export type RolloutEdge = {
  readonly __typename?: 'RolloutEdge';
  /** Its place in the list, for `after` and `before`. It belongs to the ordering it was given in. */
  readonly cursor: Scalars['String']['output'];
  /** The item. */
  readonly node: Rollout;
};

/** A page of trajectories. */
export type TrajectoryConnection = {
  readonly __typename?: 'TrajectoryConnection';
  /** The items with their cursors. */
  readonly edges: ReadonlyArray<TrajectoryEdge>;
  /** The items alone. */
  readonly nodes: ReadonlyArray<Trajectory>;
  /** Where the page lies. */
  readonly pageInfo: PageInfo;
  /** How many there are in all; it is counted only when asked for. */
  readonly totalCount: Scalars['SafeInt']['output'];
};

/** One of a page of trajectories. */
export type TrajectoryEdge = {
  readonly __typename?: 'TrajectoryEdge';
  /** Its place in the list, for `after` and `before`. It belongs to the ordering it was given in. */
  readonly cursor: Scalars['String']['output'];
  /** The item. */
  readonly node: Trajectory;
};

/** A page of anomalies. */
export type AnomalyConnection = {
  readonly __typename?: 'AnomalyConnection';
  /** The items with their cursors. */
  readonly edges: ReadonlyArray<AnomalyEdge>;
  /** The items alone. */
  readonly nodes: ReadonlyArray<Anomaly>;
  /** Where the page lies. */
  readonly pageInfo: PageInfo;
  /** How many there are in all; it is counted only when asked for. */
  readonly totalCount: Scalars['SafeInt']['output'];
};

/** One of a page of anomalies. */
export type AnomalyEdge = {
  readonly __typename?: 'AnomalyEdge';
  /** Its place in the list, for `after` and `before`. It belongs to the ordering it was given in. */
  readonly cursor: Scalars['String']['output'];
  /** The item. */
  readonly node: Anomaly;
};

/** A page of quarantined records. */
export type QuarantineConnection = {
  readonly __typename?: 'QuarantineConnection';
  /** The items with their cursors. */
  readonly edges: ReadonlyArray<QuarantineEdge>;
  /** The items alone. */
  readonly nodes: ReadonlyArray<QuarantinedRecord>;
  /** Where the page lies. */
  readonly pageInfo: PageInfo;
  /** How many there are in all; it is counted only when asked for. */
  readonly totalCount: Scalars['SafeInt']['output'];
};

/** One of a page of quarantined records. */
export type QuarantineEdge = {
  readonly __typename?: 'QuarantineEdge';
  /** Its place in the list, for `after` and `before`. It belongs to the ordering it was given in. */
  readonly cursor: Scalars['String']['output'];
  /** The item. */
  readonly node: QuarantinedRecord;
};

/** A page of replays. */
export type ReplayConnection = {
  readonly __typename?: 'ReplayConnection';
  /** The items with their cursors. */
  readonly edges: ReadonlyArray<ReplayEdge>;
  /** The items alone. */
  readonly nodes: ReadonlyArray<Replay>;
  /** Where the page lies. */
  readonly pageInfo: PageInfo;
  /** How many there are in all; it is counted only when asked for. */
  readonly totalCount: Scalars['SafeInt']['output'];
};

/** One of a page of replays. */
export type ReplayEdge = {
  readonly __typename?: 'ReplayEdge';
  /** Its place in the list, for `after` and `before`. It belongs to the ordering it was given in. */
  readonly cursor: Scalars['String']['output'];
  /** The item. */
  readonly node: Replay;
};

/** A page of revisions. */
export type RevisionConnection = {
  readonly __typename?: 'RevisionConnection';
  /** The items with their cursors. */
  readonly edges: ReadonlyArray<RevisionEdge>;
  /** The items alone. */
  readonly nodes: ReadonlyArray<Revision>;
  /** Where the page lies. */
  readonly pageInfo: PageInfo;
  /** How many there are in all; it is counted only when asked for. */
  readonly totalCount: Scalars['SafeInt']['output'];
};

/** One of a page of revisions. */
export type RevisionEdge = {
  readonly __typename?: 'RevisionEdge';
  /** Its place in the list, for `after` and `before`. It belongs to the ordering it was given in. */
  readonly cursor: Scalars['String']['output'];
  /** The item. */
  readonly node: Revision;
};

/** A page of datasets. */
export type DatasetConnection = {
  readonly __typename?: 'DatasetConnection';
  /** The items with their cursors. */
  readonly edges: ReadonlyArray<DatasetEdge>;
  /** The items alone. */
  readonly nodes: ReadonlyArray<Dataset>;
  /** Where the page lies. */
  readonly pageInfo: PageInfo;
  /** How many there are in all; it is counted only when asked for. */
  readonly totalCount: Scalars['SafeInt']['output'];
};

/** One of a page of datasets. */
export type DatasetEdge = {
  readonly __typename?: 'DatasetEdge';
  /** Its place in the list, for `after` and `before`. It belongs to the ordering it was given in. */
  readonly cursor: Scalars['String']['output'];
  /** The item. */
  readonly node: Dataset;
};

/** A page of examples of a dataset. */
export type DatasetExampleConnection = {
  readonly __typename?: 'DatasetExampleConnection';
  /** The items with their cursors. */
  readonly edges: ReadonlyArray<DatasetExampleEdge>;
  /** The items alone. */
  readonly nodes: ReadonlyArray<DatasetExample>;
  /** Where the page lies. */
  readonly pageInfo: PageInfo;
  /** How many there are in all; it is counted only when asked for. */
  readonly totalCount: Scalars['SafeInt']['output'];
};

/** One of a page of examples of a dataset. */
export type DatasetExampleEdge = {
  readonly __typename?: 'DatasetExampleEdge';
  /** Its place in the list, for `after` and `before`. It belongs to the ordering it was given in. */
  readonly cursor: Scalars['String']['output'];
  /** The item. */
  readonly node: DatasetExample;
};

/** A page of versions of a policy. */
export type PolicyUpdateConnection = {
  readonly __typename?: 'PolicyUpdateConnection';
  /** The items with their cursors. */
  readonly edges: ReadonlyArray<PolicyUpdateEdge>;
  /** The items alone. */
  readonly nodes: ReadonlyArray<PolicyUpdate>;
  /** Where the page lies. */
  readonly pageInfo: PageInfo;
  /** How many there are in all; it is counted only when asked for. */
  readonly totalCount: Scalars['SafeInt']['output'];
};

/** One of a page of versions of a policy. */
export type PolicyUpdateEdge = {
  readonly __typename?: 'PolicyUpdateEdge';
  /** Its place in the list, for `after` and `before`. It belongs to the ordering it was given in. */
  readonly cursor: Scalars['String']['output'];
  /** The item. */
  readonly node: PolicyUpdate;
};

/** A page of batches. */
export type BatchConnection = {
  readonly __typename?: 'BatchConnection';
  /** The items with their cursors. */
  readonly edges: ReadonlyArray<BatchEdge>;
  /** The items alone. */
  readonly nodes: ReadonlyArray<Batch>;
  /** Where the page lies. */
  readonly pageInfo: PageInfo;
  /** How many there are in all; it is counted only when asked for. */
  readonly totalCount: Scalars['SafeInt']['output'];
};

/** One of a page of batches. */
export type BatchEdge = {
  readonly __typename?: 'BatchEdge';
  /** Its place in the list, for `after` and `before`. It belongs to the ordering it was given in. */
  readonly cursor: Scalars['String']['output'];
  /** The item. */
  readonly node: Batch;
};

/** A page of steps. */
export type StepConnection = {
  readonly __typename?: 'StepConnection';
  /** The items with their cursors. */
  readonly edges: ReadonlyArray<StepEdge>;
  /** The items alone. */
  readonly nodes: ReadonlyArray<Step>;
  /** Where the page lies. */
  readonly pageInfo: PageInfo;
  /** How many there are in all; it is counted only when asked for. Of words that more than 30,000 steps hold it is refused with UNAVAILABLE. */
  readonly totalCount: Scalars['SafeInt']['output'];
  /** How many there are, counted up to a number, 10,000 at most: what a large record is asked. A search of texts counts what one page finds. */
  readonly count: BoundedCount;
};


/** A page of steps. */
export type StepConnectionCountArgs = {
  upTo?: Scalars['Int']['input'];
};

/** A count that ends at a number. */
export type BoundedCount = {
  readonly __typename?: 'BoundedCount';
  /** How many were counted. */
  readonly count: Scalars['SafeInt']['output'];
  /** Whether these are all; else there may be more. */
  readonly complete: Scalars['Boolean']['output'];
};

/** One of a page of steps. */
export type StepEdge = {
  readonly __typename?: 'StepEdge';
  /** Its place in the list, for `after` and `before`. It belongs to the ordering it was given in. */
  readonly cursor: Scalars['String']['output'];
  /** The item. */
  readonly node: Step;
  /** Where its texts hold the words that were searched, each match between `open` and `close`; empty where none were, and for a text over 64 KiB. */
  readonly highlights: ReadonlyArray<Highlight>;
};


/** One of a page of steps. */
export type StepEdgeHighlightsArgs = {
  open?: Scalars['String']['input'];
  close?: Scalars['String']['input'];
};

/** A page of tool calls. */
export type ToolCallConnection = {
  readonly __typename?: 'ToolCallConnection';
  /** The items with their cursors. */
  readonly edges: ReadonlyArray<ToolCallEdge>;
  /** The items alone. */
  readonly nodes: ReadonlyArray<ToolCall>;
  /** Where the page lies. */
  readonly pageInfo: PageInfo;
  /** How many there are in all; it is counted only when asked for. */
  readonly totalCount: Scalars['SafeInt']['output'];
  /** How many there are, counted up to a number, 10,000 at most: what a large record is asked. A search of texts counts what one page finds. */
  readonly count: BoundedCount;
};


/** A page of tool calls. */
export type ToolCallConnectionCountArgs = {
  upTo?: Scalars['Int']['input'];
};

/** One of a page of tool calls. */
export type ToolCallEdge = {
  readonly __typename?: 'ToolCallEdge';
  /** Its place in the list, for `after` and `before`. It belongs to the ordering it was given in. */
  readonly cursor: Scalars['String']['output'];
  /** The item. */
  readonly node: ToolCall;
};

/** A page of training samples. */
export type TrainingSampleConnection = {
  readonly __typename?: 'TrainingSampleConnection';
  /** The items with their cursors. */
  readonly edges: ReadonlyArray<TrainingSampleEdge>;
  /** The items alone. */
  readonly nodes: ReadonlyArray<TrainingSample>;
  /** Where the page lies. */
  readonly pageInfo: PageInfo;
  /** How many there are in all; it is counted only when asked for. */
  readonly totalCount: Scalars['SafeInt']['output'];
  /** How many there are, counted up to a number, 10,000 at most: what a large record is asked. A search of texts counts what one page finds. */
  readonly count: BoundedCount;
};


/** A page of training samples. */
export type TrainingSampleConnectionCountArgs = {
  upTo?: Scalars['Int']['input'];
};

/** One of a page of training samples. */
export type TrainingSampleEdge = {
  readonly __typename?: 'TrainingSampleEdge';
  /** Its place in the list, for `after` and `before`. It belongs to the ordering it was given in. */
  readonly cursor: Scalars['String']['output'];
  /** The item. */
  readonly node: TrainingSample;
};

/** A page of tasks. */
export type TaskConnection = {
  readonly __typename?: 'TaskConnection';
  /** The items with their cursors. */
  readonly edges: ReadonlyArray<TaskEdge>;
  /** The items alone. */
  readonly nodes: ReadonlyArray<Task>;
  /** Where the page lies. */
  readonly pageInfo: PageInfo;
  /** How many there are in all; it is counted only when asked for. */
  readonly totalCount: Scalars['SafeInt']['output'];
};

/** One of a page of tasks. */
export type TaskEdge = {
  readonly __typename?: 'TaskEdge';
  /** Its place in the list, for `after` and `before`. It belongs to the ordering it was given in. */
  readonly cursor: Scalars['String']['output'];
  /** The item. */
  readonly node: Task;
};

/** Training data that was frozen under a name and a version: the file, how it was made, and what each of its examples was made of. */
export type Dataset = {
  readonly __typename?: 'Dataset';
  /** Its id, which follows from its name and version. */
  readonly id: Scalars['ID']['output'];
  /** Its name. */
  readonly name: Scalars['String']['output'];
  /** Its version under that name, from 1: other content is another version. */
  readonly version: Scalars['Int']['output'];
  /** The format of the file: agent-r, xtuner, sharegpt, openai, trl or dpo. */
  readonly format: Scalars['String']['output'];
  /** The version of that format. */
  readonly formatVersion: Scalars['Int']['output'];
  /** The filter by which trajectories were chosen. */
  readonly query: Scalars['JSON']['output'];
  /** What was made of them: data, thresholds, gates, general data mixed in. */
  readonly parameters: Scalars['JSON']['output'];
  /** The log position of each projection that was read, by name@version. */
  readonly position: Scalars['JSON']['output'];
  /** What it holds, and what its gates kept out. */
  readonly counts: Scalars['JSON']['output'];
  /** The size of the file. */
  readonly bytes: Scalars['SafeInt']['output'];
  /** The SHA-256 of the file: equal content under one name is one release. */
  readonly sha256: Scalars['String']['output'];
  /** The program that wrote it. */
  readonly codeVersion: Scalars['String']['output'];
  /** When it was released. */
  readonly releasedAt: Scalars['DateTime']['output'];
  /** When it was withdrawn: it must not be trained on any more; null while it may. */
  readonly withdrawnAt?: Maybe<Scalars['DateTime']['output']>;
  /** Why it was withdrawn. */
  readonly withdrawReason?: Maybe<Scalars['String']['output']>;
  /** The runs that its examples come from. */
  readonly runs: ReadonlyArray<Run>;
  /** The policy versions that acted in its trajectories. */
  readonly policies: ReadonlyArray<PolicyVersion>;
  /** What the policies achieved that were trained on it, in that iteration or an earlier one. */
  readonly evaluations: ReadonlyArray<Evaluation>;
  /** Its examples in the order of its lines, with what they were made of. Empty for a release older than that record; the same release command again adds it. */
  readonly examples: DatasetExampleConnection;
  /** The trees that its examples were made of. */
  readonly trees: TreeConnection;
  /** The trajectories that its examples were made of, good ones and bad ones. */
  readonly trajectories: TrajectoryConnection;
  /** The revisions among its examples. */
  readonly revisions: RevisionConnection;
};


/** Training data that was frozen under a name and a version: the file, how it was made, and what each of its examples was made of. */
export type DatasetExamplesArgs = {
  filter?: InputMaybe<DatasetExampleFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** Training data that was frozen under a name and a version: the file, how it was made, and what each of its examples was made of. */
export type DatasetTreesArgs = {
  filter?: InputMaybe<TreeFilter>;
  orderBy?: TreeOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** Training data that was frozen under a name and a version: the file, how it was made, and what each of its examples was made of. */
export type DatasetTrajectoriesArgs = {
  filter?: InputMaybe<TrajectoryFilter>;
  orderBy?: TrajectoryOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** Training data that was frozen under a name and a version: the file, how it was made, and what each of its examples was made of. */
export type DatasetRevisionsArgs = {
  filter?: InputMaybe<RevisionFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};

/** An example of a dataset and the record that it was made of. */
export type DatasetExample = {
  readonly __typename?: 'DatasetExample';
  /** Its first line in the file, from 1. */
  readonly line: Scalars['Int']['output'];
  /** How many lines it takes. */
  readonly lines: Scalars['Int']['output'];
  /** What it is. */
  readonly kind: DatasetExampleKind;
  /** The id of its tree. */
  readonly treeId: Scalars['ID']['output'];
  /** Its tree. */
  readonly tree?: Maybe<Tree>;
  /** The good trajectory. */
  readonly trajectory?: Maybe<Trajectory>;
  /** The bad trajectory; null for a good example. */
  readonly badTrajectory?: Maybe<Trajectory>;
  /** The revision; null for another kind. */
  readonly revision?: Maybe<Revision>;
  /** What was said of the row, in the order in which it was added; without what was retracted. */
  readonly annotations: ReadonlyArray<Annotation>;
  /** Its lines, made again from the record by the format and the parameters of the release. */
  readonly text: ExampleText;
};


/** An example of a dataset and the record that it was made of. */
export type DatasetExampleTextArgs = {
  characters?: Scalars['Int']['input'];
};

/** The lines of an example. */
export type ExampleText = {
  readonly __typename?: 'ExampleText';
  /** The beginning of the lines: JSON, one a line. */
  readonly text: Scalars['String']['output'];
  /** How many characters all of them have. */
  readonly length: Scalars['SafeInt']['output'];
};

/** What an example is. */
export type DatasetExampleKind =
  /** A good trajectory. */
  | 'good'
  /** A revision trajectory. */
  | 'revision'
  /** A good and a bad trajectory side by side. */
  | 'pair';

/** What datasets are chosen by; all parts must hold. */
export type DatasetFilter = {
  /** The name. */
  readonly name?: InputMaybe<Scalars['String']['input']>;
  /** The format. */
  readonly format?: InputMaybe<Scalars['String']['input']>;
  /** It is withdrawn (true) or may be trained on (false). */
  readonly withdrawn?: InputMaybe<Scalars['Boolean']['input']>;
  /** Examples of it come from this run. */
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  /** Examples of it were made of this tree. */
  readonly tree?: InputMaybe<Scalars['ID']['input']>;
  /** Examples of it were made of the trajectory of this rollout, as the good or the bad one. */
  readonly rollout?: InputMaybe<Scalars['ID']['input']>;
  /** It holds this revision. */
  readonly revision?: InputMaybe<Scalars['ID']['input']>;
};

/** What examples are chosen by; all parts must hold. */
export type DatasetExampleFilter = {
  /** What they are. */
  readonly kind?: InputMaybe<DatasetExampleKind>;
  /** The tree. */
  readonly tree?: InputMaybe<Scalars['ID']['input']>;
  /** The revision. */
  readonly revision?: InputMaybe<Scalars['ID']['input']>;
  /** Its first line in the file. */
  readonly line?: InputMaybe<Scalars['Int']['input']>;
};

/** The order of datasets; equal ones by their id. */
export type DatasetOrder =
  /** The first released first. */
  | 'RELEASED_ASC'
  /** The last released first. */
  | 'RELEASED_DESC';

/** Which rewards a computation takes. */
export type RewardsOf =
  /** Those in force now. */
  | 'now'
  /** Those that the batch was trained on: as of the position that its update names. Where an update names none, and before there is one: at the position of the plan. */
  | 'trained';

/** What the estimator sees of a batch, and what it makes of it: computed when it is asked for, by the functions that the trainer calls. Nothing of it is stored. */
export type BatchEstimates = {
  readonly __typename?: 'BatchEstimates';
  /** The estimator as the update recorded it, or as the plan did before there is an update; null where no advantage is estimated. */
  readonly estimator?: Maybe<TrainingMethod>;
  /** What the estimator takes for a token; null where there are no advantages. */
  readonly grain?: Maybe<EstimateGrain>;
  /** Why there are no advantages; null where there are. */
  readonly reason?: Maybe<Scalars['String']['output']>;
  /** The position in the log of the rewards. */
  readonly rewardsAt: Scalars['String']['output'];
  /** Whether mean return, mean and deviation of the advantages are those that the update measured, to nine digits; null where it measured none of them. False after a reward was revised: ask for `trained`. */
  readonly agrees?: Maybe<Scalars['Boolean']['output']>;
  /** How many samples. */
  readonly sampleCount: Scalars['Int']['output'];
  /** Its samples in the order of the batch, `first` of them from the place `from` on. */
  readonly samples: ReadonlyArray<SampleEstimate>;
};


/** What the estimator sees of a batch, and what it makes of it: computed when it is asked for, by the functions that the trainer calls. Nothing of it is stored. */
export type BatchEstimatesSamplesArgs = {
  from?: Scalars['Int']['input'];
  first?: Scalars['Int']['input'];
};

/** What an estimator takes for a token. */
export type EstimateGrain =
  /** A whole step: policies that choose among actions. */
  | 'step'
  /** Each token that a policy sampled. */
  | 'token';

/** A sample as its estimator sees it. */
export type SampleEstimate = {
  readonly __typename?: 'SampleEstimate';
  /** Its rollout. */
  readonly rollout?: Maybe<Rollout>;
  /** Its group: the tree whose other samples it is compared with. */
  readonly group?: Maybe<Tree>;
  /** Its place in its batch. */
  readonly place: Scalars['Int']['output'];
  /** All rewards of its own steps and of it as a whole; steps that an earlier rollout took are its context and count for nothing. */
  readonly return: Scalars['Float']['output'];
  /** The rewards on the whole rollout; the estimator sees them on the last step. */
  readonly rewards: ReadonlyArray<EstimateReward>;
  /** The mean over its tokens; null without advantages. */
  readonly advantage?: Maybe<Scalars['Float']['output']>;
  /** Versions between its oldest span and the version that its batch was planned on. */
  readonly staleness?: Maybe<Scalars['Int']['output']>;
  /** Its own steps, the first one first. */
  readonly steps: ReadonlyArray<StepEstimate>;
};

/** A step as its estimator sees it. */
export type StepEstimate = {
  readonly __typename?: 'StepEstimate';
  /** The step. */
  readonly step?: Maybe<Step>;
  /** The step's place in its rollout, from 0. */
  readonly number: Scalars['Int']['output'];
  /** The rewards on the step. */
  readonly rewards: ReadonlyArray<EstimateReward>;
  /** The sum that the estimator sees: on the last step those of the whole rollout are in it. */
  readonly reward: Scalars['Float']['output'];
  /** The hash of the state before the step: estimators that compare steps compare those of one state. */
  readonly anchor?: Maybe<Scalars['String']['output']>;
  /** Tokens recorded with the step; null where none are. */
  readonly tokenCount?: Maybe<Scalars['Int']['output']>;
  /** Those of them that a policy sampled: the length of the loss mask. */
  readonly maskLength?: Maybe<Scalars['Int']['output']>;
  /** The sum of the log-probs that were recorded for them; null where none are. */
  readonly logProb?: Maybe<Scalars['Float']['output']>;
  /** Versions between its oldest span and the version that its batch was planned on. */
  readonly staleness?: Maybe<Scalars['Int']['output']>;
  /** The critic's value of the state before the step; null where the estimator has no critic. */
  readonly value?: Maybe<Scalars['Float']['output']>;
  /** The critic's value of the state after a step that a limit cut off, 0 after others; null without a critic. */
  readonly bootstrap?: Maybe<Scalars['Float']['output']>;
  /** What the estimator has a critic learn here: the return from here on. Null without advantages. */
  readonly target?: Maybe<Scalars['Float']['output']>;
  /** The mean over its tokens; null without advantages. */
  readonly advantage?: Maybe<Scalars['Float']['output']>;
  /** The probability of what was sampled by the versions before and after the update, computed again from their weights: of linear policies; null for others, which only their trainer's model reads. */
  readonly readAgain?: Maybe<StepReadAgain>;
  /** Of each sampled token by the version that resulted, as its trainer recorded them with the update; null where it recorded none. */
  readonly newLogProbs?: Maybe<ReadonlyArray<Scalars['Float']['output']>>;
  /** Of each sampled token; null where all of them have `advantage`. */
  readonly tokenAdvantages?: Maybe<ReadonlyArray<Scalars['Float']['output']>>;
};

/** A step as two versions read it: old against new. A version is null where there is none yet, or its weights are not kept here. */
export type StepReadAgain = {
  readonly __typename?: 'StepReadAgain';
  /** The version that was trained on it. */
  readonly before?: Maybe<StepReading>;
  /** The version that resulted. */
  readonly after?: Maybe<StepReading>;
};

/** The probability of what a step sampled, by a version. */
export type StepReading = {
  readonly __typename?: 'StepReading';
  /** Its log-probability. */
  readonly logProb: Scalars['Float']['output'];
  /** The entropy of the distribution that it was chosen from, in nats. */
  readonly entropy: Scalars['Float']['output'];
};

/** A reward as it was when it was counted. */
export type EstimateReward = {
  readonly __typename?: 'EstimateReward';
  /** What it is about. */
  readonly component: Scalars['String']['output'];
  /** The judgement. */
  readonly value: Scalars['Float']['output'];
  /** What a unit of the component counts in its batch. */
  readonly weight: Scalars['Float']['output'];
  /** Who judged. */
  readonly scorer: Scorer;
};

/** How much of a batch one version of a policy did. */
export type BatchActor = {
  readonly __typename?: 'BatchActor';
  /** The version that acted. */
  readonly policy: PolicyVersion;
  /** Samples that hold something of it. */
  readonly samples: Scalars['Int']['output'];
  /** Steps that hold something of it. */
  readonly steps: Scalars['SafeInt']['output'];
  /** Tokens that it sampled. */
  readonly tokens: Scalars['SafeInt']['output'];
};

/** What a policy achieved on a set of tasks: measured from the rollouts of a run, and recorded at its end. */
export type Evaluation = {
  readonly __typename?: 'Evaluation';
  /** The run of the rollouts. */
  readonly run?: Maybe<Run>;
  /** The policy that was measured. */
  readonly policy: PolicyVersion;
  /** The environment of the tasks. */
  readonly environment: Scalars['String']['output'];
  /** The split that the tasks were taken from; null when they were not chosen by one. */
  readonly split?: Maybe<Scalars['String']['output']>;
  /** How many tasks. */
  readonly tasks: Scalars['SafeInt']['output'];
  /** How many episodes, all tasks together. */
  readonly episodes: Scalars['SafeInt']['output'];
  /** Trees that were closed as failed: the environment did not repeat what was recorded in them, and what they lack is not measured. */
  readonly failedTrees: Scalars['SafeInt']['output'];
  /** The mean return of an episode. */
  readonly meanReturn: Scalars['Float']['output'];
  /** Where the mean return lies, by bootstrap over the tasks. */
  readonly returnInterval: Interval;
  /** The share of episodes that succeeded. */
  readonly successRate: Scalars['Float']['output'];
  /** Where the success rate lies, by bootstrap over the tasks. */
  readonly successInterval: Interval;
  /** The share of resamples inside the intervals, such as 0.95. */
  readonly confidence: Scalars['Float']['output'];
  /** The mean number of actions of an episode. */
  readonly meanSteps: Scalars['Float']['output'];
  /** How often sequences of actions are repeated on the spot. */
  readonly repeatedActions: ReadonlyArray<RepeatedActions>;
  /** Success by the depth of the tasks, shallow first. */
  readonly byDepth: ReadonlyArray<EvaluatedDepth>;
  /** The run whose failed rollouts the episodes went on behind; null when they began at the first observation. */
  readonly recoveredFrom?: Maybe<Run>;
  /** The data that the policy was trained on, where this platform trained it. */
  readonly trained?: Maybe<TrainedOn>;
  /** When it was recorded. */
  readonly finishedAt: Scalars['DateTime']['output'];
};

/** An interval of a mean. */
export type Interval = {
  readonly __typename?: 'Interval';
  /** Its lower end. */
  readonly low: Scalars['Float']['output'];
  /** Its upper end. */
  readonly high: Scalars['Float']['output'];
};

/** Loops of one length. */
export type RepeatedActions = {
  readonly __typename?: 'RepeatedActions';
  /** The number of actions in the sequence. */
  readonly length: Scalars['Int']['output'];
  /** The mean count of its repetitions in an episode. */
  readonly perEpisode: Scalars['Float']['output'];
};

/** Success on the tasks of one depth. */
export type EvaluatedDepth = {
  readonly __typename?: 'EvaluatedDepth';
  /** The depth of the tasks; null for those without one. */
  readonly taskDepth?: Maybe<Scalars['Int']['output']>;
  /** Episodes on such tasks. */
  readonly episodes: Scalars['SafeInt']['output'];
  /** Those that succeeded. */
  readonly successes: Scalars['SafeInt']['output'];
};

/** The data that a policy was trained on. */
export type TrainedOn = {
  readonly __typename?: 'TrainedOn';
  /** What kind of data: good-only, direct, agent-r. */
  readonly method: Scalars['String']['output'];
  /** The iteration of self-training. */
  readonly iteration: Scalars['Int']['output'];
  /** The SHA-256 of the weights. */
  readonly weights: Scalars['String']['output'];
  /** The runs whose trajectories it learned from, all iterations together. */
  readonly runs: ReadonlyArray<Run>;
  /** The releases that it was trained on, one after the other; the last one made this version. Empty where they were not named. */
  readonly datasets: ReadonlyArray<Dataset>;
  /** Good trajectories of the last iteration. */
  readonly good: Scalars['SafeInt']['output'];
  /** Revisions of the last iteration. */
  readonly revisions: Scalars['SafeInt']['output'];
  /** The mean number of steps that a judge looked at for a revision of the last iteration; null where none was judged. */
  readonly revisionLength?: Maybe<Scalars['Float']['output']>;
  /** Actions with loss of the last iteration. */
  readonly actions: Scalars['SafeInt']['output'];
};

/** A question, which runs answer. */
export type Experiment = {
  readonly __typename?: 'Experiment';
  /** Its id. */
  readonly id: Scalars['ID']['output'];
  /** Its name. */
  readonly name: Scalars['String']['output'];
  /** What it asks. */
  readonly question: Scalars['String']['output'];
  /** When it was declared. */
  readonly declaredAt: Scalars['DateTime']['output'];
  /** What it declared: stages, arms, repetitions; null for one that declared no stages. */
  readonly declaration?: Maybe<Scalars['JSON']['output']>;
  /** Why this version of Espalier cannot run what it declared; null where it can, and for one that declared no stages. */
  readonly refused?: Maybe<Scalars['String']['output']>;
  /** The experiment that it repeats with some options changed; null for one that repeats none. */
  readonly rerunOf?: Maybe<Experiment>;
  /** The stages that completed, each arm and repetition counted by itself. */
  readonly completedStages: Scalars['SafeInt']['output'];
  /** How often a stage failed. */
  readonly failedStages: Scalars['SafeInt']['output'];
  /** Its arms, in the order in which they were declared; none where it declared no stages. Where it cannot be run, those that have stages on record. */
  readonly arms: ReadonlyArray<ExperimentArm>;
  /** What its arms came to, stage by stage that measures them, each next to the arm that it is compared with: of a rerun the same arm before, else the baseline. */
  readonly comparison: ReadonlyArray<ArmResult>;
  /** The runs that were started for it, and those that its stages trained by, forked, imported or reused. */
  readonly runs: RunConnection;
};


/** A question, which runs answer. */
export type ExperimentRunsArgs = {
  filter?: InputMaybe<RunFilter>;
  orderBy?: RunOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};

/** An arm of an experiment: what differs in it, and the stages that it needs. */
export type ExperimentArm = {
  readonly __typename?: 'ExperimentArm';
  /** Its name. */
  readonly name: Scalars['String']['output'];
  /** Whether the other arms are compared with it. */
  readonly isBaseline: Scalars['Boolean']['output'];
  /** The options that differ in it, by stage. */
  readonly overrides: Scalars['JSON']['output'];
  /** The seeds of its repetitions. */
  readonly repetitions: ReadonlyArray<Scalars['SafeInt']['output']>;
  /** Its stages, repetition by repetition, each behind those that it uses. */
  readonly stages: ReadonlyArray<ExperimentStage>;
};

/** A stage of an experiment, in one arm and one repetition. */
export type ExperimentStage = {
  readonly __typename?: 'ExperimentStage';
  /** Its name. */
  readonly name: Scalars['String']['output'];
  /** Its kind: `collect`, `search`, `revise`, `release`, `train`, `evaluate`, `self-train`, … */
  readonly kind: Scalars['String']['output'];
  /** The seed of the repetition. */
  readonly seed: Scalars['SafeInt']['output'];
  /** How it ended. */
  readonly state: StageState;
  /** Why it failed; empty otherwise. */
  readonly message: Scalars['String']['output'];
  /** The digest of all that determines it: a stage of the same key is done once. Null while it did not end. */
  readonly key?: Maybe<Scalars['String']['output']>;
  /** When it ended; null while it did not. */
  readonly finishedAt?: Maybe<Scalars['DateTime']['output']>;
  /** The experiment that had done it before; the experiment itself where another arm had. */
  readonly reusedFrom?: Maybe<Experiment>;
  /** The digest of what came out of it; null where it did not complete. */
  readonly digest?: Maybe<Scalars['String']['output']>;
  /** The policy that it trained, as a plan names it. */
  readonly policy?: Maybe<Scalars['String']['output']>;
  /** The judge that it revised by. */
  readonly judge?: Maybe<Scalars['String']['output']>;
  /** The runs that it made or read, the last one that which it is measured by. */
  readonly runs: ReadonlyArray<Run>;
  /** The dataset that it released. */
  readonly dataset?: Maybe<Dataset>;
  /** What it keeps in the blob store: the weights of a policy, the ids of its revisions. */
  readonly kept?: Maybe<StoredContent>;
  /** What was measured and counted in it, by name. */
  readonly values: ReadonlyArray<StageValue>;
};

/** How a stage of an experiment ended. */
export type StageState =
  /** It did not end yet. */
  | 'planned'
  /** It came to an outcome. */
  | 'completed'
  /** It failed, and did not complete since. */
  | 'failed';

/** Content of the blob store, named by its digest. */
export type StoredContent = {
  readonly __typename?: 'StoredContent';
  /** The SHA-256 of its bytes. */
  readonly blob: Scalars['String']['output'];
  /** Bytes. */
  readonly size: Scalars['SafeInt']['output'];
  /** What it is. */
  readonly mediaType: Scalars['String']['output'];
};

/** A number under its name. */
export type StageValue = {
  readonly __typename?: 'StageValue';
  /** Its name. */
  readonly name: Scalars['String']['output'];
  /** Its value. */
  readonly value: Scalars['Float']['output'];
};

/** What an arm came to, as one of its stages measured it. */
export type ArmResult = {
  readonly __typename?: 'ArmResult';
  /** The arm; of a rerun, `ARM (before)` is that of the experiment that is repeated. */
  readonly arm: Scalars['String']['output'];
  /** The stage. */
  readonly stage: Scalars['String']['output'];
  /** Repetitions that were measured. */
  readonly seeds: Scalars['Int']['output'];
  /** Success rate; null where nothing was measured. */
  readonly success?: Maybe<ArmEstimate>;
  /** Return; null where nothing was measured. */
  readonly return?: Maybe<ArmEstimate>;
  /** Means over the repetitions of what the stage recorded. */
  readonly values: ReadonlyArray<StageValue>;
  /** What it has more than the arm that it is compared with; null where there is none, or no pair. */
  readonly difference?: Maybe<ArmDifference>;
};

/** A mean over tasks and repetitions. */
export type ArmEstimate = {
  readonly __typename?: 'ArmEstimate';
  /** The mean. */
  readonly mean: Scalars['Float']['output'];
  /** Its 95 % interval, which draws tasks and repetitions again. */
  readonly interval: Interval;
};

/** The difference of two arms, paired by task and repetition. */
export type ArmDifference = {
  readonly __typename?: 'ArmDifference';
  /** The arm that it is compared with. */
  readonly to: Scalars['String']['output'];
  /** How many pairs. */
  readonly pairs: Scalars['Int']['output'];
  /** Of the success rates. */
  readonly success?: Maybe<ArmEstimate>;
  /** Of the returns. */
  readonly return?: Maybe<ArmEstimate>;
};

/** The order of experiments; equal ones by their id. */
export type ExperimentOrder =
  /** The first declared first. */
  | 'DECLARED_ASC'
  /** The last declared first. */
  | 'DECLARED_DESC';

/** The history that the prompt of a step showed as an image. The image is not stored: `url` draws it again and compares it with `id`. */
export type HistoryImage = {
  readonly __typename?: 'HistoryImage';
  /** The SHA-256 of its size and pixels, in hex. Equal images have equal ids. */
  readonly id: Scalars['ID']['output'];
  /** Where it is served as a PNG, on this server. */
  readonly url: Scalars['String']['output'];
  /** The id of the step whose prompt showed it. */
  readonly stepId: Scalars['ID']['output'];
  /** The step whose prompt showed it; null until it is projected. */
  readonly step?: Maybe<Step>;
  /** Pixels across, the border included: the image as the model was sent it. */
  readonly width: Scalars['Int']['output'];
  /** Pixels down, the border included. */
  readonly height: Scalars['Int']['output'];
  /** All segments on one another, before any resize. */
  readonly raw: ImageSize;
  /** After the resize by the factor. */
  readonly resized: ImageSize;
  /** What the processor of the model makes of it. */
  readonly model: ImageSize;
  /** The compression factor in force, 1 or more: the image has 1 / factor of the raw pixels. */
  readonly factor: Scalars['Float']['output'];
  /** The step whose answer chose the factor; null for the default. */
  readonly factorChosenBy?: Maybe<Step>;
  /** What it costs the model as an image. */
  readonly visionTokens: Scalars['Int']['output'];
  /** The numbers by which the processor of the model fits images: the name of the preset. */
  readonly visionPreset: Scalars['String']['output'];
  /** What the same history costs as text. */
  readonly textTokens: Scalars['Int']['output'];
  /** The tokenizer that counted the text. */
  readonly tokenizer: Scalars['String']['output'];
  /** textTokens − visionTokens: less than 0 where the image costs more. */
  readonly saved: Scalars['Int']['output'];
  /** How many segments the history has. */
  readonly length: Scalars['Int']['output'];
  /** Segments that a cache held. */
  readonly hits: Scalars['Int']['output'];
  /** Segments that had to be drawn. */
  readonly misses: Scalars['Int']['output'];
  /** What it shows: segments; or in their place a history without a character, or none because nothing has happened yet. */
  readonly history: HistoryKind;
  /** Its segments in order, the oldest first. A request reads at most 100,000 of all its images together. */
  readonly segments: ReadonlyArray<HistorySegment>;
  /** Whole segments that a limit on the image left out. */
  readonly cutSegments: Scalars['Int']['output'];
  /** Lines that limits left out. */
  readonly cutLines: Scalars['Int']['output'];
  /** Characters that the font does not hold. */
  readonly outside: Scalars['Int']['output'];
  /** How long it took to draw, in milliseconds. */
  readonly renderMs: Scalars['Float']['output'];
  /** When it was recorded. */
  readonly renderedAt: Scalars['DateTime']['output'];
  /** The id of the spec that it was drawn by. */
  readonly renderSpecId: Scalars['ID']['output'];
  /** The spec that it was drawn by; null until its registration is projected. */
  readonly renderSpec?: Maybe<RenderSpec>;
  /** The same history at other compression factors, each from 1 to 100 and 12 at most: what it would cost the model, and how legible it would be. A request asks for 48 at most, of all its images together. */
  readonly atFactors: ReadonlyArray<HistoryAtFactor>;
};


/** The history that the prompt of a step showed as an image. The image is not stored: `url` draws it again and compares it with `id`. */
export type HistoryImageAtFactorsArgs = {
  factors?: ReadonlyArray<Scalars['Float']['input']>;
};

/** A history as an image at one compression factor, worked out again from the record. */
export type HistoryAtFactor = {
  readonly __typename?: 'HistoryAtFactor';
  /** The factor: the image has 1 / factor of the raw pixels. */
  readonly factor: Scalars['Float']['output'];
  /** Whether the step was shown it at this factor. */
  readonly shown: Scalars['Boolean']['output'];
  /** Where it is drawn as a PNG, on this server. */
  readonly url: Scalars['String']['output'];
  /** Pixels across, the border included. */
  readonly width: Scalars['Int']['output'];
  /** Pixels down, the border included. */
  readonly height: Scalars['Int']['output'];
  /** What it costs the model as an image. */
  readonly visionTokens: Scalars['Int']['output'];
  /** textTokens − visionTokens: less than 0 where the image costs more than the text. */
  readonly saved: Scalars['Int']['output'];
  /** How tall a line of text is in what the processor of the model makes of it, in pixels; null where the history has no text. */
  readonly linePixels?: Maybe<Scalars['Float']['output']>;
  /** How much of the strokes is left, from 0 to 1: the mean structural similarity (SSIM, windows of 8 pixels with ink) of what was drawn and of the resized image at the same size, over the newest 400 rows; null where the history has no text. */
  readonly legibility?: Maybe<Scalars['Float']['output']>;
};

/** A page of history images. */
export type HistoryImageConnection = {
  readonly __typename?: 'HistoryImageConnection';
  /** The items with their cursors. */
  readonly edges: ReadonlyArray<HistoryImageEdge>;
  /** The items alone. */
  readonly nodes: ReadonlyArray<HistoryImage>;
  /** Where the page lies. */
  readonly pageInfo: PageInfo;
  /** How many there are in all; it is counted only when asked for. */
  readonly totalCount: Scalars['SafeInt']['output'];
};

/** One of a page of history images. */
export type HistoryImageEdge = {
  readonly __typename?: 'HistoryImageEdge';
  /** Its place in the list, for `after` and `before`. It belongs to the ordering it was given in. */
  readonly cursor: Scalars['String']['output'];
  /** The item. */
  readonly node: HistoryImage;
};

/** An order of history images. */
export type HistoryImageOrder =
  /** Tree by tree, in the order in which they were recorded. */
  | 'TREE'
  /** The most tokens first. */
  | 'VISION_TOKENS_DESC'
  /** The largest factor first. */
  | 'FACTOR_DESC';

/** A picture that an environment or a tool returned with an observation. */
export type Picture = {
  readonly __typename?: 'Picture';
  /** The SHA-256 of its size and pixels, in hex. Equal pictures have equal ids. */
  readonly id: Scalars['ID']['output'];
  /** Pixels across. */
  readonly width: Scalars['Int']['output'];
  /** Pixels down. */
  readonly height: Scalars['Int']['output'];
  /** Where the API serves it as a PNG. */
  readonly url: Scalars['String']['output'];
};

/** Pixels of an image. */
export type ImageSize = {
  readonly __typename?: 'ImageSize';
  /** Across. */
  readonly width: Scalars['Int']['output'];
  /** Down. */
  readonly height: Scalars['Int']['output'];
};

/** What a history image shows. */
export type HistoryKind =
  /** Segments. */
  | 'segments'
  /** A history without a character. */
  | 'blank'
  /** No history: nothing has happened yet. */
  | 'absent';

/** One record of history in an image. What it holds is null until its own event is projected: it lies on another topic. */
export type HistorySegment = {
  readonly __typename?: 'HistorySegment';
  /** The hash of render spec and text: the same record drawn by the same spec is one segment in all runs. */
  readonly id: Scalars['ID']['output'];
  /** Its place in the history, from 0. */
  readonly place: Scalars['Int']['output'];
  /** A cache held it; false where it had to be drawn for this image. */
  readonly hit: Scalars['Boolean']['output'];
  /** Its text. */
  readonly text?: Maybe<Scalars['String']['output']>;
  /** Its text is forgotten, and with it the images that show it: they are answered 410. */
  readonly forgotten: Scalars['Boolean']['output'];
  /** Lines that are drawn. */
  readonly lines?: Maybe<Scalars['Int']['output']>;
  /** Pixels across. */
  readonly width?: Maybe<Scalars['Int']['output']>;
  /** Pixels down. */
  readonly height?: Maybe<Scalars['Int']['output']>;
  /** The SHA-256 of its pixels. */
  readonly rgb?: Maybe<Scalars['String']['output']>;
  /** Lines that the height limit left out. */
  readonly cutLines?: Maybe<Scalars['Int']['output']>;
  /** Characters that the font does not hold. */
  readonly outside?: Maybe<Scalars['Int']['output']>;
  /** The id of the run that drew it first. */
  readonly runId?: Maybe<Scalars['ID']['output']>;
  /** Texts that are longer than 64 KiB. */
  readonly largeTexts: ReadonlyArray<LargeText>;
};

/** Everything that determines the pixels of a history. */
export type RenderSpec = {
  readonly __typename?: 'RenderSpec';
  /** The SHA-256 of its canonical JSON. */
  readonly id: Scalars['ID']['output'];
  /** The name of the profile it was made from; null where it has none. */
  readonly profile?: Maybe<Scalars['String']['output']>;
  /** The spec. */
  readonly spec: Scalars['JSON']['output'];
};

/** What showing histories as images amounts to, summed over steps. Shares and means are null while there is nothing to divide by. */
export type ImageTotals = {
  readonly __typename?: 'ImageTotals';
  /** Steps whose prompt showed an image. */
  readonly steps: Scalars['SafeInt']['output'];
  /** Images that differ. */
  readonly images: Scalars['SafeInt']['output'];
  /** What they cost as images. */
  readonly visionTokens: Scalars['SafeInt']['output'];
  /** What the same histories cost as text, by the tokenizers that the images name. */
  readonly textTokens: Scalars['SafeInt']['output'];
  /** textTokens − visionTokens: less than 0 where images cost more. */
  readonly saved: Scalars['SafeInt']['output'];
  /** Segments over all images. */
  readonly segments: Scalars['SafeInt']['output'];
  /** Those that a cache held. */
  readonly hits: Scalars['SafeInt']['output'];
  /** Those that had to be drawn. */
  readonly misses: Scalars['SafeInt']['output'];
  /** hits / segments. */
  readonly hitRate?: Maybe<Scalars['Float']['output']>;
  /** Pixels of the images, with their borders. */
  readonly pixels: Scalars['SafeInt']['output'];
  /** The mean compression factor of the steps. */
  readonly meanFactor?: Maybe<Scalars['Float']['output']>;
  /** Whole segments that limits left out. */
  readonly cutSegments: Scalars['SafeInt']['output'];
  /** Lines that limits left out. */
  readonly cutLines: Scalars['SafeInt']['output'];
  /** Characters that the font does not hold. */
  readonly outside: Scalars['SafeInt']['output'];
  /** How long drawing took, in milliseconds. */
  readonly renderMs: Scalars['Float']['output'];
};

/** Where something on record came from, and what resulted from it. */
export type Trace = {
  readonly __typename?: 'Trace';
  /** What the id stands for: event, run, tree, step, rollout, reward, task, revision, dataset, batch, checkpoint, image, segment, render spec, policy version, line of a dataset. */
  readonly kind: Scalars['String']['output'];
  /** The id, as the record holds it. */
  readonly id: Scalars['String']['output'];
  /** What it is, in a line. */
  readonly title: Scalars['String']['output'];
  /** The events that made it. */
  readonly madeBy: TraceEvents;
  /** What it was made of. */
  readonly from: ReadonlyArray<TraceLinks>;
  /** What names it. */
  readonly usedBy: ReadonlyArray<TraceLinks>;
  /** All that was made of it, step by step; null for what nothing is made of. */
  readonly touched?: Maybe<Touched>;
};

/** Events that made something: how many, and the first ten in the order of the log. */
export type TraceEvents = {
  readonly __typename?: 'TraceEvents';
  /** How many there are. */
  readonly total: Scalars['Int']['output'];
  /** The first of them. */
  readonly first: ReadonlyArray<TraceEvent>;
};

/** An event and where it lies. */
export type TraceEvent = {
  readonly __typename?: 'TraceEvent';
  /** Its id. */
  readonly eventId: Scalars['ID']['output'];
  /** Its type. */
  readonly type: Scalars['String']['output'];
  /** Its place in the log, as topic.partition@offset. */
  readonly place: Scalars['String']['output'];
  /** When it happened, by the producer's clock. */
  readonly occurredAt: Scalars['DateTime']['output'];
  /** All of it, as it was appended; what is forgotten of it is left out. */
  readonly envelope: Scalars['JSON']['output'];
};

/** All that is in one relation to what is traced: how many, and the first ten. */
export type TraceLinks = {
  readonly __typename?: 'TraceLinks';
  /** What the relation is. */
  readonly relation: Scalars['String']['output'];
  /** How many there are. */
  readonly total: Scalars['Int']['output'];
  /** The first of them. */
  readonly first: ReadonlyArray<TraceLink>;
};

/** Something that can be traced in turn. */
export type TraceLink = {
  readonly __typename?: 'TraceLink';
  /** Its id. */
  readonly id: Scalars['String']['output'];
  /** A line about it. */
  readonly text: Scalars['String']['output'];
};

/** What something of the record went into. Where the record cannot show it, it counts as touched. Lists return 50 items by default, 500 at most; the totals count all. */
export type Touched = {
  readonly __typename?: 'Touched';
  /** How many runs its rollouts belong to. */
  readonly runsTotal: Scalars['Int']['output'];
  /** The runs. */
  readonly runs: ReadonlyArray<Scalars['ID']['output']>;
  /** How many trees its rollouts grew. */
  readonly trees: Scalars['Int']['output'];
  /** How many rollouts: where the way begins. */
  readonly rollouts: Scalars['Int']['output'];
  /** How many dataset releases hold lines made of them. */
  readonly datasetsTotal: Scalars['Int']['output'];
  /** The releases, by name and version. */
  readonly datasets: ReadonlyArray<TouchedDataset>;
  /** How many batches took them as samples. */
  readonly batchesTotal: Scalars['Int']['output'];
  /** The batches, by policy and ordinal. */
  readonly batches: ReadonlyArray<TouchedBatch>;
  /** How many policy versions were trained on them, or descend from one that was. */
  readonly versionsTotal: Scalars['Int']['output'];
  /** The versions, by policy. */
  readonly versions: ReadonlyArray<TouchedVersion>;
  /** How many evaluations measured such a version or counted such a rollout. */
  readonly evaluationsTotal: Scalars['Int']['output'];
  /** The evaluations. */
  readonly evaluations: ReadonlyArray<TouchedEvaluation>;
};


/** What something of the record went into. Where the record cannot show it, it counts as touched. Lists return 50 items by default, 500 at most; the totals count all. */
export type TouchedRunsArgs = {
  first?: Scalars['Int']['input'];
};


/** What something of the record went into. Where the record cannot show it, it counts as touched. Lists return 50 items by default, 500 at most; the totals count all. */
export type TouchedDatasetsArgs = {
  first?: Scalars['Int']['input'];
};


/** What something of the record went into. Where the record cannot show it, it counts as touched. Lists return 50 items by default, 500 at most; the totals count all. */
export type TouchedBatchesArgs = {
  first?: Scalars['Int']['input'];
};


/** What something of the record went into. Where the record cannot show it, it counts as touched. Lists return 50 items by default, 500 at most; the totals count all. */
export type TouchedVersionsArgs = {
  first?: Scalars['Int']['input'];
};


/** What something of the record went into. Where the record cannot show it, it counts as touched. Lists return 50 items by default, 500 at most; the totals count all. */
export type TouchedEvaluationsArgs = {
  first?: Scalars['Int']['input'];
};

/** A release that was made of touched rollouts. */
export type TouchedDataset = {
  readonly __typename?: 'TouchedDataset';
  /** Its id. */
  readonly datasetId: Scalars['ID']['output'];
  /** Its name. */
  readonly name: Scalars['String']['output'];
  /** Its version. */
  readonly version: Scalars['Int']['output'];
  /** Examples made of touched rollouts; null where the release names a touched run and does not say more. */
  readonly examples?: Maybe<Scalars['Int']['output']>;
  /** It was withdrawn. */
  readonly withdrawn: Scalars['Boolean']['output'];
};

/** A batch that holds touched samples. */
export type TouchedBatch = {
  readonly __typename?: 'TouchedBatch';
  /** Its id. */
  readonly batchId: Scalars['ID']['output'];
  /** The policy. */
  readonly policyId: Scalars['String']['output'];
  /** Its place among the batches of the policy. */
  readonly ordinal: Scalars['Int']['output'];
  /** How many of its samples are touched. */
  readonly samples: Scalars['Int']['output'];
  /** It was trained. */
  readonly trained: Scalars['Boolean']['output'];
};

/** A policy version that is touched. */
export type TouchedVersion = {
  readonly __typename?: 'TouchedVersion';
  /** The policy. */
  readonly policyId: Scalars['String']['output'];
  /** The version. */
  readonly version: Scalars['Int']['output'];
  /** Why: it is what was asked for (itself), a batch or a release of it is touched (trained-on), or it was trained from a version that is (descends). */
  readonly how: Scalars['String']['output'];
};

/** An evaluation that is touched. */
export type TouchedEvaluation = {
  readonly __typename?: 'TouchedEvaluation';
  /** The run whose rollouts it counts. */
  readonly runId: Scalars['ID']['output'];
  /** The policy. */
  readonly policyId: Scalars['String']['output'];
  /** The version. */
  readonly version: Scalars['Int']['output'];
  /** What it found. */
  readonly meanReturn: Scalars['Float']['output'];
  /** Why: it measures a touched version (measures), or counts touched rollouts (counts). */
  readonly how: Scalars['String']['output'];
};

/** What is recalled; exactly one field is given. */
export type RecallInput = {
  /** A scorer that was wrong, as NAME or NAME@REVISION. */
  readonly scorer?: InputMaybe<Scalars['String']['input']>;
  /** A rollout. */
  readonly trajectory?: InputMaybe<Scalars['ID']['input']>;
  /** A step: the rollouts that hold it on their path, and the forks that go on from it or below it. */
  readonly step?: InputMaybe<Scalars['ID']['input']>;
  /** The id of a task: all of its trees. */
  readonly task?: InputMaybe<Scalars['ID']['input']>;
  /** A run. */
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  /** A label: all that annotations name which have it and are not retracted. */
  readonly label?: InputMaybe<Scalars['String']['input']>;
};

/** How far a projection is behind the log. */
export type ProjectionLag = {
  readonly __typename?: 'ProjectionLag';
  /** Its name. */
  readonly projection: Scalars['String']['output'];
  /** The version of the code that folded the tables which are read. */
  readonly version: Scalars['Int']['output'];
  /** Which fold by that code they are, from 1: `espalier rebuild` makes the next. */
  readonly build: Scalars['Int']['output'];
  /** Whether it runs. A bug or a hole in the log stops it: its tables stand still then, and are right up to its cursors. */
  readonly state: ProjectionState;
  /** Why it stopped. */
  readonly reason?: Maybe<Scalars['String']['output']>;
  /** Records of the log that it has not folded, over all partitions. */
  readonly lag: Scalars['SafeInt']['output'];
  /** The same by partition. */
  readonly partitions: ReadonlyArray<PartitionLag>;
  /** Builds next to the live one, the latest first: under way, or live before and kept. */
  readonly builds: ReadonlyArray<ProjectionBuild>;
};

/** A fold of a projection that is not live. */
export type ProjectionBuild = {
  readonly __typename?: 'ProjectionBuild';
  /** The version of the code that folds it. */
  readonly version: Scalars['Int']['output'];
  /** Which fold by that code it is, from 1. */
  readonly build: Scalars['Int']['output'];
  /** Whether it is being built. */
  readonly state: BuildState;
  /** What is done with it. */
  readonly phase?: Maybe<BuildPhase>;
  /** Records that it has folded. */
  readonly done?: Maybe<Scalars['SafeInt']['output']>;
  /** Records that the live one has folded. */
  readonly of?: Maybe<Scalars['SafeInt']['output']>;
  /** Records per second. */
  readonly rate?: Maybe<Scalars['Float']['output']>;
  /** Seconds until it has caught up, at that rate. */
  readonly secondsLeft?: Maybe<Scalars['Float']['output']>;
  /** When this was reported: one whose process ended reports nothing more, until another goes on with it. */
  readonly toldAt?: Maybe<Scalars['DateTime']['output']>;
  /** When it was begun. */
  readonly begunAt: Scalars['DateTime']['output'];
};

/** Whether a fold that is not live is being built. */
export type BuildState =
  /** It is folded, or waits for a process that goes on with it. */
  | 'building'
  /** It was live before. */
  | 'kept';

/** What is done with a build. */
export type BuildPhase =
  /** It is folded at bulk speed, without indexes. */
  | 'loading'
  /** Its indexes are made. */
  | 'indexing'
  /** It is folded as the live one. */
  | 'folding';

/** Whether a projection runs. */
export type ProjectionState =
  /** It folds what arrives. */
  | 'running'
  /** It is stopped. */
  | 'stopped';

/** How far a projection is behind on one partition. */
export type PartitionLag = {
  readonly __typename?: 'PartitionLag';
  /** The topic. */
  readonly topic: Scalars['String']['output'];
  /** The partition. */
  readonly partition: Scalars['Int']['output'];
  /** The next offset it will fold. */
  readonly cursor: Scalars['SafeInt']['output'];
  /** The offset that the next record of the log will get. */
  readonly end: Scalars['SafeInt']['output'];
  /** end − cursor. */
  readonly lag: Scalars['SafeInt']['output'];
};

/** What the journal saw that should not be: the event counts nowhere twice, and this says that it came. */
export type Anomaly = {
  readonly __typename?: 'Anomaly';
  /** The topic of the log. */
  readonly topic: Scalars['String']['output'];
  /** The partition. */
  readonly partition: Scalars['Int']['output'];
  /** The offset. */
  readonly offset: Scalars['SafeInt']['output'];
  /** The event. */
  readonly eventId: Scalars['ID']['output'];
  /** Its stream. */
  readonly stream: Scalars['ID']['output'];
  /** What is wrong. */
  readonly kind: AnomalyKind;
  /** The same in words. */
  readonly detail: Scalars['String']['output'];
};

/** What is wrong with an event that the journal saw. */
export type AnomalyKind =
  /** It was appended before. */
  | 'duplicate'
  /** Events of its producer before it are missing. */
  | 'gap'
  /** It came after later ones of its producer. */
  | 'reordered'
  /** Its collector appended it after another one had taken over the run; it has no effect. */
  | 'superseded';

/** A record that a projection could not fold. */
export type QuarantinedRecord = {
  readonly __typename?: 'QuarantinedRecord';
  /** The projection. */
  readonly projection: Scalars['String']['output'];
  /** The topic of the log. */
  readonly topic: Scalars['String']['output'];
  /** The partition. */
  readonly partition: Scalars['Int']['output'];
  /** The offset. */
  readonly offset: Scalars['SafeInt']['output'];
  /** The event, where the record is one. */
  readonly eventId?: Maybe<Scalars['ID']['output']>;
  /** The type it claims. */
  readonly type?: Maybe<Scalars['String']['output']>;
  /** Its stream. */
  readonly stream?: Maybe<Scalars['String']['output']>;
  /** The kind of fault: malformed, unknown-type, missing-parent, conflict, … */
  readonly code: Scalars['String']['output'];
  /** The field that is wrong. */
  readonly field: Scalars['String']['output'];
  /** What is wrong with it, and the remedy. */
  readonly reason: Scalars['String']['output'];
  /** The record's first 65,536 bytes as text. */
  readonly body: Scalars['String']['output'];
  /** The record's size in bytes. */
  readonly size: Scalars['Int']['output'];
  /** When it was set aside. */
  readonly quarantinedAt: Scalars['DateTime']['output'];
  /** When it was offered again. */
  readonly releasedAt?: Maybe<Scalars['DateTime']['output']>;
  /** The offset, in the same partition, of the record by which it was offered again: from there on it counts, or waits once more. Null where it waits here, or was released before releases were records of the log. */
  readonly releasedOffset?: Maybe<Scalars['SafeInt']['output']>;
};

/** What anomalies are chosen by; all parts must hold. */
export type AnomalyFilter = {
  /** What is wrong. */
  readonly kind?: InputMaybe<AnomalyKind>;
  /** The stream. */
  readonly stream?: InputMaybe<Scalars['ID']['input']>;
};

/** What quarantined records are chosen by; all parts must hold. */
export type QuarantineFilter = {
  /** The projection. */
  readonly projection?: InputMaybe<Scalars['String']['input']>;
  /** The kind of fault. */
  readonly code?: InputMaybe<Scalars['String']['input']>;
  /** It was offered again (true) or waits (false). */
  readonly released?: InputMaybe<Scalars['Boolean']['input']>;
};

/** What a release did for one projection that holds a record in quarantine. */
export type QuarantineRelease = {
  readonly __typename?: 'QuarantineRelease';
  /** The projection. */
  readonly projection: Scalars['String']['output'];
  /** Where the record waited: topic.partition:offset. */
  readonly place: Scalars['String']['output'];
  /** The record by which it was released; null where it would be refused again: then nothing was appended, and it waits as before. */
  readonly appended?: Maybe<Scalars['String']['output']>;
  /** What became of it. */
  readonly outcome: QuarantineReleaseOutcome;
  /** Why it stays, or what is waited for; null of one that was released. */
  readonly reason?: Maybe<Scalars['String']['output']>;
};

/** What became of a record that was released. */
export type QuarantineReleaseOutcome =
  /** It is folded. */
  | 'released'
  /** It is refused again, for the reason given. */
  | 'refused'
  /** The release is in the log, and is not folded yet. */
  | 'pending';

/** What `espalier verify` found: whether the record is what was written. */
export type Verification = {
  readonly __typename?: 'Verification';
  /** Its id. */
  readonly id: Scalars['ID']['output'];
  /** When it finished. */
  readonly finishedAt: Scalars['DateTime']['output'];
  /** How long it took, in seconds. */
  readonly seconds: Scalars['SafeInt']['output'];
  /** The program that verified. */
  readonly codeVersion: Scalars['String']['output'];
  /** Whether everything that was compared is as it was written. */
  readonly intact: Scalars['Boolean']['output'];
  /** How much of the record was compared, and how. */
  readonly counts: VerificationCounts;
  /** How many faults. */
  readonly faulty: Scalars['SafeInt']['output'];
  /** The first 50 faults. */
  readonly faults: ReadonlyArray<VerificationFault>;
  /** Revisions that are as they were written and do not hold by the record: exports leave them out. */
  readonly doubtful: Scalars['SafeInt']['output'];
  /** Event ids that several streams hold. */
  readonly foreign: Scalars['SafeInt']['output'];
};

/** How much a verification compared. */
export type VerificationCounts = {
  readonly __typename?: 'VerificationCounts';
  /** Events of the journal, by their hash chain. */
  readonly events: Scalars['SafeInt']['output'];
  /** Records of the log; null where it was left out, or is not as it was recorded. */
  readonly records?: Maybe<Scalars['SafeInt']['output']>;
  /** Blobs, by their names. */
  readonly blobs: Scalars['SafeInt']['output'];
  /** Manifests of batches. */
  readonly batches: Scalars['SafeInt']['output'];
  /** Checkpoints, with their weights. */
  readonly checkpoints: Scalars['SafeInt']['output'];
  /** Files of released datasets. */
  readonly files: Scalars['SafeInt']['output'];
  /** Prompts, by the digest of what was sent. */
  readonly prompts: Scalars['SafeInt']['output'];
  /** Heads of chains that were anchored; null where no anchor was asked for, or something is at fault. */
  readonly anchored?: Maybe<Scalars['SafeInt']['output']>;
};

/** Something that is not as it was written. */
export type VerificationFault = {
  readonly __typename?: 'VerificationFault';
  /** What it is: event, blob, batch, checkpoint, dataset, release, prompt, log, read model, anchor. */
  readonly what: Scalars['String']['output'];
  /** How it differs: changed, missing, inserted, renumbered, unchained, unknown, unrecorded, moved, foreign. */
  readonly kind: Scalars['String']['output'];
  /** Where. */
  readonly place: Scalars['String']['output'];
};

/** A page of verifications. */
export type VerificationConnection = {
  readonly __typename?: 'VerificationConnection';
  /** The items with their cursors. */
  readonly edges: ReadonlyArray<VerificationEdge>;
  /** The items alone. */
  readonly nodes: ReadonlyArray<Verification>;
  /** Where the page lies. */
  readonly pageInfo: PageInfo;
  /** How many there are in all; it is counted only when asked for. */
  readonly totalCount: Scalars['SafeInt']['output'];
};

/** One of a page of verifications. */
export type VerificationEdge = {
  readonly __typename?: 'VerificationEdge';
  /** Its place in the list, for `after` and `before`. It belongs to the ordering it was given in. */
  readonly cursor: Scalars['String']['output'];
  /** The item. */
  readonly node: Verification;
};

/**
 * The shape of a tree in columns: each fact of all its steps as one array, in the order in which they were taken, parents before children. Made for drawing and counting:
 * 10,000 steps are read in a tenth of the time that as many objects take. A tree of more than 50,000 steps is refused with TREE_TOO_LARGE; `steps` reads any.
 */
export type TreeOutline = {
  readonly __typename?: 'TreeOutline';
  /** How many steps it has: the length of every column. */
  readonly length: Scalars['Int']['output'];
  /** Their ids. */
  readonly ids: ReadonlyArray<Scalars['ID']['output']>;
  /** The place of the step before, in these columns; -1 for the root (int32). */
  readonly parents: PackedArray;
  /** The first 80 characters of their actions; empty for the root, and for an action over 64 KiB. */
  readonly actions: ReadonlyArray<Scalars['String']['output']>;
  /** 1 where the environment could carry the action out (uint8). */
  readonly executable: PackedArray;
  /** 0 where the episode goes on, 1 where the environment ended it, 2 where a limit did (uint8). */
  readonly terminations: PackedArray;
  /** The sum of the rewards in force on the step itself; NaN where it has none (float32). */
  readonly rewards: PackedArray;
  /** The back-ups of its search, the first 10,000: what the search knew of any node after any simulation is a sum over them. */
  readonly backUps: OutlineBackUps;
};

/** The back-ups of a search in columns, in the order of the log: the n-th is simulation n. */
export type OutlineBackUps = {
  readonly __typename?: 'OutlineBackUps';
  /** How many there are here. */
  readonly length: Scalars['Int']['output'];
  /** Their values (float32). */
  readonly values: PackedArray;
  /** How many steps the path of each has (int32). */
  readonly lengths: PackedArray;
  /** The steps of all paths, one path behind the other, root first, as places in the columns of the outline; -1 for a step that is not there (int32). */
  readonly paths: PackedArray;
};

/** A tenant of the installation: runs, policies, datasets and keys belong to one. */
export type Project = {
  readonly __typename?: 'Project';
  /** Its name. */
  readonly name: Scalars['String']['output'];
  /** Its runs. */
  readonly runs: Scalars['SafeInt']['output'];
  /** The trees of its runs. */
  readonly trees: Scalars['SafeInt']['output'];
  /** Its dataset releases. */
  readonly datasets: Scalars['SafeInt']['output'];
  /** Its policies. */
  readonly policies: Scalars['SafeInt']['output'];
};

/** Who asks, and what that may see and do. */
export type Viewer = {
  readonly __typename?: 'Viewer';
  /** What events that it appends are stamped with: `local`, or `key:` and the id of an API key. */
  readonly principal: Scalars['String']['output'];
  /** The name of the key. */
  readonly name: Scalars['String']['output'];
  /** What it may do; `admin` includes all else. */
  readonly scopes: ReadonlyArray<Scalars['String']['output']>;
  /** The project that it writes. */
  readonly project: Scalars['String']['output'];
  /** The projects that it sees; null for all. */
  readonly projects?: Maybe<ReadonlyArray<Scalars['String']['output']>>;
  /** The principals of the keys that it replaces, the first of them first: what they opened is its own. */
  readonly replaces: ReadonlyArray<Scalars['String']['output']>;
};

/** The prompt that a step or a judgement was asked with. It is put together from the record and compared with the digest that was recorded when it was sent. */
export type Prompt = {
  readonly __typename?: 'Prompt';
  /** The SHA-256 of its messages. */
  readonly sha256: Scalars['String']['output'];
  /** Its messages in order. A request reads at most 100,000 of all its prompts together: each repeats what was before. */
  readonly messages: ReadonlyArray<PromptMessage>;
  /** The template that composed it; null for the chat of the environment. */
  readonly template?: Maybe<PromptTemplate>;
  /** The schema of the tools that the model may call, as JSON; null where it was given none. */
  readonly tools?: Maybe<Scalars['String']['output']>;
  /** How the reply was sampled. */
  readonly sampling: Sampling;
  /** The address of the model server; null for a policy that uses none. */
  readonly server?: Maybe<Scalars['String']['output']>;
  /** The model as it was asked for; null where it is not recorded, or the policy names none. */
  readonly model?: Maybe<Scalars['String']['output']>;
  /** Its token ids as the server returned them; null where it returned none. */
  readonly tokens?: Maybe<PromptTokens>;
  /** What came with the reply; null where the step that it became is not there. */
  readonly answer?: Maybe<PromptAnswer>;
};

/** What came with the reply to a prompt. */
export type PromptAnswer = {
  readonly __typename?: 'PromptAnswer';
  /** Why the reply ended; null where the server does not say. */
  readonly finishReason?: Maybe<Scalars['String']['output']>;
  /** How many tokens were read and written. */
  readonly usage?: Maybe<Usage>;
  /** The sampled tokens; null where the server returned none. */
  readonly tokens?: Maybe<Tokens>;
  /** The request as it was sent, by the hash of its body, and the model as the server names it; null for a policy that asks no server. */
  readonly call?: Maybe<ModelCall>;
};

/** One message of a prompt. */
export type PromptMessage = {
  readonly __typename?: 'PromptMessage';
  /** system, user, assistant or tool. */
  readonly role: Scalars['String']['output'];
  /** Its parts in order. */
  readonly parts: ReadonlyArray<PromptPart>;
};

/** One part of a message: a text or an image. */
export type PromptPart = {
  readonly __typename?: 'PromptPart';
  /** The text; null for an image. */
  readonly text?: Maybe<Scalars['String']['output']>;
  /** The image; null for a text. */
  readonly image?: Maybe<HistoryImage>;
  /** The picture of an observation, where the image is one; null for a text and for a history. */
  readonly picture?: Maybe<Picture>;
};

/** The template of a prompt. */
export type PromptTemplate = {
  readonly __typename?: 'PromptTemplate';
  /** Its name. */
  readonly name: Scalars['String']['output'];
  /** Its version. */
  readonly version: Scalars['Int']['output'];
};

/** The sampling parameters of a request; null where it left one to the server. */
export type Sampling = {
  readonly __typename?: 'Sampling';
  /** The temperature. */
  readonly temperature: Scalars['Float']['output'];
  /** The nucleus sampling threshold. */
  readonly topP?: Maybe<Scalars['Float']['output']>;
  /** The longest reply in tokens. */
  readonly maxTokens?: Maybe<Scalars['Int']['output']>;
  /** Texts at which sampling stops. */
  readonly stop: ReadonlyArray<Scalars['String']['output']>;
  /** The seed. */
  readonly seed?: Maybe<Scalars['SafeInt']['output']>;
};

/** The token ids of a prompt. */
export type PromptTokens = {
  readonly __typename?: 'PromptTokens';
  /** The ids. */
  readonly ids: PackedArray;
  /** How many ids the prompt of the step before and the reply to it have; null where they are not known. */
  readonly before?: Maybe<Scalars['Int']['output']>;
  /** How many of those this prompt begins with: less than `before` means that the server tokenised the same text in another way. */
  readonly kept?: Maybe<Scalars['Int']['output']>;
};

/** Steps of a run whose prompt does not continue the token ids of the step before (re-tokenisation drift): rows of tokens are cut there. */
export type Drift = {
  readonly __typename?: 'Drift';
  /** How many steps there are. */
  readonly steps: Scalars['SafeInt']['output'];
  /** The first of them; null where there is none. */
  readonly firstStep?: Maybe<Step>;
};

/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type Query = {
  readonly __typename?: 'Query';
  /** One experiment; null when it is not known. */
  readonly experiment?: Maybe<Experiment>;
  /** Experiments: the questions that runs answer. */
  readonly experiments: ExperimentConnection;
  /** One run; null when it is not known. */
  readonly run?: Maybe<Run>;
  /** Runs, the latest first. */
  readonly runs: RunConnection;
  /** One tree; null when it is not known. */
  readonly tree?: Maybe<Tree>;
  /** Trees, the latest first. */
  readonly trees: TreeConnection;
  /** One step; null when it is not known. */
  readonly step?: Maybe<Step>;
  /**
   * The path from the root of its tree to a step, root first. Empty when the step is not known. Left without `first` the whole path comes, and one of more than 10,000 steps is refused
   * with PATH_TOO_LARGE; `first` (10,000 at most) with `after`, the `depth` of the last step received, reads any path in parts. All the paths of a request may
   * have 100,000 steps together.
   */
  readonly path: ReadonlyArray<Step>;
  /** One rollout; null when it is not known. */
  readonly rollout?: Maybe<Rollout>;
  /** Rollouts, also those that go on; the last to finish first, those that go on before them. */
  readonly rollouts: RolloutConnection;
  /** The trajectory of one finished rollout; null while it goes on, or when it is not known. */
  readonly trajectory?: Maybe<Trajectory>;
  /** Trajectories of finished rollouts, the last to finish first. */
  readonly trajectories: TrajectoryConnection;
  /**
   * Steps, by what was seen, done and thought in them, and by where they lie. `under` is a step: it and those below it, at most `depth` levels below. The order
   * VISITS needs `under`, or a tree in the filter. A search of texts that are indexed looks at some hundred of them for a page: one of a phrase, of words left out
   * or of very frequent words may have fewer steps than `first` while `hasNextPage` is true; `endCursor` then goes on behind what was looked at.
   */
  readonly steps: StepConnection;
  /** Calls of tools. The orders by duration need a tool in the filter. */
  readonly toolCalls: ToolCallConnection;
  /**
   * Finished rollouts as training samples, group by group. A search of the texts of a run, a tree or a task looks at some hundred of them for a page, which may have
   * fewer samples than `first` while `hasNextPage` is true; `endCursor` then goes on behind what was looked at.
   */
  readonly samples: TrainingSampleConnection;
  /** The tasks that trees were grown for, by environment and alias. */
  readonly tasks: TaskConnection;
  /**
   * Sums up rollouts in groups: only the parts that are selected are read. `filter` names runs or tasks, 100 at most, or a policy or an environment that 100 runs have at most. `after` is the `key` of the last group
   * received; `first` is at most 500.
   */
  readonly aggregate: ReadonlyArray<Aggregate>;
  /**
   * Compares runs task by task with the first of them, on the tasks that both have: 2 to 20 runs. The intervals are the bootstrap's of the mean difference within
   * a task, as the intervals of an evaluation are over its tasks.
   */
  readonly compare: ReadonlyArray<RunComparison>;
  /** Where the trajectories of two finished rollouts part, by what was done and seen: in one tree, or in two of the same task. Null where they are the same. */
  readonly divergence?: Maybe<TrajectoryDivergence>;
  /** One revision; null when it is not known. */
  readonly revision?: Maybe<Revision>;
  /** One dataset release; null when it is not known. */
  readonly dataset?: Maybe<Dataset>;
  /** Dataset releases, the latest first. */
  readonly datasets: DatasetConnection;
  /** One annotation, a retracted one too; null when it is not known. */
  readonly annotation?: Maybe<Annotation>;
  /** Annotations, the last added first. */
  readonly annotations: AnnotationConnection;
  /** The labels that annotations have, of a run or of everything, the most frequent first. */
  readonly annotationLabels: ReadonlyArray<LabelCount>;
  /** One policy that is trained from the record; null when its training was never declared. */
  readonly policy?: Maybe<TrainedPolicy>;
  /** The policies that are trained from the record, by name. */
  readonly policies: ReadonlyArray<TrainedPolicy>;
  /** One training batch; null when it is not known. */
  readonly batch?: Maybe<Batch>;
  /** What an id stands for, the events that made it, what it was made of and what resulted from it. Null when nothing on record has the id: a UUID; a SHA-256 in hex of an image, segment, render spec, weights or manifest; NAME@VERSION of a policy or release; NAME@VERSION#LINE of a line of a released file; POLICY#N of a policy's N-th batch, from 0. */
  readonly trace?: Maybe<Trace>;
  /** The releases, batches, policy versions and evaluations that something of the record went into. */
  readonly recall: Touched;
  /** What the journal saw that should not be, in the order of the log. */
  readonly anomalies: AnomalyConnection;
  /** Records that a projection could not fold, the latest first. */
  readonly quarantine: QuarantineConnection;
  /** What was done over from the record and compared with it, the last to finish first. */
  readonly replays: ReplayConnection;
  /** What `espalier verify` found, the last to finish first; of the whole installation, so that a key of some projects sees none. It is the same at every moment. */
  readonly verifications: VerificationConnection;
  /** The projects that the caller sees, by name. */
  readonly projects: ReadonlyArray<Project>;
  /** Who asks. */
  readonly viewer: Viewer;
  /** The end of the log now, such as `runs.0:3,trees.2:41`: topic.partition:next offset. `waitFor` and `events` take it. */
  readonly position: Scalars['String']['output'];
  /** How far each projection is behind the log. */
  readonly lag: ReadonlyArray<ProjectionLag>;
  /** Waits until every projection has folded the log up to a position, then returns the query to read on with: what was appended before the position is in it. Ends with TIMED_OUT after `timeoutMs` (60,000 at most), with PROJECTION_STOPPED at once when a projection is stopped. */
  readonly waitFor: Reached;
  /**
   * Everything of Query as it was at a moment of the record: the fold of the events before it, by the code of now. Pass one of the two. `position`: next offsets,
   * as `position` and appends give them; a partition that it does not name is at 0. `time`: in each partition all before the first event that happened later
   * (`occurredAt`). One run, tree, step or rollout asked for by its id costs the events of its own streams, everything else all events before the
   * moment, at most ESPALIER_ASOF_LIMIT of them. `position` below it says the moment as a position.
   */
  readonly asOf: Query;
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryExperimentArgs = {
  id: Scalars['ID']['input'];
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryExperimentsArgs = {
  orderBy?: ExperimentOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryRunArgs = {
  id: Scalars['ID']['input'];
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryRunsArgs = {
  filter?: InputMaybe<RunFilter>;
  orderBy?: RunOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryTreeArgs = {
  id: Scalars['ID']['input'];
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryTreesArgs = {
  filter?: InputMaybe<TreeFilter>;
  orderBy?: TreeOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryStepArgs = {
  id: Scalars['ID']['input'];
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryPathArgs = {
  leaf: Scalars['ID']['input'];
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['Int']['input']>;
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryRolloutArgs = {
  id: Scalars['ID']['input'];
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryRolloutsArgs = {
  filter?: InputMaybe<RolloutFilter>;
  orderBy?: RolloutOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryTrajectoryArgs = {
  rollout: Scalars['ID']['input'];
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryTrajectoriesArgs = {
  filter?: InputMaybe<TrajectoryFilter>;
  orderBy?: TrajectoryOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryStepsArgs = {
  filter?: InputMaybe<StepFilter>;
  under?: InputMaybe<Scalars['ID']['input']>;
  depth?: InputMaybe<Scalars['Int']['input']>;
  orderBy?: StepOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryToolCallsArgs = {
  filter?: InputMaybe<ToolCallFilter>;
  orderBy?: ToolCallOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QuerySamplesArgs = {
  filter?: InputMaybe<SampleFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryTasksArgs = {
  filter?: InputMaybe<TaskFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryAggregateArgs = {
  by: AggregateBy;
  filter: AggregateFilter;
  first?: Scalars['Int']['input'];
  after?: InputMaybe<Scalars['String']['input']>;
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryCompareArgs = {
  runs: ReadonlyArray<Scalars['ID']['input']>;
  confidence?: Scalars['Float']['input'];
  resamples?: Scalars['Int']['input'];
  seed?: Scalars['SafeInt']['input'];
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryDivergenceArgs = {
  a: Scalars['ID']['input'];
  b: Scalars['ID']['input'];
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryRevisionArgs = {
  id: Scalars['ID']['input'];
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryDatasetArgs = {
  id: Scalars['ID']['input'];
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryDatasetsArgs = {
  filter?: InputMaybe<DatasetFilter>;
  orderBy?: DatasetOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryAnnotationArgs = {
  id: Scalars['ID']['input'];
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryAnnotationsArgs = {
  filter?: InputMaybe<AnnotationFilter>;
  orderBy?: AnnotationOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryAnnotationLabelsArgs = {
  run?: InputMaybe<Scalars['ID']['input']>;
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryPolicyArgs = {
  id: Scalars['String']['input'];
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryBatchArgs = {
  id: Scalars['ID']['input'];
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryTraceArgs = {
  id: Scalars['String']['input'];
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryRecallArgs = {
  what: RecallInput;
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryAnomaliesArgs = {
  filter?: InputMaybe<AnomalyFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryQuarantineArgs = {
  filter?: InputMaybe<QuarantineFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryReplaysArgs = {
  filter?: InputMaybe<ReplayFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryVerificationsArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryWaitForArgs = {
  position: Scalars['String']['input'];
  timeoutMs?: Scalars['Int']['input'];
};


/** What can be read. Lists are Relay connections: `first` with `after` reads on, `last` with `before` reads back, 50 items by default, 500 at most. */
export type QueryAsOfArgs = {
  position?: InputMaybe<Scalars['String']['input']>;
  time?: InputMaybe<Scalars['DateTime']['input']>;
};

/** The position that was waited for has been reached. */
export type Reached = {
  readonly __typename?: 'Reached';
  /** The position that was asked for. */
  readonly position: Scalars['String']['output'];
  /** How long it took, in milliseconds. */
  readonly waitedMs: Scalars['Float']['output'];
  /** Everything of Query, read after the wait. */
  readonly query: Query;
};

/** What can be followed live. */
export type Subscription = {
  readonly __typename?: 'Subscription';
  /**
   * Events as the journal takes them, over server-sent events. Each carries the position to resume from: subscribe again with `after` set to
   * the last one received and no event is missed or repeated. Order holds in each partition, so in each tree and run.
   * `after` left out: from the end of the log on. `after: ""`: from the beginning. `run` and `tree` choose the events of one.
   */
  readonly events: EventDelivery;
};


/** What can be followed live. */
export type SubscriptionEventsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  types?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  run?: InputMaybe<Scalars['ID']['input']>;
  tree?: InputMaybe<Scalars['ID']['input']>;
};

/** An event and where it lies in the log. */
export type EventDelivery = {
  readonly __typename?: 'EventDelivery';
  /** Its id. */
  readonly id: Scalars['ID']['output'];
  /** Its type, a past participle: StepTaken, RolloutFinished, … */
  readonly type: Scalars['String']['output'];
  /** The version of the schema it was written in. */
  readonly schemaVersion: Scalars['Int']['output'];
  /** The id of what it is about (run, tree, …); the log key. */
  readonly stream: Scalars['ID']['output'];
  /** Its place among the events of its stream, from 1. */
  readonly streamPosition: Scalars['SafeInt']['output'];
  /** The producer's own counter in the stream. */
  readonly sequence: Scalars['SafeInt']['output'];
  /** When it happened, by the producer's clock. */
  readonly occurredAt: Scalars['DateTime']['output'];
  /** When the log took it, which only grows in a partition; null for an event that was recorded before logs said so. */
  readonly receivedAt?: Maybe<Scalars['DateTime']['output']>;
  /** The run it belongs to. */
  readonly runId: Scalars['ID']['output'];
  /** The event that led to this one. */
  readonly causationId?: Maybe<Scalars['ID']['output']>;
  /** Who wrote it, as name@version. */
  readonly producer: Scalars['String']['output'];
  /** Who appended it: `local`, or `key:` and the id of the API key. Written by the server. */
  readonly principal: Scalars['String']['output'];
  /** The project that it belongs to. Written by the server. */
  readonly project: Scalars['String']['output'];
  /** Its data, as appended. */
  readonly data: Scalars['JSON']['output'];
  /** The topic of the log. */
  readonly topic: Scalars['String']['output'];
  /** The partition of the topic. */
  readonly partition: Scalars['Int']['output'];
  /** The offset in the partition. */
  readonly offset: Scalars['SafeInt']['output'];
  /** Of an event that waited in quarantine and was released here: the offset at which it waited, in the same partition. It is delivered at both places where its type could be read at the first; for the read models that refused it there it counts from here on. */
  readonly releasedFrom?: Maybe<Scalars['SafeInt']['output']>;
  /** Resume from here: this event and all before it are seen. */
  readonly position: Scalars['String']['output'];
};

/** Something of a run was done over from the record and compared with what is there. */
export type Replay = {
  readonly __typename?: 'Replay';
  /** Its id. */
  readonly id: Scalars['ID']['output'];
  /** The id of the run. */
  readonly runId: Scalars['ID']['output'];
  /** The run that it belongs to. */
  readonly run?: Maybe<Run>;
  /** What was done over. */
  readonly mode: ReplayMode;
  /** Whether it came out the same. */
  readonly outcome: ReplayOutcome;
  /** How many things were compared. */
  readonly compared: Scalars['SafeInt']['output'];
  /** How many of them differ. */
  readonly differing: Scalars['SafeInt']['output'];
  /** The first that differ. */
  readonly differences: ReadonlyArray<ReplayDifference>;
  /** What a reader should know besides them, such as another server than the recorded one. */
  readonly notes: ReadonlyArray<Scalars['String']['output']>;
  /** What the replay was asked for. */
  readonly parameters: Scalars['JSON']['output'];
  /** The program that replayed. */
  readonly codeVersion: Scalars['String']['output'];
  /** How long it took. */
  readonly seconds: Scalars['SafeInt']['output'];
  /** When it ended. */
  readonly finishedAt: Scalars['DateTime']['output'];
};

/** What replays are chosen by; all parts must hold. */
export type ReplayFilter = {
  /** The run. */
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  /** What was done over. */
  readonly mode?: InputMaybe<ReplayMode>;
  /** How it came out. */
  readonly outcome?: InputMaybe<ReplayOutcome>;
};

/** What can be done over from the record. */
export type ReplayMode =
  /** The read models, folded again. */
  | 'projections'
  /** The recorded actions, executed again. */
  | 'environment'
  /** The history images, drawn again. */
  | 'images'
  /** The rewards, scored again. */
  | 'scores'
  /** The updates of a policy, computed again. */
  | 'training'
  /** A run that goes on from a recorded step. */
  | 'fork';

/** How a replay came out. */
export type ReplayOutcome =
  /** All that was compared is the same. */
  | 'equal'
  /** Something is not. */
  | 'differs';

/** One thing that came out otherwise. */
export type ReplayDifference = {
  readonly __typename?: 'ReplayDifference';
  /** The event that recorded it. */
  readonly eventId?: Maybe<Scalars['ID']['output']>;
  /** The step that it belongs to. */
  readonly stepId?: Maybe<Scalars['ID']['output']>;
  /** Which part of it. */
  readonly field: Scalars['String']['output'];
  /** What is on record. */
  readonly recorded: Scalars['String']['output'];
  /** What came out. */
  readonly replayed: Scalars['String']['output'];
};

/** A revision trajectory: a bad one up to its first error, a reflection, and a good one from where the two part (Agent-R). */
export type Revision = {
  readonly __typename?: 'Revision';
  /** Its id, which follows from its tree, leaves, content, judge and thresholds. */
  readonly id: Scalars['ID']['output'];
  /** The id of its tree. */
  readonly treeId: Scalars['ID']['output'];
  /** Its tree. */
  readonly tree?: Maybe<Tree>;
  /** The id of its run. */
  readonly runId: Scalars['ID']['output'];
  /** The last step of the good trajectory; `path` returns all of it. */
  readonly goodLeaf?: Maybe<Step>;
  /** The last step of the bad trajectory; `path` returns all of it. */
  readonly badLeaf?: Maybe<Step>;
  /** The last step of the bad trajectory that the good one shares in its words; the root when there is none. */
  readonly branch?: Maybe<Step>;
  /** The last bad step that is kept. */
  readonly transition?: Maybe<Step>;
  /** Why the bad trajectory is given up there: bad (the judge rejected it), none-bad (it rejected none), unparsed, direct (nobody was asked). */
  readonly cause: Scalars['String']['output'];
  /** The revision length: how many steps were judged, the rejected one included. */
  readonly judged: Scalars['Int']['output'];
  /** What the agent says when it turns back. */
  readonly reflection: Scalars['String']['output'];
  /** Where the reflection is: thought (behind the label of the first good reply), in-form (in the thought of the first good reply, by that reply's own form) or turn (a turn of its own). */
  readonly signal: Scalars['String']['output'];
  /** What the good trajectory reaches at least. */
  readonly alpha: Scalars['Float']['output'];
  /** By how much it is better than the bad one at least. */
  readonly beta: Scalars['Float']['output'];
  /** The judge, name@revision. */
  readonly judge: Scalars['String']['output'];
  /** The SHA-256 of what a reader of it sees: equal hashes teach the same. */
  readonly contentHash: Scalars['String']['output'];
  /** How far it got. */
  readonly state: RevisionState;
  /** What it reached when it was executed; null when it was not, or not to its end. */
  readonly reached?: Maybe<Scalars['Float']['output']>;
  /** What it had to reach. */
  readonly threshold?: Maybe<Scalars['Float']['output']>;
  /** Why it was rejected: diverged, impossible, below or malformed. */
  readonly reason?: Maybe<Scalars['String']['output']>;
  /** What was seen when it was rejected. */
  readonly detail?: Maybe<Scalars['String']['output']>;
  /** The step at which it was rejected. */
  readonly rejectedAt?: Maybe<Step>;
  /** When it was composed. */
  readonly composedAt: Scalars['DateTime']['output'];
  /** When it was verified or rejected; null while it was not executed. */
  readonly checkedAt?: Maybe<Scalars['DateTime']['output']>;
  /** What its judge said of the steps of the bad trajectory, in their order. */
  readonly judgements: ReadonlyArray<Judgement>;
  /** Its turns, made again from the tree. */
  readonly turns: ReadonlyArray<RevisionTurn>;
  /** What was said of it, in the order in which it was added; without what was retracted. */
  readonly annotations: ReadonlyArray<Annotation>;
  /** The dataset releases that hold it. */
  readonly datasets: DatasetConnection;
};


/** A revision trajectory: a bad one up to its first error, a reflection, and a good one from where the two part (Agent-R). */
export type RevisionDatasetsArgs = {
  filter?: InputMaybe<DatasetFilter>;
  orderBy?: DatasetOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};

/** How far a revision got. */
export type RevisionState =
  /** It was put together. */
  | 'composed'
  /** It was executed and came out as written, not below its threshold. */
  | 'verified'
  /** It was executed and did not. */
  | 'rejected';

/** A turn of a revision trajectory. */
export type RevisionTurn = {
  readonly __typename?: 'RevisionTurn';
  /** The part it belongs to: bad, signal or good. */
  readonly part: Scalars['String']['output'];
  /** The step it comes from; null for a turn that nobody took. */
  readonly stepId?: Maybe<Scalars['ID']['output']>;
  /** What the agent says in it. */
  readonly response: Scalars['String']['output'];
  /** What the environment answered. */
  readonly observation: Scalars['String']['output'];
  /** The reply is trained on. */
  readonly loss: Scalars['Boolean']['output'];
  /** The text of each token of the reply: as recorded with its step, else by a tokenizer that is known; null without either. */
  readonly responseTokens?: Maybe<ReadonlyArray<Scalars['String']['output']>>;
  /** The text of each token of the answer, which is not trained on, by that tokenizer; null without one. */
  readonly observationTokens?: Maybe<ReadonlyArray<Scalars['String']['output']>>;
};

/** What a judge said of a step on a trajectory. */
export type Judgement = {
  readonly __typename?: 'Judgement';
  /** Its id. */
  readonly id: Scalars['ID']['output'];
  /** The step. */
  readonly stepId: Scalars['ID']['output'];
  /** The step. */
  readonly step?: Maybe<Step>;
  /** The trajectory, by its last step. */
  readonly leafStepId: Scalars['ID']['output'];
  /** The place of the step on the trajectory, from 0. */
  readonly index: Scalars['Int']['output'];
  /** The judge, name@revision. */
  readonly judge: Scalars['String']['output'];
  /** The SHA-256 of what it was asked: one hash, one verdict. */
  readonly promptHash: Scalars['String']['output'];
  /** What a model was asked with, in the judgement that it really answered; null for a judge that reads no prompt, and where none is recorded. */
  readonly prompt?: Maybe<Prompt>;
  /** Its verdict. */
  readonly verdict: Verdict;
  /** All that it said. */
  readonly reply: Scalars['String']['output'];
  /** The judgement whose answer this one repeats; null when the judge was asked. */
  readonly reusedFrom?: Maybe<Scalars['ID']['output']>;
  /** When it was recorded. */
  readonly judgedAt: Scalars['DateTime']['output'];
  /** Texts that are longer than 64 KiB. */
  readonly largeTexts: ReadonlyArray<LargeText>;
};

/** What a judge can say of a step. */
export type Verdict =
  /** It brings the agent closer to the goal. */
  | 'good'
  /** It hinders. */
  | 'bad'
  /** Neither, or it cannot be decided. */
  | 'uncertain'
  /** The reply holds no verdict that can be read. */
  | 'unparsed';

/** What revisions are chosen by; all parts must hold. */
export type RevisionFilter = {
  /** How far they got. */
  readonly state?: InputMaybe<RevisionState>;
  /** The judge, name@revision. */
  readonly judge?: InputMaybe<Scalars['String']['input']>;
  /** Examples of this dataset were made of them. */
  readonly dataset?: InputMaybe<Scalars['ID']['input']>;
};

/** One walk of a policy from a step to an end. */
export type Rollout = {
  readonly __typename?: 'Rollout';
  /** Its id. */
  readonly id: Scalars['ID']['output'];
  /** The id of its tree. */
  readonly treeId: Scalars['ID']['output'];
  /** Its tree. */
  readonly tree?: Maybe<Tree>;
  /** What showing histories as images amounts to, over the steps that it took. */
  readonly imageTotals: ImageTotals;
  /** The id of its run. */
  readonly runId: Scalars['ID']['output'];
  /** Its run; null until its start is projected. */
  readonly run?: Maybe<Run>;
  /** The id of its task. */
  readonly taskId: Scalars['ID']['output'];
  /** The environment. */
  readonly environment: Scalars['String']['output'];
  /** The step it began at. */
  readonly fromStepId: Scalars['ID']['output'];
  /** Its place among the rollouts of its tree. */
  readonly ordinal: Scalars['Int']['output'];
  /** Its seed. */
  readonly seed: Scalars['SafeInt']['output'];
  /** The policy that acted. */
  readonly policy: PolicyVersion;
  /** What became of it as a training sample; null when it may train no policy, or goes on. */
  readonly sample?: Maybe<TrainingSample>;
  /** When it started. */
  readonly startedAt: Scalars['DateTime']['output'];
  /** When it finished; null while it goes on. */
  readonly finishedAt?: Maybe<Scalars['DateTime']['output']>;
  /** How it ended; null while it goes on. */
  readonly outcome?: Maybe<RolloutOutcome>;
  /** What the environment says of it; null when it says nothing. */
  readonly success?: Maybe<Scalars['Boolean']['output']>;
  /** The step it ended at. */
  readonly leafId?: Maybe<Scalars['ID']['output']>;
  /** The step it ended at. */
  readonly leaf?: Maybe<Step>;
  /** How many steps it took. */
  readonly stepCount?: Maybe<Scalars['Int']['output']>;
  /** What was said at its end. */
  readonly reason?: Maybe<Scalars['String']['output']>;
  /** The sum of the rewards in force along its path and on it; null while it goes on. */
  readonly return?: Maybe<Scalars['Float']['output']>;
  /** The rewards on the rollout as a whole, all or those of one component. */
  readonly rewards: ReadonlyArray<Reward>;
  /** Its trajectory; null while it goes on. */
  readonly trajectory?: Maybe<Trajectory>;
  /** What was said of the rollout as a whole, in the order in which it was added; without what was retracted. */
  readonly annotations: ReadonlyArray<Annotation>;
};


/** One walk of a policy from a step to an end. */
export type RolloutRewardsArgs = {
  component?: InputMaybe<Scalars['String']['input']>;
};

/** How a rollout ended: four different things. */
export type RolloutOutcome =
  /** The environment ended it. */
  | 'terminated'
  /** A limit ended it. */
  | 'truncated'
  /** It could not go on. */
  | 'failed'
  /** Someone ended it. */
  | 'cancelled';

/** The root-to-leaf path of a finished rollout. */
export type Trajectory = {
  readonly __typename?: 'Trajectory';
  /** The id of its rollout. */
  readonly id: Scalars['ID']['output'];
  /** Its rollout. */
  readonly rollout: Rollout;
  /** The id of its tree. */
  readonly treeId: Scalars['ID']['output'];
  /** Its tree. */
  readonly tree?: Maybe<Tree>;
  /** The sum of the rewards in force along the path and on the rollout. */
  readonly return: Scalars['Float']['output'];
  /** The return of each component, by name. */
  readonly returns: ReadonlyArray<ComponentReturn>;
  /** How many actions the path has. */
  readonly length: Scalars['Int']['output'];
  /** The id of its last step. */
  readonly leafId: Scalars['ID']['output'];
  /** Its last step. */
  readonly leaf?: Maybe<Step>;
  /** Its steps, root first; whole, or in parts as `path` of Query. */
  readonly steps: ReadonlyArray<Step>;
  /** Its rewards, those of its steps along the path and then those on the rollout; all or those of one component. */
  readonly rewards: ReadonlyArray<Reward>;
  /** The dataset releases that hold examples made of it, as the good or the bad one. */
  readonly datasets: DatasetConnection;
};


/** The root-to-leaf path of a finished rollout. */
export type TrajectoryStepsArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['Int']['input']>;
};


/** The root-to-leaf path of a finished rollout. */
export type TrajectoryRewardsArgs = {
  component?: InputMaybe<Scalars['String']['input']>;
};


/** The root-to-leaf path of a finished rollout. */
export type TrajectoryDatasetsArgs = {
  filter?: InputMaybe<DatasetFilter>;
  orderBy?: DatasetOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};

/** A scalar judgement on a step or on a whole rollout. */
export type Reward = {
  readonly __typename?: 'Reward';
  /** Its id. */
  readonly id: Scalars['ID']['output'];
  /** The step it judges; null when it judges the rollout. */
  readonly stepId?: Maybe<Scalars['ID']['output']>;
  /** The rollout it belongs to. */
  readonly rolloutId?: Maybe<Scalars['ID']['output']>;
  /** What it is about: environment, process, format, … */
  readonly component: Scalars['String']['output'];
  /** The judgement in force. */
  readonly value: Scalars['Float']['output'];
  /** The first judgement. */
  readonly assignedValue: Scalars['Float']['output'];
  /** Who judged, in force. */
  readonly scorer: Scorer;
  /** What the environment said before it was normalised. */
  readonly raw?: Maybe<RawReward>;
  /** How many later judgements there are. */
  readonly revisionCount: Scalars['Int']['output'];
  /** The later judgements, oldest first. */
  readonly revisions: ReadonlyArray<RewardRevision>;
  /** When it was assigned. */
  readonly assignedAt: Scalars['DateTime']['output'];
  /** When it was last judged again. */
  readonly revisedAt?: Maybe<Scalars['DateTime']['output']>;
};

/** A later judgement of a reward; the earlier ones stay in the record. */
export type RewardRevision = {
  readonly __typename?: 'RewardRevision';
  /** The id of its event. */
  readonly id: Scalars['ID']['output'];
  /** Its place among the revisions of the reward. */
  readonly ordinal: Scalars['Int']['output'];
  /** The new value. */
  readonly value: Scalars['Float']['output'];
  /** Who judged. */
  readonly scorer: Scorer;
  /** Why. */
  readonly reason: Scalars['String']['output'];
  /** When. */
  readonly occurredAt: Scalars['DateTime']['output'];
};

/** Who judged: the scorer and the revision of its rules. */
export type Scorer = {
  readonly __typename?: 'Scorer';
  /** The scorer. */
  readonly name: Scalars['String']['output'];
  /** The revision of its rules. */
  readonly revision: Scalars['String']['output'];
};

/** A reward as the environment gave it. */
export type RawReward = {
  readonly __typename?: 'RawReward';
  /** Its value. */
  readonly value: Scalars['Float']['output'];
  /** What it is divided by. */
  readonly scale: Scalars['Float']['output'];
  /** Whether it is final, cumulative or a delta. */
  readonly kind: Scalars['String']['output'];
};

/** The part of a return that one component makes. */
export type ComponentReturn = {
  readonly __typename?: 'ComponentReturn';
  /** The component. */
  readonly component: Scalars['String']['output'];
  /** The sum of its rewards in force. */
  readonly value: Scalars['Float']['output'];
  /** How many rewards were summed. */
  readonly rewards: Scalars['Int']['output'];
};

/** What rollouts are chosen by; all parts must hold. */
export type RolloutFilter = {
  /** The run. */
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  /** The tree. */
  readonly tree?: InputMaybe<Scalars['ID']['input']>;
  /** The task. */
  readonly task?: InputMaybe<Scalars['ID']['input']>;
  /** The environment. */
  readonly environment?: InputMaybe<Scalars['String']['input']>;
  /** How it ended: one of these. */
  readonly outcomes?: InputMaybe<ReadonlyArray<RolloutOutcome>>;
  /** It is finished (true) or goes on (false). */
  readonly finished?: InputMaybe<Scalars['Boolean']['input']>;
  /** What the environment says of it. */
  readonly success?: InputMaybe<Scalars['Boolean']['input']>;
  /** What it, or a step that it took, is annotated with. */
  readonly annotated?: InputMaybe<AnnotatedFilter>;
  /** The name of the policy. */
  readonly policy?: InputMaybe<Scalars['String']['input']>;
  /** The version of the policy. */
  readonly policyVersion?: InputMaybe<IntRange>;
  /** It finished in this time. */
  readonly finishedIn?: InputMaybe<TimeRange>;
};

/** What trajectories are chosen by; all parts must hold. */
export type TrajectoryFilter = {
  /** The run. */
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  /** The tree. */
  readonly tree?: InputMaybe<Scalars['ID']['input']>;
  /** The task. */
  readonly task?: InputMaybe<Scalars['ID']['input']>;
  /** The environment. */
  readonly environment?: InputMaybe<Scalars['String']['input']>;
  /** How it ended: one of these. */
  readonly outcomes?: InputMaybe<ReadonlyArray<RolloutOutcome>>;
  /** What the environment says of it. */
  readonly success?: InputMaybe<Scalars['Boolean']['input']>;
  /** What it, or a step that it took, is annotated with. */
  readonly annotated?: InputMaybe<AnnotatedFilter>;
  /** Its return. */
  readonly return?: InputMaybe<FloatRange>;
  /** How many actions its rollout took. */
  readonly stepCount?: InputMaybe<IntRange>;
  /** The name of the policy. */
  readonly policy?: InputMaybe<Scalars['String']['input']>;
  /** The version of the policy. */
  readonly policyVersion?: InputMaybe<IntRange>;
  /** It finished in this time. */
  readonly finishedIn?: InputMaybe<TimeRange>;
  /** Examples of this dataset were made of them. */
  readonly dataset?: InputMaybe<Scalars['ID']['input']>;
};

/** The order of rollouts; equal ones by their id. Those that go on stand after the finished in ascending order, before them in descending order. */
export type RolloutOrder =
  /** The first to finish first. */
  | 'FINISHED_ASC'
  /** The last to finish first. */
  | 'FINISHED_DESC'
  /** The shortest first. */
  | 'STEPS_ASC'
  /** The longest first. */
  | 'STEPS_DESC';

/** The order of trajectories; equal ones by their id. */
export type TrajectoryOrder =
  /** The first to finish first. */
  | 'FINISHED_ASC'
  /** The last to finish first. */
  | 'FINISHED_DESC'
  /** The lowest return first. */
  | 'RETURN_ASC'
  /** The highest return first. */
  | 'RETURN_DESC'
  /** The shortest first. */
  | 'STEPS_ASC'
  /** The longest first. */
  | 'STEPS_DESC';

/** One execution: configuration, seed, code version, environments. */
export type Run = {
  readonly __typename?: 'Run';
  /** Its id. */
  readonly id: Scalars['ID']['output'];
  /** Its name. */
  readonly name: Scalars['String']['output'];
  /** What it does. */
  readonly kind: RunKind;
  /** The seed from which all others are derived. */
  readonly seed: Scalars['SafeInt']['output'];
  /** The program that wrote it. */
  readonly codeVersion: Scalars['String']['output'];
  /** Everything else that determines it. */
  readonly config: Scalars['JSON']['output'];
  /** The environments it acts in, with the fingerprint of their world. */
  readonly environments: ReadonlyArray<RunEnvironment>;
  /** The policy it began with; null when it has none. */
  readonly policy?: Maybe<PolicyVersion>;
  /** When it started. */
  readonly startedAt: Scalars['DateTime']['output'];
  /** When it finished; null while it goes on. */
  readonly finishedAt?: Maybe<Scalars['DateTime']['output']>;
  /** How it finished; null while it goes on. */
  readonly outcome?: Maybe<RunOutcome>;
  /** What was said at its end. */
  readonly message?: Maybe<Scalars['String']['output']>;
  /** Something of its payload is forgotten: of the run itself, or of trees of it (`forgotten` of Tree says of which). */
  readonly forgotten: Scalars['Boolean']['output'];
  /** The experiment it belongs to. */
  readonly experiment?: Maybe<Experiment>;
  /** The project that it belongs to; null until that is projected. */
  readonly project?: Maybe<Scalars['String']['output']>;
  /** Who owns it: `local`, or `key:` and the id of an API key; null until that is projected. */
  readonly owner?: Maybe<Scalars['String']['output']>;
  /** What it amounts to so far. */
  readonly totals: RunTotals;
  /** How much is written of it, and how fast. */
  readonly activity: RunActivity;
  /** Why the last 200 of its failed rollouts failed, the most frequent reason first, `first` of the reasons. */
  readonly failures: ReadonlyArray<FailureReason>;
  /** The returns of its rollouts that finished last, in the order in which they finished. `last` is at most 500. */
  readonly lastReturns: ReadonlyArray<Scalars['Float']['output']>;
  /** What showing histories as images amounts to so far. */
  readonly imageTotals: ImageTotals;
  /** The images of histories that its steps were shown, an image for each step. */
  readonly historyImages: HistoryImageConnection;
  /** The specs that it draws histories by. */
  readonly renderSpecs: ReadonlyArray<RenderSpec>;
  /** Its success by the depth of the tasks, shallow first. */
  readonly successByDepth: ReadonlyArray<DepthTotals>;
  /** What its policy achieved; null for a run that is no evaluation, or one that goes on. */
  readonly evaluation?: Maybe<Evaluation>;
  /** Where it goes on from; null for a run that is no fork. */
  readonly forkOf?: Maybe<ForkOrigin>;
  /** The runs that go on from its steps, as they started. */
  readonly forks: ReadonlyArray<Run>;
  /** Where prompts do not continue the tokens before them. */
  readonly drift: Drift;
  /** What was done over from its record, oldest first. */
  readonly replays: ReadonlyArray<Replay>;
  /** The last points of its metrics, oldest first. `last` is at most 5,000. */
  readonly metrics: ReadonlyArray<Metric>;
  /** What published systems report of a run, under their names and computed from the record: `episode/success_rate`, `episode/pick_and_place_success_rate`, `episode/valid_action_ratio`, `memory_visual_token_count`, `em`, `subem`, `format`, … What the record does not hold is left out. */
  readonly publishedMetrics: ReadonlyArray<PublishedMetric>;
  /** Its trees. */
  readonly trees: TreeConnection;
  /** Its rollouts. */
  readonly rollouts: RolloutConnection;
  /** Its trajectories. */
  readonly trajectories: TrajectoryConnection;
  /** The revisions that were mined from its trees, in the order in which they were composed. */
  readonly revisions: RevisionConnection;
  /** The dataset releases that hold examples of its trees. */
  readonly datasets: DatasetConnection;
};


/** One execution: configuration, seed, code version, environments. */
export type RunFailuresArgs = {
  first?: Scalars['Int']['input'];
};


/** One execution: configuration, seed, code version, environments. */
export type RunLastReturnsArgs = {
  last?: Scalars['Int']['input'];
};


/** One execution: configuration, seed, code version, environments. */
export type RunHistoryImagesArgs = {
  orderBy?: HistoryImageOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** One execution: configuration, seed, code version, environments. */
export type RunMetricsArgs = {
  name?: InputMaybe<Scalars['String']['input']>;
  last?: Scalars['Int']['input'];
};


/** One execution: configuration, seed, code version, environments. */
export type RunTreesArgs = {
  filter?: InputMaybe<TreeFilter>;
  orderBy?: TreeOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** One execution: configuration, seed, code version, environments. */
export type RunRolloutsArgs = {
  filter?: InputMaybe<RolloutFilter>;
  orderBy?: RolloutOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** One execution: configuration, seed, code version, environments. */
export type RunTrajectoriesArgs = {
  filter?: InputMaybe<TrajectoryFilter>;
  orderBy?: TrajectoryOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** One execution: configuration, seed, code version, environments. */
export type RunRevisionsArgs = {
  filter?: InputMaybe<RevisionFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** One execution: configuration, seed, code version, environments. */
export type RunDatasetsArgs = {
  filter?: InputMaybe<DatasetFilter>;
  orderBy?: DatasetOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};

/** The recorded step that a run goes on from. Its parts are null until they are projected. */
export type ForkOrigin = {
  readonly __typename?: 'ForkOrigin';
  /** The run that it was recorded in. */
  readonly run?: Maybe<Run>;
  /** Its tree. */
  readonly tree?: Maybe<Tree>;
  /** The step. */
  readonly step?: Maybe<Step>;
};

/** An environment of a run. */
export type RunEnvironment = {
  readonly __typename?: 'RunEnvironment';
  /** Its name. */
  readonly environment: Scalars['String']['output'];
  /** The fingerprint of the server and its world: equal fingerprints, equal behaviour. */
  readonly fingerprint: Scalars['String']['output'];
  /** The module by which the studio shows its steps; null where it brings none. */
  readonly renderer?: Maybe<Renderer>;
};

/** A JavaScript module that exports `render`: it returns what the studio shows of a step, in a frame that loads nothing. */
export type Renderer = {
  readonly __typename?: 'Renderer';
  /** The SHA-256 of its text. */
  readonly sha256: Scalars['String']['output'];
  /** Its text, at most 64 KiB. */
  readonly source: Scalars['String']['output'];
};

/** What a run does. */
export type RunKind =
  /** Rolls policies out. */
  | 'collect'
  /** Searches trees (MCTS). */
  | 'search'
  /** Takes over records of elsewhere. */
  | 'import'
  /** Measures a policy. */
  | 'evaluate'
  /** Goes on from recorded steps of another run. */
  | 'fork'
  /** Is written by a program elsewhere. */
  | 'external';

/** How a run finished. */
export type RunOutcome =
  /** It did all it set out to do. */
  | 'completed'
  /** It could not go on. */
  | 'failed'
  /** Someone ended it. */
  | 'cancelled';

/** A metric of a run under the name that a published system has for it. */
export type PublishedMetric = {
  readonly __typename?: 'PublishedMetric';
  /** Its name. */
  readonly name: Scalars['String']['output'];
  /** Its value. */
  readonly value: Scalars['Float']['output'];
  /** How many episodes, steps, images or rewards it is made of. */
  readonly count: Scalars['SafeInt']['output'];
};

/** What a run amounts to. Rates and means are null while there is nothing to divide by. */
export type RunTotals = {
  readonly __typename?: 'RunTotals';
  /** Its trees. */
  readonly trees: Scalars['SafeInt']['output'];
  /** Those that are closed. */
  readonly closedTrees: Scalars['SafeInt']['output'];
  /** Its rollouts, also those that go on. */
  readonly rollouts: Scalars['SafeInt']['output'];
  /** Rollouts that the environment ended. */
  readonly terminated: Scalars['SafeInt']['output'];
  /** Rollouts that met a limit. */
  readonly truncated: Scalars['SafeInt']['output'];
  /** Rollouts that could not go on. */
  readonly failed: Scalars['SafeInt']['output'];
  /** Rollouts that someone ended. */
  readonly cancelled: Scalars['SafeInt']['output'];
  /** Actions taken; the roots of the trees are no actions. */
  readonly steps: Scalars['SafeInt']['output'];
  /** Rollouts that the environment called a success. */
  readonly successes: Scalars['SafeInt']['output'];
  /** Successes per finished rollout, as in an evaluation: one that failed, was cut off or was not judged is none. Null where the environment judges none. */
  readonly successRate?: Maybe<Scalars['Float']['output']>;
  /** The mean return of its finished rollouts. */
  readonly meanReturn?: Maybe<Scalars['Float']['output']>;
  /** Tokens that the policy read, where its steps say how many. */
  readonly promptTokens: Scalars['SafeInt']['output'];
  /** Tokens that the policy wrote, where its steps say how many. */
  readonly completionTokens: Scalars['SafeInt']['output'];
};

/** How much is written of a run, and how fast. */
export type RunActivity = {
  readonly __typename?: 'RunActivity';
  /** Its events, of all kinds. */
  readonly events: Scalars['SafeInt']['output'];
  /** When the log took the last of them; null while there is none. */
  readonly lastEventAt?: Maybe<Scalars['DateTime']['output']>;
  /** Per second: in the last minute while it goes on (as of a moment: since its start), else from its start to its last event. Null where that is no time. */
  readonly eventsPerSecond?: Maybe<Scalars['Float']['output']>;
};

/** Why rollouts of a run failed. */
export type FailureReason = {
  readonly __typename?: 'FailureReason';
  /** The reason; empty where none is recorded. */
  readonly reason: Scalars['String']['output'];
  /** How many of the last 200 failed rollouts have it. */
  readonly rollouts: Scalars['Int']['output'];
  /** The id of the last of them. */
  readonly rolloutId: Scalars['ID']['output'];
};

/** What a run amounts to on the tasks of one depth. */
export type DepthTotals = {
  readonly __typename?: 'DepthTotals';
  /** The depth of the tasks; null for those without one. */
  readonly taskDepth?: Maybe<Scalars['Int']['output']>;
  /** Trees of such tasks. */
  readonly trees: Scalars['SafeInt']['output'];
  /** Such tasks. */
  readonly tasks: Scalars['SafeInt']['output'];
  /** Their rollouts, also those that go on. */
  readonly rollouts: Scalars['SafeInt']['output'];
  /** Those that are finished. */
  readonly finished: Scalars['SafeInt']['output'];
  /** Those that succeeded. */
  readonly successes: Scalars['SafeInt']['output'];
  /** Successes per finished rollout, as in an evaluation: one that failed, was cut off or was not judged is none. Null where the environment judges none. */
  readonly successRate?: Maybe<Scalars['Float']['output']>;
  /** The mean return of the finished ones. */
  readonly meanReturn?: Maybe<Scalars['Float']['output']>;
  /** The mean steps of the finished ones, from where each began. */
  readonly meanSteps?: Maybe<Scalars['Float']['output']>;
  /** The steps of the longest finished one. */
  readonly maxSteps?: Maybe<Scalars['Int']['output']>;
};

/** One point of a metric of a run. */
export type Metric = {
  readonly __typename?: 'Metric';
  /** The event that recorded it; `trace` goes on from there. */
  readonly eventId: Scalars['ID']['output'];
  /** The name of the metric. */
  readonly metric: Scalars['String']['output'];
  /** Its value. */
  readonly value: Scalars['Float']['output'];
  /** The step, update or simulation it belongs to. */
  readonly at?: Maybe<Scalars['SafeInt']['output']>;
  /** When it was recorded. */
  readonly occurredAt: Scalars['DateTime']['output'];
};

/** What runs are chosen by; all parts must hold. */
export type RunFilter = {
  /** The experiment. */
  readonly experiment?: InputMaybe<Scalars['ID']['input']>;
  /** What it does. */
  readonly kind?: InputMaybe<RunKind>;
  /** How it finished. */
  readonly outcome?: InputMaybe<RunOutcome>;
  /** It goes on (true) or is finished (false). */
  readonly running?: InputMaybe<Scalars['Boolean']['input']>;
  /** It acts in this environment. */
  readonly environment?: InputMaybe<Scalars['String']['input']>;
  /** It began with a version of this policy. */
  readonly policy?: InputMaybe<Scalars['String']['input']>;
  /** Each of these words begins a word of its id, its name or the message of its end, in any case. */
  readonly text?: InputMaybe<Scalars['String']['input']>;
  /** Something of it is annotated with this label. */
  readonly label?: InputMaybe<Scalars['String']['input']>;
  /** It started in this time. */
  readonly started?: InputMaybe<TimeRange>;
};

/** The order of runs; equal ones by their id. */
export type RunOrder =
  /** The first to start first. */
  | 'STARTED_ASC'
  /** The last to start first. */
  | 'STARTED_DESC';

/** One action and the observation that follows; also the tree node reached by it. The root has no action: its observation is the task's first. */
export type Step = {
  readonly __typename?: 'Step';
  /** Its id. */
  readonly id: Scalars['ID']['output'];
  /** The id of its tree. */
  readonly treeId: Scalars['ID']['output'];
  /** Its tree. */
  readonly tree?: Maybe<Tree>;
  /** The id of the step before; null for the root. */
  readonly parentId?: Maybe<Scalars['ID']['output']>;
  /** The step before. */
  readonly parent?: Maybe<Step>;
  /** The steps taken from here. */
  readonly children: ReadonlyArray<Step>;
  /** The path from the root to here, root first, this step last; whole, or in parts as `path` of Query. */
  readonly path: ReadonlyArray<Step>;
  /** Something of the payload of its tree is forgotten (`forgotten` of Tree). */
  readonly forgotten: Scalars['Boolean']['output'];
  /** How many actions lead here; the root has 0. */
  readonly depth: Scalars['Int']['output'];
  /** The offset of its event in the log: the order in which the tree grew. */
  readonly logOffset: Scalars['SafeInt']['output'];
  /** The id of the rollout that took it; null where a search expanded it. */
  readonly rolloutId?: Maybe<Scalars['ID']['output']>;
  /** The rollout that took it. */
  readonly rollout?: Maybe<Rollout>;
  /** What the policy answered, as it was. */
  readonly response: Scalars['String']['output'];
  /** The part of the answer that is thought. */
  readonly thought: Scalars['String']['output'];
  /** The action that was taken. */
  readonly action: Scalars['String']['output'];
  /** What the environment answered. */
  readonly observation: Scalars['String']['output'];
  /** The answer had the form that was asked for. */
  readonly wellFormatted: Scalars['Boolean']['output'];
  /** The environment could carry the action out. */
  readonly executable: Scalars['Boolean']['output'];
  /** Whether the episode ended here. */
  readonly termination: Termination;
  /** As the estimator of its rollout's batch sees it; null where that is in no batch. */
  readonly estimate?: Maybe<StepEstimate>;
  /** The policy version of each range of the sampled tokens. */
  readonly policySpans: ReadonlyArray<PolicySpan>;
  /** The sampled tokens as the engine gave them; null where it gave none. */
  readonly tokens?: Maybe<Tokens>;
  /** The text of each sampled token: where the record says at which it ends, by a tokenizer that the installation knows for the policy or the model (ESPALIER_TOKENIZERS), and of a response of one token; else null, and where the payload is forgotten. */
  readonly tokenTexts?: Maybe<ReadonlyArray<Scalars['String']['output']>>;
  /** How many tokens were read and written. */
  readonly usage?: Maybe<Usage>;
  /** Why the policy stopped writing. */
  readonly finishReason?: Maybe<Scalars['String']['output']>;
  /** The request to a model server that gave the answer; null where the policy asks none. */
  readonly call?: Maybe<ModelCall>;
  /** The call that it was captured from, by the proxy or from a trace; null where it was recorded otherwise. */
  readonly captured?: Maybe<CapturedCall>;
  /** How long it took. */
  readonly timings: Timings;
  /** The hash of the environment's state behind the action; its parent's is the anchor of the step: equal hashes are the same state. */
  readonly stateHash?: Maybe<Scalars['String']['output']>;
  /** The actions that were open after this step, where the environment names them. */
  readonly admissibleActions?: Maybe<ReadonlyArray<Scalars['String']['output']>>;
  /** When it was taken. */
  readonly occurredAt: Scalars['DateTime']['output'];
  /** Its rewards, all or those of one component. */
  readonly rewards: ReadonlyArray<Reward>;
  /** Its search statistics: now, or after the first `asOfSimulation` back-ups of its tree. Null where no back-up passed it. */
  readonly statistics?: Maybe<SearchStatistics>;
  /** The tools that were called in it. */
  readonly toolCalls: ReadonlyArray<ToolCall>;
  /** The pictures of its observation, in order; empty where it has none. */
  readonly pictures: ReadonlyArray<Picture>;
  /** The history that its prompt showed as an image; null where the prompt was text alone. */
  readonly historyImage?: Maybe<HistoryImage>;
  /** The prompt that it was asked with, as it was sent; null where none is recorded. */
  readonly prompt?: Maybe<Prompt>;
  /** Whether a prompt is recorded, without reading it. */
  readonly hasPrompt: Scalars['Boolean']['output'];
  /** The runs that go on from it, as they started. */
  readonly forks: ReadonlyArray<Run>;
  /** What replays of it showed instead. */
  readonly divergences: ReadonlyArray<Divergence>;
  /** What was said of the step, in the order in which it was added; without what was retracted. */
  readonly annotations: ReadonlyArray<Annotation>;
  /** Texts that are longer than 64 KiB. */
  readonly largeTexts: ReadonlyArray<LargeText>;
};


/** One action and the observation that follows; also the tree node reached by it. The root has no action: its observation is the task's first. */
export type StepPathArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['Int']['input']>;
};


/** One action and the observation that follows; also the tree node reached by it. The root has no action: its observation is the task's first. */
export type StepEstimateArgs = {
  rewards?: RewardsOf;
};


/** One action and the observation that follows; also the tree node reached by it. The root has no action: its observation is the task's first. */
export type StepRewardsArgs = {
  component?: InputMaybe<Scalars['String']['input']>;
};


/** One action and the observation that follows; also the tree node reached by it. The root has no action: its observation is the task's first. */
export type StepStatisticsArgs = {
  asOfSimulation?: InputMaybe<Scalars['SafeInt']['input']>;
};

/** How a step ended the episode. */
export type Termination =
  /** It goes on. */
  | 'none'
  /** The environment ended it. */
  | 'terminated'
  /** A limit ended it. */
  | 'truncated';

/** The policy version that sampled a range of tokens, [from, to). */
export type PolicySpan = {
  readonly __typename?: 'PolicySpan';
  /** The first token. */
  readonly from: Scalars['Int']['output'];
  /** The token after the last. */
  readonly to: Scalars['Int']['output'];
  /** The name of the policy. */
  readonly policyId: Scalars['String']['output'];
  /** Its training step. */
  readonly version: Scalars['Int']['output'];
};

/** Sampled tokens, packed: never re-tokenised, never JSON numbers. */
export type Tokens = {
  readonly __typename?: 'Tokens';
  /** The token ids (int32). */
  readonly ids: PackedArray;
  /** The log-probability of each (float32). */
  readonly logProbs?: Maybe<PackedArray>;
  /** 1 where the policy wrote the token, 0 where it was given (uint8). */
  readonly mask?: Maybe<PackedArray>;
  /** The index in the response, in Unicode code points, after the text of each (int32); null where it is not recorded. */
  readonly ends?: Maybe<PackedArray>;
  /** The entropy of the distribution that each was sampled from, in nats (float32); null where it is not recorded. */
  readonly entropies?: Maybe<PackedArray>;
};

/** An array of numbers as little-endian bytes. */
export type PackedArray = {
  readonly __typename?: 'PackedArray';
  /** The type of its elements: int32, float32 or uint8. */
  readonly dtype: Scalars['String']['output'];
  /** How many elements it has. */
  readonly length: Scalars['Int']['output'];
  /** Its bytes in base64. */
  readonly base64: Scalars['String']['output'];
};

/** How many tokens a step read and wrote. */
export type Usage = {
  readonly __typename?: 'Usage';
  /** Tokens of the prompt. */
  readonly promptTokens: Scalars['Int']['output'];
  /** Tokens of the answer. */
  readonly completionTokens: Scalars['Int']['output'];
};

/** An answered request to a model server: enough to find it again in the server's own record. */
export type ModelCall = {
  readonly __typename?: 'ModelCall';
  /** The server's id of the answer. */
  readonly responseId?: Maybe<Scalars['String']['output']>;
  /** The model that the server says it was. */
  readonly model?: Maybe<Scalars['String']['output']>;
  /** The SHA-256 of the request. */
  readonly requestHash: Scalars['String']['output'];
  /** How many times it was sent until it was answered. */
  readonly attempts: Scalars['Int']['output'];
  /** From the first sending to the whole answer, in milliseconds, the waits between attempts included. */
  readonly latencyMs: Scalars['Float']['output'];
  /** How many tokens the server counted, for all the choices of the request together. */
  readonly usage?: Maybe<Usage>;
  /** The steps of the history, [from, to), that were left out so that the prompt fits; null when it was whole. */
  readonly trimmed?: Maybe<Range>;
};

/** A range [from, to). */
export type Range = {
  readonly __typename?: 'Range';
  /** The first. */
  readonly from: Scalars['Int']['output'];
  /** The one after the last. */
  readonly to: Scalars['Int']['output'];
};

/** How long a step took, in milliseconds. */
export type Timings = {
  readonly __typename?: 'Timings';
  /** Waiting for the policy. */
  readonly policyMs: Scalars['Float']['output'];
  /** Waiting for the environment. */
  readonly environmentMs: Scalars['Float']['output'];
};

/** What a search knows of a step. */
export type SearchStatistics = {
  readonly __typename?: 'SearchStatistics';
  /** How many back-ups passed it. */
  readonly visits: Scalars['SafeInt']['output'];
  /** The sum of their values. */
  readonly valueSum: Scalars['Float']['output'];
  /** valueSum / visits. */
  readonly value: Scalars['Float']['output'];
};

/** One call of a tool within a step. */
export type ToolCall = {
  readonly __typename?: 'ToolCall';
  /** Its id. */
  readonly id: Scalars['ID']['output'];
  /** The step. */
  readonly stepId: Scalars['ID']['output'];
  /** Its place in the step, from 0. */
  readonly ordinal: Scalars['Int']['output'];
  /** The tool. */
  readonly tool: Scalars['String']['output'];
  /** What it was called with. */
  readonly arguments: Scalars['String']['output'];
  /** What it gave. */
  readonly output: Scalars['String']['output'];
  /** Whether it worked. */
  readonly outcome: ToolOutcome;
  /** How long it took, in milliseconds. */
  readonly durationMs: Scalars['Float']['output'];
  /** Texts that are longer than 64 KiB. */
  readonly largeTexts: ReadonlyArray<LargeText>;
};

/** Whether a tool worked. */
export type ToolOutcome =
  /** It did. */
  | 'ok'
  /** It did not; the output says why. */
  | 'error';

/** A policy that is trained from the record: its batches, its versions, and the account of its samples. */
export type TrainedPolicy = {
  readonly __typename?: 'TrainedPolicy';
  /** Its name. */
  readonly id: Scalars['String']['output'];
  /** How advantages are computed. */
  readonly estimator: TrainingMethod;
  /** Which groups make a batch, and how it is cut. */
  readonly rules: Scalars['JSON']['output'];
  /** The seed of the order in batches. */
  readonly seed: Scalars['SafeInt']['output'];
  /** What trainers receive besides. */
  readonly trainer?: Maybe<Scalars['JSON']['output']>;
  /** When its training was declared. */
  readonly declaredAt: Scalars['DateTime']['output'];
  /** How it is trained, as it was declared. */
  readonly declaration: TrainingDeclaration;
  /** What its next batch waits for; null while one is there to be leased. */
  readonly waiting?: Maybe<TrainingWaiting>;
  /** Its newest version; null before the first. */
  readonly newest?: Maybe<PolicyUpdate>;
  /** How its training came out when it was done over, oldest first. */
  readonly replays: ReadonlyArray<Replay>;
  /** What became of every sample. */
  readonly ledger: Ledger;
  /** The samples in its batches by how many versions old they were, the freshest first. */
  readonly staleness: ReadonlyArray<StalenessBin>;
  /** Its finished samples by one of their properties, with those that were rejected or abandoned: whether what is discarded is biased. Tasks with the most discarded ones come first, lengths and versions in their order. `first` is at most 500. */
  readonly discarded: ReadonlyArray<DiscardedSamples>;
  /** Its versions, the newest first. */
  readonly versions: PolicyUpdateConnection;
  /** Its batches, the last planned first. */
  readonly batches: BatchConnection;
};


/** A policy that is trained from the record: its batches, its versions, and the account of its samples. */
export type TrainedPolicyDiscardedArgs = {
  by: DiscardedBy;
  first?: Scalars['Int']['input'];
};


/** A policy that is trained from the record: its batches, its versions, and the account of its samples. */
export type TrainedPolicyVersionsArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** A policy that is trained from the record: its batches, its versions, and the account of its samples. */
export type TrainedPolicyBatchesArgs = {
  state?: InputMaybe<BatchState>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};

/** How a policy is trained: what its declaration says. A field is null where nothing was declared. */
export type TrainingDeclaration = {
  readonly __typename?: 'TrainingDeclaration';
  /** What computes updates: linear, torch, or a trainer elsewhere by the name that it chose. */
  readonly backend?: Maybe<Scalars['String']['output']>;
  /** The published recipe whose values it took. */
  readonly preset?: Maybe<Scalars['String']['output']>;
  /** Of the backend torch: the model, and what of the engine determines its numbers. */
  readonly torch?: Maybe<Scalars['JSON']['output']>;
  /** How advantages are computed. */
  readonly estimator: ChosenMethod;
  /** What is minimised. */
  readonly loss?: Maybe<ChosenMethod>;
  /** How token losses become one number. */
  readonly aggregation?: Maybe<Scalars['String']['output']>;
  /** What a sum of token losses is divided by. */
  readonly lossScale?: Maybe<Scalars['Float']['output']>;
  /** The penalty on leaving version 0. */
  readonly kl?: Maybe<Scalars['JSON']['output']>;
  /** The correction of tokens that an engine or an older version drew by other log-probabilities. */
  readonly correction?: Maybe<Scalars['JSON']['output']>;
  /** The rewards of single steps, apart from the outcome. */
  readonly processRewards?: Maybe<Scalars['JSON']['output']>;
  /** The critic, where the estimator takes values. */
  readonly critic?: Maybe<Scalars['JSON']['output']>;
  /** How gradients become steps. */
  readonly optimiser?: Maybe<Scalars['JSON']['output']>;
  /** How the policy is asked at each step. */
  readonly prompt?: Maybe<Scalars['JSON']['output']>;
  /** Rollouts of a group that our own collector draws. */
  readonly groupSize?: Maybe<Scalars['Int']['output']>;
  /** Which groups make a batch, and how it is cut. */
  readonly rules: Scalars['JSON']['output'];
  /** The seed of the order in batches. */
  readonly seed: Scalars['SafeInt']['output'];
  /** All of it as PUT /v1/training/policies/{id} takes it: another policy that is declared so is trained alike. */
  readonly source: Scalars['JSON']['output'];
};

/** A computation and the options that were chosen of it. */
export type ChosenMethod = {
  readonly __typename?: 'ChosenMethod';
  /** Its name. */
  readonly name: Scalars['String']['output'];
  /** Its options. */
  readonly options: Scalars['JSON']['output'];
};

/** Why there is no batch to be leased. */
export type TrainingWaiting = {
  readonly __typename?: 'TrainingWaiting';
  /** What is missing. */
  readonly for: WaitingFor;
  /** What has to come next, in words. */
  readonly next: Scalars['String']['output'];
  /** Groups whose members have not all ended. */
  readonly openGroups: Scalars['SafeInt']['output'];
  /** Groups whose members have, or whose run is over. */
  readonly closedGroups: Scalars['SafeInt']['output'];
  /** Closed groups that are fit for the next batch. */
  readonly readyGroups: Scalars['SafeInt']['output'];
  /** Closed groups of which no member is trained on, by reason. */
  readonly rejectedGroups: ReadonlyArray<RejectedGroups>;
};

/** Groups that were rejected for one reason. */
export type RejectedGroups = {
  readonly __typename?: 'RejectedGroups';
  /** The reason. */
  readonly reason: Scalars['String']['output'];
  /** How many. */
  readonly groups: Scalars['SafeInt']['output'];
};

/** What a batch waits for. */
export type WaitingFor =
  /** A declaration of how the policy is trained. */
  | 'declaration'
  /** Version 0, which its trainer makes. */
  | 'first_version'
  /** The lease of another consumer, to end. */
  | 'lease'
  /** A run that feeds the policy. */
  | 'runs'
  /** A planner: a batch can be planned, and none did yet. */
  | 'planner'
  /** Rewards of closed groups. */
  | 'scores'
  /** Greedy rollouts of the tasks of closed groups. */
  | 'greedy_sibling'
  /** Members of open groups. */
  | 'members'
  /** Further groups of runs that are not over. */
  | 'groups'
  /** Further runs: those that feed the policy are over. */
  | 'tasks';

/** A computation by name, revision and what was chosen of it. */
export type TrainingMethod = {
  readonly __typename?: 'TrainingMethod';
  /** Its name. */
  readonly name: Scalars['String']['output'];
  /** Its revision: it changes when the numbers change. */
  readonly revision: Scalars['String']['output'];
  /** What was chosen of it. */
  readonly mode?: Maybe<Scalars['JSON']['output']>;
};

/** The account of a policy's samples: produced = trained + rejected + abandoned + owed. */
export type Ledger = {
  readonly __typename?: 'Ledger';
  /** Finished rollouts that may train it. */
  readonly produced: Scalars['SafeInt']['output'];
  /** Those in a batch that produced a version. */
  readonly trained: Scalars['SafeInt']['output'];
  /** Those that no batch will hold, by reason. */
  readonly rejected: ReadonlyArray<RejectedSamples>;
  /** Those in batches that were abandoned. */
  readonly abandoned: Scalars['SafeInt']['output'];
  /** Those of which nothing final is said yet. */
  readonly owed: OwedSamples;
  /** produced - trained - rejected - abandoned - owed: always 0, or a sample was lost or counted twice. */
  readonly difference: Scalars['SafeInt']['output'];
  /** Rollouts that have begun and not ended. */
  readonly running: Scalars['SafeInt']['output'];
};

/** Samples that were rejected for one reason. */
export type RejectedSamples = {
  readonly __typename?: 'RejectedSamples';
  /** The reason. */
  readonly reason: Scalars['String']['output'];
  /** How many. */
  readonly samples: Scalars['SafeInt']['output'];
};

/** What discarded samples are counted by. */
export type DiscardedBy =
  /** Their task. */
  | 'TASK'
  /** How many actions they took, by powers of two. */
  | 'LENGTH'
  /** The oldest version that acted in them. */
  | 'VERSION';

/** Finished samples of a policy that share a property; what they are not counted by is null. */
export type DiscardedSamples = {
  readonly __typename?: 'DiscardedSamples';
  /** The task. */
  readonly task?: Maybe<Task>;
  /** The group of one of them; of a task one of its trees. */
  readonly tree?: Maybe<Tree>;
  /** How many actions they took, [from, to). */
  readonly length?: Maybe<Range>;
  /** The oldest version that acted in them; null also where none is recorded. */
  readonly version?: Maybe<Scalars['Int']['output']>;
  /** How many there are. */
  readonly produced: Scalars['SafeInt']['output'];
  /** Those that were rejected, or whose batch was abandoned. */
  readonly discarded: Scalars['SafeInt']['output'];
  /** The groups that they belong to: members of a group are often rejected together, so that groups are what varies by itself. */
  readonly groups: Scalars['SafeInt']['output'];
  /** Those that were rejected, by reason; those of abandoned batches as `abandoned`. */
  readonly reasons: ReadonlyArray<RejectedSamples>;
};

/** Samples that will be trained or rejected. */
export type OwedSamples = {
  readonly __typename?: 'OwedSamples';
  /** Their group is not closed. */
  readonly group: Scalars['SafeInt']['output'];
  /** Their group is closed, and in no batch yet. */
  readonly ready: Scalars['SafeInt']['output'];
  /** In a batch that nobody has. */
  readonly planned: Scalars['SafeInt']['output'];
  /** In a batch that a trainer has. */
  readonly leased: Scalars['SafeInt']['output'];
};

/** Samples of one age. */
export type StalenessBin = {
  readonly __typename?: 'StalenessBin';
  /** Versions between the oldest span of a sample and the version that its batch is trained on. */
  readonly staleness: Scalars['Int']['output'];
  /** How many samples. */
  readonly samples: Scalars['SafeInt']['output'];
};

/** A version of a policy, and what it was made of: version ← batch ← rollouts ← versions is the graph of its descent. */
export type PolicyUpdate = {
  readonly __typename?: 'PolicyUpdate';
  /** The policy. */
  readonly policyId: Scalars['String']['output'];
  /** The version. */
  readonly version: Scalars['Int']['output'];
  /** The version that it was trained from; null for a beginning. */
  readonly parent?: Maybe<PolicyUpdate>;
  /** The batch that made it; null for a beginning. */
  readonly batch?: Maybe<Batch>;
  /** The checkpoint that holds it. */
  readonly checkpointId: Scalars['ID']['output'];
  /** The SHA-256 of its weights. */
  readonly weights: Scalars['String']['output'];
  /** How advantages were computed; null for a beginning, and where behaviour was cloned. */
  readonly estimator?: Maybe<TrainingMethod>;
  /** What was minimised; null for a beginning. */
  readonly loss?: Maybe<TrainingMethod>;
  /** How many samples it was trained on. */
  readonly samples: Scalars['SafeInt']['output'];
  /** What was measured at the update. */
  readonly metrics: Scalars['JSON']['output'];
  /** What the samples of its batch amount to; null for a beginning. */
  readonly outcome?: Maybe<UpdateOutcome>;
  /** The batches of its policy in whose samples it acted, the first one first, `first` of them. */
  readonly actedIn: ReadonlyArray<Batch>;
  /** When it was made. */
  readonly updatedAt: Scalars['DateTime']['output'];
};


/** A version of a policy, and what it was made of: version ← batch ← rollouts ← versions is the graph of its descent. */
export type PolicyUpdateActedInArgs = {
  first?: Scalars['Int']['input'];
};

/** What the samples of an update amount to, whatever its trainer measured. A figure is null where there is nothing to divide by. */
export type UpdateOutcome = {
  readonly __typename?: 'UpdateOutcome';
  /** Successes per sample; null where the environment judges none. */
  readonly successRate?: Maybe<Scalars['Float']['output']>;
  /** The mean of the sums of their rewards in force. */
  readonly meanReturn?: Maybe<Scalars['Float']['output']>;
  /** The mean of the versions between the oldest span of a sample and the version that was trained. */
  readonly staleness?: Maybe<Scalars['Float']['output']>;
  /** Tokens that a policy sampled. */
  readonly sampledTokens: Scalars['SafeInt']['output'];
  /** How long the trainer had the batch, in milliseconds. */
  readonly trainedMs?: Maybe<Scalars['Float']['output']>;
  /** Sampled tokens by the second that the trainer had the batch. */
  readonly tokensPerSecond?: Maybe<Scalars['Float']['output']>;
};

/** What one update consumes, in which order. */
export type Batch = {
  readonly __typename?: 'Batch';
  /** Its id. */
  readonly id: Scalars['ID']['output'];
  /** Its place among the batches of its policy, from 0. */
  readonly ordinal: Scalars['Int']['output'];
  /** Its state. */
  readonly state: BatchState;
  /** The policy. */
  readonly policyId: Scalars['String']['output'];
  /** The version that it is trained on. */
  readonly base: PolicyVersion;
  /** The version that it made; null until it is trained. */
  readonly update?: Maybe<PolicyUpdate>;
  /** How it was abandoned; null where it was not. */
  readonly abandonment?: Maybe<BatchAbandonment>;
  /** How advantages are computed. */
  readonly estimator: TrainingMethod;
  /** The rules that chose it. */
  readonly rules: Scalars['JSON']['output'];
  /** The seed of its order. */
  readonly seed: Scalars['SafeInt']['output'];
  /** How far the planner had read. */
  readonly position: Scalars['String']['output'];
  /** How many groups. */
  readonly groupCount: Scalars['Int']['output'];
  /** How many samples. */
  readonly sampleCount: Scalars['Int']['output'];
  /** Tokens of all samples together. */
  readonly tokens: Scalars['SafeInt']['output'];
  /** The places of the samples of each micro-batch. */
  readonly shards: Scalars['JSON']['output'];
  /** The manifest of the batch before; null for the first. */
  readonly previousHash?: Maybe<Scalars['String']['output']>;
  /** The SHA-256 of what it holds, that of the batch before within. */
  readonly manifestHash: Scalars['String']['output'];
  /** When it was planned. */
  readonly plannedAt: Scalars['DateTime']['output'];
  /** Its samples in its order, `first` of them from the place `from` on. */
  readonly samples: ReadonlyArray<TrainingSample>;
  /** Who had it, the first one first. */
  readonly leases: ReadonlyArray<BatchLease>;
  /** Its samples by how many versions old they were, the freshest first. */
  readonly staleness: ReadonlyArray<StalenessBin>;
  /** The versions that acted in its samples, by policy, the newest first. */
  readonly actors: ReadonlyArray<BatchActor>;
  /** What its estimator sees of it, and the advantages that follow. */
  readonly estimates: BatchEstimates;
};


/** What one update consumes, in which order. */
export type BatchSamplesArgs = {
  from?: Scalars['Int']['input'];
  first?: Scalars['Int']['input'];
};


/** What one update consumes, in which order. */
export type BatchEstimatesArgs = {
  rewards?: RewardsOf;
};

/** The state of a batch. */
export type BatchState =
  /** Nobody has it. */
  | 'planned'
  /** A trainer has it. */
  | 'leased'
  /** It produced a version. */
  | 'trained'
  /** It is never trained: its rows cannot be read, or somebody gave it up. */
  | 'abandoned';

/** Why a batch is never trained. */
export type BatchAbandonment = {
  readonly __typename?: 'BatchAbandonment';
  /** Who said so. */
  readonly by: AbandonedBy;
  /** The reason. */
  readonly reason: Scalars['String']['output'];
  /** When. */
  readonly abandonedAt: Scalars['DateTime']['output'];
};

/** Who abandoned a batch. */
export type AbandonedBy =
  /** The trainer that had it: its rows cannot be read. */
  | 'trainer'
  /** An operator. */
  | 'operator';

/** A rollout as a training sample. */
export type TrainingSample = {
  readonly __typename?: 'TrainingSample';
  /** The rollout; null until it is projected. */
  readonly rollout?: Maybe<Rollout>;
  /** Its group. */
  readonly tree?: Maybe<Tree>;
  /** What became of it. */
  readonly state: SampleState;
  /** Why it is never trained on; null where it may be. */
  readonly reason?: Maybe<Scalars['String']['output']>;
  /** The rule that refused it. */
  readonly rule?: Maybe<Scalars['String']['output']>;
  /** What the rule measured. */
  readonly measured?: Maybe<Scalars['Float']['output']>;
  /** Its batch; null while it has none. */
  readonly batch?: Maybe<Batch>;
  /** Its place in its batch. */
  readonly place?: Maybe<Scalars['Int']['output']>;
  /** The version of its oldest span. */
  readonly oldestVersion?: Maybe<Scalars['Int']['output']>;
  /** The version of its newest span. */
  readonly newestVersion?: Maybe<Scalars['Int']['output']>;
  /** Versions between its oldest span and the version that its batch is trained on; null outside a batch. */
  readonly staleness?: Maybe<Scalars['Int']['output']>;
  /** Tokens that a policy sampled. */
  readonly sampledTokens: Scalars['SafeInt']['output'];
  /** The longest prompt with its response. */
  readonly contextTokens: Scalars['SafeInt']['output'];
  /** The sum of each reward component. */
  readonly scores: Scalars['JSON']['output'];
  /** The versions that acted in it, by policy, the newest first. */
  readonly actors: ReadonlyArray<PolicyVersion>;
  /** As its estimator sees it; null outside a batch. */
  readonly estimate?: Maybe<SampleEstimate>;
};


/** A rollout as a training sample. */
export type TrainingSampleEstimateArgs = {
  rewards?: RewardsOf;
};

/** What became of a sample. */
export type SampleState =
  /** Its batch produced a version. */
  | 'trained'
  /** No batch will hold it. */
  | 'rejected'
  /** Its batch was abandoned. */
  | 'abandoned'
  /** It waits for its group to close. */
  | 'group'
  /** Its group is closed, and in no batch yet. */
  | 'ready'
  /** It is in a batch that nobody has. */
  | 'planned'
  /** It is in a batch that a trainer has. */
  | 'leased';

/** The right to a batch until a deadline. */
export type BatchLease = {
  readonly __typename?: 'BatchLease';
  /** Its id. */
  readonly id: Scalars['ID']['output'];
  /** Grows with every lease of the batch; an older one is refused. */
  readonly fence: Scalars['SafeInt']['output'];
  /** Who took it. */
  readonly consumer: Scalars['String']['output'];
  /** Until when. */
  readonly deadline: Scalars['DateTime']['output'];
  /** Since when. */
  readonly leasedAt: Scalars['DateTime']['output'];
  /** When it ended; null while it holds. */
  readonly endedAt?: Maybe<Scalars['DateTime']['output']>;
  /** How it ended. */
  readonly endedBy?: Maybe<LeaseEnd>;
  /** What was said at its end. */
  readonly endReason?: Maybe<Scalars['String']['output']>;
};

/** How a lease ended. */
export type LeaseEnd =
  /** Its deadline passed. */
  | 'expired'
  /** The trainer gave the batch back. */
  | 'returned'
  /** The batch produced a version. */
  | 'acked'
  /** The batch was abandoned. */
  | 'abandoned';

/** All rollouts of one task in one run. A GRPO group branches at the root, an MCTS search is bushy, one episode has one path. */
export type Tree = {
  readonly __typename?: 'Tree';
  /** Its id; also the stream and the log key of its events. */
  readonly id: Scalars['ID']['output'];
  /** The id of its run. */
  readonly runId: Scalars['ID']['output'];
  /** Its run; null until its start is projected. */
  readonly run?: Maybe<Run>;
  /** The task. */
  readonly task: Task;
  /** The instruction that every prompt of the tree begins with. */
  readonly instruction: Scalars['String']['output'];
  /** Rollouts that were planned when it was opened. */
  readonly plannedRollouts: Scalars['Int']['output'];
  /** Its seed. */
  readonly seed: Scalars['SafeInt']['output'];
  /** When it was opened. */
  readonly openedAt: Scalars['DateTime']['output'];
  /** When it was closed; null while it grows. */
  readonly closedAt?: Maybe<Scalars['DateTime']['output']>;
  /** Why it was closed: completed, exhausted, failed or cancelled. */
  readonly closeReason?: Maybe<Scalars['String']['output']>;
  /** Something of its payload is forgotten, whatever moment is looked at: its texts are `[forgotten]`, its token ids zeros, its prompts errors with the code FORGOTTEN. */
  readonly forgotten: Scalars['Boolean']['output'];
  /** The id of its root. */
  readonly rootId: Scalars['ID']['output'];
  /** Its root: no action, the first observation. */
  readonly root?: Maybe<Step>;
  /** How large it is. */
  readonly size: TreeSize;
  /** The population variance of the returns of its finished rollouts; null while it has none. 0 for one rollout, and where all are equal: such a group teaches a group estimator nothing. */
  readonly returnVariance?: Maybe<Scalars['Float']['output']>;
  /**
   * Its steps in the order in which they were taken, parents before children, the root first. Left without `first` the whole tree comes, and a tree of more
   * than 2,000 steps is refused with TREE_TOO_LARGE; `first` (10,000 at most) with `after`, the `logOffset` of the last step received, reads any tree in parts.
   */
  readonly steps: ReadonlyArray<Step>;
  /** All its steps in columns, for drawing. */
  readonly outline: TreeOutline;
  /** Its steps without children. */
  readonly leaves: ReadonlyArray<Step>;
  /** Its rollouts, by ordinal. */
  readonly rollouts: ReadonlyArray<Rollout>;
  /** The trajectories of its finished rollouts. */
  readonly trajectories: TrajectoryConnection;
  /** The revisions that were mined from it, in the order in which they were composed. */
  readonly revisions: RevisionConnection;
  /** What judges said of its steps. */
  readonly judgements: ReadonlyArray<Judgement>;
  /** The calls of models that its agent made, where the proxy or a trace captured them, in the order in which they ended. */
  readonly calls: CapturedCallConnection;
  /** How many back-ups of a search it has seen: `asOfSimulation` of a step's statistics counts up to here. */
  readonly simulations: Scalars['SafeInt']['output'];
  /** What replays of it showed instead of what was recorded. */
  readonly divergences: ReadonlyArray<Divergence>;
  /** What was said of the tree as a whole, in the order in which it was added; without what was retracted. */
  readonly annotations: ReadonlyArray<Annotation>;
  /** Texts that are longer than 64 KiB. */
  readonly largeTexts: ReadonlyArray<LargeText>;
  /** The dataset releases that hold examples made of it. */
  readonly datasets: DatasetConnection;
};


/** All rollouts of one task in one run. A GRPO group branches at the root, an MCTS search is bushy, one episode has one path. */
export type TreeStepsArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['SafeInt']['input']>;
};


/** All rollouts of one task in one run. A GRPO group branches at the root, an MCTS search is bushy, one episode has one path. */
export type TreeTrajectoriesArgs = {
  filter?: InputMaybe<TrajectoryFilter>;
  orderBy?: TrajectoryOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** All rollouts of one task in one run. A GRPO group branches at the root, an MCTS search is bushy, one episode has one path. */
export type TreeRevisionsArgs = {
  filter?: InputMaybe<RevisionFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** All rollouts of one task in one run. A GRPO group branches at the root, an MCTS search is bushy, one episode has one path. */
export type TreeCallsArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


/** All rollouts of one task in one run. A GRPO group branches at the root, an MCTS search is bushy, one episode has one path. */
export type TreeDatasetsArgs = {
  filter?: InputMaybe<DatasetFilter>;
  orderBy?: DatasetOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};

/** One problem instance of an environment. */
export type Task = {
  readonly __typename?: 'Task';
  /** Its id. */
  readonly id: Scalars['ID']['output'];
  /** The environment. */
  readonly environment: Scalars['String']['output'];
  /** The fingerprint of the server and its world. */
  readonly serverFingerprint: Scalars['String']['output'];
  /** The SHA-256 of the first observation. */
  readonly observationHash: Scalars['String']['output'];
  /** The environment's own id of it, which other servers may number differently. */
  readonly alias: Scalars['String']['output'];
  /** What is to be reached. */
  readonly goal: Scalars['String']['output'];
  /** How deep it is, where the environment knows (TextCraft: the depth of the recipe). */
  readonly depth?: Maybe<Scalars['Int']['output']>;
  /** The split it belongs to: train, test, … */
  readonly split?: Maybe<Scalars['String']['output']>;
  /** Its kind, where the environment names one or ALFWorld's goal says it. */
  readonly kind?: Maybe<Scalars['String']['output']>;
  /** What was done for it, in all runs. */
  readonly totals: TaskTotals;
};

/** What was done for a task, in all runs. */
export type TaskTotals = {
  readonly __typename?: 'TaskTotals';
  /** The runs. */
  readonly runs: Scalars['SafeInt']['output'];
  /** The trees. */
  readonly trees: Scalars['SafeInt']['output'];
  /** Their rollouts, also those that go on. */
  readonly rollouts: Scalars['SafeInt']['output'];
  /** Those that are finished. */
  readonly finished: Scalars['SafeInt']['output'];
  /** Those that succeeded. */
  readonly successes: Scalars['SafeInt']['output'];
  /** Successes per finished rollout; null where the environment judges none. */
  readonly successRate?: Maybe<Scalars['Float']['output']>;
  /** The mean return of the finished ones. */
  readonly meanReturn?: Maybe<Scalars['Float']['output']>;
};

/** How large a tree is. */
export type TreeSize = {
  readonly __typename?: 'TreeSize';
  /** Its steps, the root included. */
  readonly steps: Scalars['SafeInt']['output'];
  /** The depth of its deepest step; the root has 0. */
  readonly depth: Scalars['Int']['output'];
  /** Its steps without children. */
  readonly leaves: Scalars['SafeInt']['output'];
};

/** What a repeated execution of recorded actions showed instead of what was recorded. */
export type Divergence = {
  readonly __typename?: 'Divergence';
  /** The id of its event. */
  readonly id: Scalars['ID']['output'];
  /** The step. */
  readonly stepId: Scalars['ID']['output'];
  /** What differs: observation, reward or termination; stateHash where nothing else does and the state is another. */
  readonly field: Scalars['String']['output'];
  /** What the record says. */
  readonly recorded: Scalars['String']['output'];
  /** What the replay showed. */
  readonly replayed: Scalars['String']['output'];
  /** When it was seen. */
  readonly occurredAt: Scalars['DateTime']['output'];
  /** Texts that are longer than 64 KiB. */
  readonly largeTexts: ReadonlyArray<LargeText>;
};

/** What trees are chosen by; all parts must hold. */
export type TreeFilter = {
  /** The run. */
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  /** The task. */
  readonly task?: InputMaybe<Scalars['ID']['input']>;
  /** The environment. */
  readonly environment?: InputMaybe<Scalars['String']['input']>;
  /** The split of the task. */
  readonly split?: InputMaybe<Scalars['String']['input']>;
  /** The depth of the task. */
  readonly taskDepth?: InputMaybe<Scalars['Int']['input']>;
  /** The kind of the task. */
  readonly taskKind?: InputMaybe<Scalars['String']['input']>;
  /** It is closed (true) or grows (false). */
  readonly closed?: InputMaybe<Scalars['Boolean']['input']>;
  /** It was opened in this time. */
  readonly opened?: InputMaybe<TimeRange>;
  /** Examples of this dataset were made of them. */
  readonly dataset?: InputMaybe<Scalars['ID']['input']>;
};

/** The order of trees; equal ones by their id. */
export type TreeOrder =
  /** The first opened first. */
  | 'OPENED_ASC'
  /** The last opened first. */
  | 'OPENED_DESC'
  /** Those whose returns vary most first: `filter` names the run. Trees without a finished rollout have no place in it. */
  | 'RETURN_VARIANCE_DESC';

/** Where a page lies in its list. */
export type PageInfo = {
  readonly __typename?: 'PageInfo';
  /** The cursor of the first item of the page; null on an empty page. */
  readonly startCursor?: Maybe<Scalars['String']['output']>;
  /** The cursor of the last item of the page; null on an empty page. */
  readonly endCursor?: Maybe<Scalars['String']['output']>;
  /** There are items after this page. Paging backwards: true where `before` was given. */
  readonly hasNextPage: Scalars['Boolean']['output'];
  /** There are items before this page. Paging forwards: true where `after` was given. */
  readonly hasPreviousPage: Scalars['Boolean']['output'];
};

/** An instant range, from inclusive to exclusive; either end may be left out. */
export type TimeRange = {
  /** Not before this instant. */
  readonly from?: InputMaybe<Scalars['DateTime']['input']>;
  /** Before this instant. */
  readonly until?: InputMaybe<Scalars['DateTime']['input']>;
};

/** A range of numbers, from inclusive to exclusive; either end may be left out. */
export type FloatRange = {
  /** At least this. */
  readonly from?: InputMaybe<Scalars['Float']['input']>;
  /** Less than this. */
  readonly until?: InputMaybe<Scalars['Float']['input']>;
};

/** A range of whole numbers, from inclusive to exclusive; either end may be left out. */
export type IntRange = {
  /** At least this. */
  readonly from?: InputMaybe<Scalars['Int']['input']>;
  /** Less than this. */
  readonly until?: InputMaybe<Scalars['Int']['input']>;
};

/** The policy that acted: its name, and the version, which is the training step of its weights. */
export type PolicyVersion = {
  readonly __typename?: 'PolicyVersion';
  /** The name of the policy. */
  readonly id: Scalars['String']['output'];
  /** Its training step. */
  readonly version: Scalars['Int']['output'];
  /** What it was made of; null where the record does not say. */
  readonly update?: Maybe<PolicyUpdate>;
};

/** A text of a record that is longer than 64 KiB: it lies in the blob store under the SHA-256 of its bytes. The field itself shows its first 65,536 characters. */
export type LargeText = {
  readonly __typename?: 'LargeText';
  /** The field of the record that the text belongs to, for example `observation`. */
  readonly field: Scalars['String']['output'];
  /** The SHA-256 of the bytes in hex, the key of the blob store. */
  readonly sha256: Scalars['String']['output'];
  /** The whole size in bytes. */
  readonly size: Scalars['SafeInt']['output'];
  /** The media type. */
  readonly mediaType: Scalars['String']['output'];
  /** A part of the text, by characters (UTF-16 units). `length` is at most 1,000,000. A surrogate pair belongs to the part that its first half lies in: parts that adjoin give the whole text. */
  readonly text: Scalars['String']['output'];
};


/** A text of a record that is longer than 64 KiB: it lies in the blob store under the SHA-256 of its bytes. The field itself shows its first 65,536 characters. */
export type LargeTextTextArgs = {
  offset?: Scalars['Int']['input'];
  length?: Scalars['Int']['input'];
};



export type ResolverTypeWrapper<T> = Promise<T> | T;


export type ResolverWithResolve<TResult, TParent, TContext, TArgs> = {
  resolve: ResolverFn<TResult, TParent, TContext, TArgs>;
};
export type Resolver<TResult, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> = ResolverFn<TResult, TParent, TContext, TArgs> | ResolverWithResolve<TResult, TParent, TContext, TArgs>;

export type ResolverFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => Promise<TResult> | TResult;

export type SubscriptionSubscribeFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => AsyncIterable<TResult> | Promise<AsyncIterable<TResult>>;

export type SubscriptionResolveFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => TResult | Promise<TResult>;

export interface SubscriptionSubscriberObject<TResult, TKey extends string, TParent, TContext, TArgs> {
  subscribe: SubscriptionSubscribeFn<{ [key in TKey]: TResult }, TParent, TContext, TArgs>;
  resolve?: SubscriptionResolveFn<TResult, { [key in TKey]: TResult }, TContext, TArgs>;
}

export interface SubscriptionResolverObject<TResult, TParent, TContext, TArgs> {
  subscribe: SubscriptionSubscribeFn<any, TParent, TContext, TArgs>;
  resolve: SubscriptionResolveFn<TResult, any, TContext, TArgs>;
}

export type SubscriptionObject<TResult, TKey extends string, TParent, TContext, TArgs> =
  | SubscriptionSubscriberObject<TResult, TKey, TParent, TContext, TArgs>
  | SubscriptionResolverObject<TResult, TParent, TContext, TArgs>;

export type SubscriptionResolver<TResult, TKey extends string, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> =
  | ((...args: any[]) => SubscriptionObject<TResult, TKey, TParent, TContext, TArgs>)
  | SubscriptionObject<TResult, TKey, TParent, TContext, TArgs>;

export type TypeResolveFn<TTypes, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>> = (
  parent: TParent,
  context: TContext,
  info: GraphQLResolveInfo
) => Maybe<TTypes> | Promise<Maybe<TTypes>>;

export type IsTypeOfResolverFn<T = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>> = (obj: T, context: TContext, info: GraphQLResolveInfo) => boolean | Promise<boolean>;

export type NextResolverFn<T> = () => Promise<T>;

export type DirectiveResolverFn<TResult = Record<PropertyKey, never>, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> = (
  next: NextResolverFn<TResult>,
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => TResult | Promise<TResult>;





/** Mapping between all available schema types and the resolvers types */
export type ResolversTypes = {
  Mutation: ResolverTypeWrapper<Root>;
  ID: ResolverTypeWrapper<Scalars['ID']['output']>;
  String: ResolverTypeWrapper<Scalars['String']['output']>;
  NewAnnotation: NewAnnotation;
  Float: ResolverTypeWrapper<Scalars['Float']['output']>;
  DatasetRow: DatasetRow;
  Int: ResolverTypeWrapper<Scalars['Int']['output']>;
  AnnotationsRecorded: ResolverTypeWrapper<AnnotationsRecordedModel>;
  Annotation: ResolverTypeWrapper<AnnotationRecord>;
  AnnotatedKind: AnnotatedKind;
  AnnotationFilter: AnnotationFilter;
  Boolean: ResolverTypeWrapper<Scalars['Boolean']['output']>;
  AnnotatedFilter: AnnotatedFilter;
  AnnotationOrder: AnnotationOrder;
  LabelCount: ResolverTypeWrapper<LabelCount>;
  AnnotationConnection: ResolverTypeWrapper<Connection<AnnotationRecord>>;
  AnnotationEdge: ResolverTypeWrapper<Omit<AnnotationEdge, 'node'> & { node: ResolversTypes['Annotation'] }>;
  StepFilter: StepFilter;
  TextSearch: TextSearch;
  TextField: TextField;
  RewardFilter: RewardFilter;
  StepOrder: StepOrder;
  Highlight: ResolverTypeWrapper<Highlight>;
  ToolCallFilter: ToolCallFilter;
  ToolCallOrder: ToolCallOrder;
  SampleFilter: SampleFilter;
  TaskFilter: TaskFilter;
  AggregateFilter: AggregateFilter;
  AggregateBy: AggregateBy;
  Aggregate: ResolverTypeWrapper<AggregateModel>;
  RolloutSums: ResolverTypeWrapper<RolloutSums>;
  StepSums: ResolverTypeWrapper<StepSums>;
  ToolSums: ResolverTypeWrapper<ToolSums>;
  ComponentSums: ResolverTypeWrapper<ComponentSums>;
  RunComparison: ResolverTypeWrapper<RunComparisonModel>;
  PairedDifference: ResolverTypeWrapper<PairedComparison>;
  TrajectoryDivergence: ResolverTypeWrapper<TrajectoryDivergenceModel>;
  DivergenceKind: DivergenceKind;
  CapturedCall: ResolverTypeWrapper<CapturedCallRecord>;
  CapturedChoice: ResolverTypeWrapper<CapturedChoiceModel>;
  CapturedTokens: ResolverTypeWrapper<Omit<CapturedTokens, 'ids' | 'logProbs'> & { ids: ResolversTypes['PackedArray'], logProbs?: Maybe<ResolversTypes['PackedArray']> }>;
  CapturedCallConnection: ResolverTypeWrapper<Connection<CapturedCallRecord>>;
  CapturedCallEdge: ResolverTypeWrapper<Omit<CapturedCallEdge, 'node'> & { node: ResolversTypes['CapturedCall'] }>;
  ExperimentConnection: ResolverTypeWrapper<Connection<ExperimentRecord>>;
  ExperimentEdge: ResolverTypeWrapper<Omit<ExperimentEdge, 'node'> & { node: ResolversTypes['Experiment'] }>;
  RunConnection: ResolverTypeWrapper<Connection<RunRecord>>;
  RunEdge: ResolverTypeWrapper<Omit<RunEdge, 'node'> & { node: ResolversTypes['Run'] }>;
  TreeConnection: ResolverTypeWrapper<Connection<TreeRecord>>;
  TreeEdge: ResolverTypeWrapper<Omit<TreeEdge, 'node'> & { node: ResolversTypes['Tree'] }>;
  RolloutConnection: ResolverTypeWrapper<Connection<RolloutRecord>>;
  RolloutEdge: ResolverTypeWrapper<Omit<RolloutEdge, 'node'> & { node: ResolversTypes['Rollout'] }>;
  TrajectoryConnection: ResolverTypeWrapper<Connection<TrajectoryRecord>>;
  TrajectoryEdge: ResolverTypeWrapper<Omit<TrajectoryEdge, 'node'> & { node: ResolversTypes['Trajectory'] }>;
  AnomalyConnection: ResolverTypeWrapper<Connection<AnomalyRecord>>;
  AnomalyEdge: ResolverTypeWrapper<Omit<AnomalyEdge, 'node'> & { node: ResolversTypes['Anomaly'] }>;
  QuarantineConnection: ResolverTypeWrapper<Connection<QuarantineRecord>>;
  QuarantineEdge: ResolverTypeWrapper<Omit<QuarantineEdge, 'node'> & { node: ResolversTypes['QuarantinedRecord'] }>;
  ReplayConnection: ResolverTypeWrapper<Connection<ReplayRecord>>;
  ReplayEdge: ResolverTypeWrapper<Omit<ReplayEdge, 'node'> & { node: ResolversTypes['Replay'] }>;
  RevisionConnection: ResolverTypeWrapper<Connection<RevisionRecord>>;
  RevisionEdge: ResolverTypeWrapper<Omit<RevisionEdge, 'node'> & { node: ResolversTypes['Revision'] }>;
  DatasetConnection: ResolverTypeWrapper<Connection<DatasetRecord>>;
  DatasetEdge: ResolverTypeWrapper<Omit<DatasetEdge, 'node'> & { node: ResolversTypes['Dataset'] }>;
  DatasetExampleConnection: ResolverTypeWrapper<Connection<ExampleRecord>>;
  DatasetExampleEdge: ResolverTypeWrapper<Omit<DatasetExampleEdge, 'node'> & { node: ResolversTypes['DatasetExample'] }>;
  PolicyUpdateConnection: ResolverTypeWrapper<Connection<PolicyUpdateRecord>>;
  PolicyUpdateEdge: ResolverTypeWrapper<Omit<PolicyUpdateEdge, 'node'> & { node: ResolversTypes['PolicyUpdate'] }>;
  BatchConnection: ResolverTypeWrapper<Connection<BatchRecord>>;
  BatchEdge: ResolverTypeWrapper<Omit<BatchEdge, 'node'> & { node: ResolversTypes['Batch'] }>;
  StepConnection: ResolverTypeWrapper<FoundSteps>;
  BoundedCount: ResolverTypeWrapper<BoundedCount>;
  StepEdge: ResolverTypeWrapper<FoundStep>;
  ToolCallConnection: ResolverTypeWrapper<CountedConnection<ToolCallRecord>>;
  ToolCallEdge: ResolverTypeWrapper<Omit<ToolCallEdge, 'node'> & { node: ResolversTypes['ToolCall'] }>;
  TrainingSampleConnection: ResolverTypeWrapper<CountedConnection<SampleRecord>>;
  TrainingSampleEdge: ResolverTypeWrapper<Omit<TrainingSampleEdge, 'node'> & { node: ResolversTypes['TrainingSample'] }>;
  TaskConnection: ResolverTypeWrapper<Connection<TaskRecord>>;
  TaskEdge: ResolverTypeWrapper<Omit<TaskEdge, 'node'> & { node: ResolversTypes['Task'] }>;
  Dataset: ResolverTypeWrapper<DatasetRecord>;
  DatasetExample: ResolverTypeWrapper<ExampleRecord>;
  ExampleText: ResolverTypeWrapper<ExampleText>;
  DatasetExampleKind: DatasetExampleKind;
  DatasetFilter: DatasetFilter;
  DatasetExampleFilter: DatasetExampleFilter;
  DatasetOrder: DatasetOrder;
  RewardsOf: RewardsOf;
  BatchEstimates: ResolverTypeWrapper<BatchEstimatesModel>;
  EstimateGrain: EstimateGrain;
  SampleEstimate: ResolverTypeWrapper<SampleEstimateModel>;
  StepEstimate: ResolverTypeWrapper<StepEstimateModel>;
  StepReadAgain: ResolverTypeWrapper<StepReadAgain>;
  StepReading: ResolverTypeWrapper<StepReading>;
  EstimateReward: ResolverTypeWrapper<EstimateReward>;
  BatchActor: ResolverTypeWrapper<ActorRecord>;
  Evaluation: ResolverTypeWrapper<EvaluationRecord>;
  Interval: ResolverTypeWrapper<Interval>;
  RepeatedActions: ResolverTypeWrapper<RepeatedActions>;
  EvaluatedDepth: ResolverTypeWrapper<EvaluatedDepth>;
  TrainedOn: ResolverTypeWrapper<TrainedOnRecord>;
  Experiment: ResolverTypeWrapper<ExperimentRecord>;
  ExperimentArm: ResolverTypeWrapper<RecordedArm>;
  ExperimentStage: ResolverTypeWrapper<RecordedStage>;
  StageState: StageState;
  StoredContent: ResolverTypeWrapper<StoredContent>;
  StageValue: ResolverTypeWrapper<StageValue>;
  ArmResult: ResolverTypeWrapper<ArmResultModel>;
  ArmEstimate: ResolverTypeWrapper<ArmEstimate>;
  ArmDifference: ResolverTypeWrapper<ArmDifference>;
  ExperimentOrder: ExperimentOrder;
  HistoryImage: ResolverTypeWrapper<HistoryImageRecord>;
  HistoryAtFactor: ResolverTypeWrapper<HistoryAtFactorModel>;
  HistoryImageConnection: ResolverTypeWrapper<Connection<HistoryImageRecord>>;
  HistoryImageEdge: ResolverTypeWrapper<Omit<HistoryImageEdge, 'node'> & { node: ResolversTypes['HistoryImage'] }>;
  HistoryImageOrder: HistoryImageOrder;
  Picture: ResolverTypeWrapper<Picture>;
  ImageSize: ResolverTypeWrapper<ImageSize>;
  HistoryKind: HistoryKind;
  HistorySegment: ResolverTypeWrapper<HistorySegmentModel>;
  RenderSpec: ResolverTypeWrapper<RenderSpecRecord>;
  ImageTotals: ResolverTypeWrapper<ImageTotalsModel>;
  Trace: ResolverTypeWrapper<TraceModel>;
  TraceEvents: ResolverTypeWrapper<Omit<TraceEvents, 'first'> & { first: ReadonlyArray<ResolversTypes['TraceEvent']> }>;
  TraceEvent: ResolverTypeWrapper<EventPlace>;
  TraceLinks: ResolverTypeWrapper<TraceLinks>;
  TraceLink: ResolverTypeWrapper<TraceLink>;
  Touched: ResolverTypeWrapper<TouchedModel>;
  TouchedDataset: ResolverTypeWrapper<TouchedDataset>;
  TouchedBatch: ResolverTypeWrapper<TouchedBatch>;
  TouchedVersion: ResolverTypeWrapper<TouchedVersion>;
  TouchedEvaluation: ResolverTypeWrapper<TouchedEvaluation>;
  RecallInput: RecallInput;
  ProjectionLag: ResolverTypeWrapper<ProjectionLag>;
  ProjectionBuild: ResolverTypeWrapper<ProjectionBuild>;
  BuildState: BuildState;
  BuildPhase: BuildPhase;
  ProjectionState: ProjectionState;
  PartitionLag: ResolverTypeWrapper<PartitionLag>;
  Anomaly: ResolverTypeWrapper<AnomalyRecord>;
  AnomalyKind: AnomalyKind;
  QuarantinedRecord: ResolverTypeWrapper<QuarantineRecord>;
  AnomalyFilter: AnomalyFilter;
  QuarantineFilter: QuarantineFilter;
  QuarantineRelease: ResolverTypeWrapper<QuarantineRelease>;
  QuarantineReleaseOutcome: QuarantineReleaseOutcome;
  Verification: ResolverTypeWrapper<KeptVerification>;
  VerificationCounts: ResolverTypeWrapper<VerificationCounts>;
  VerificationFault: ResolverTypeWrapper<VerificationFault>;
  VerificationConnection: ResolverTypeWrapper<Connection<KeptVerification>>;
  VerificationEdge: ResolverTypeWrapper<Omit<VerificationEdge, 'node'> & { node: ResolversTypes['Verification'] }>;
  TreeOutline: ResolverTypeWrapper<Outline>;
  OutlineBackUps: ResolverTypeWrapper<OutlineBackUpsModel>;
  Project: ResolverTypeWrapper<Project>;
  Viewer: ResolverTypeWrapper<Viewer>;
  Prompt: ResolverTypeWrapper<PromptModel>;
  PromptAnswer: ResolverTypeWrapper<Omit<PromptAnswer, 'tokens'> & { tokens?: Maybe<ResolversTypes['Tokens']> }>;
  PromptMessage: ResolverTypeWrapper<PromptMessageModel>;
  PromptPart: ResolverTypeWrapper<PromptPartModel>;
  PromptTemplate: ResolverTypeWrapper<PromptTemplate>;
  Sampling: ResolverTypeWrapper<Sampling>;
  PromptTokens: ResolverTypeWrapper<Omit<PromptTokens, 'ids'> & { ids: ResolversTypes['PackedArray'] }>;
  Drift: ResolverTypeWrapper<DriftRecord>;
  Query: ResolverTypeWrapper<Root>;
  Reached: ResolverTypeWrapper<ReachedModel>;
  Subscription: ResolverTypeWrapper<Record<PropertyKey, never>>;
  EventDelivery: ResolverTypeWrapper<EventDeliveryModel>;
  Replay: ResolverTypeWrapper<ReplayRecord>;
  ReplayFilter: ReplayFilter;
  ReplayMode: ReplayMode;
  ReplayOutcome: ReplayOutcome;
  ReplayDifference: ResolverTypeWrapper<ReplayDifference>;
  Revision: ResolverTypeWrapper<RevisionRecord>;
  RevisionState: RevisionState;
  RevisionTurn: ResolverTypeWrapper<RevisionTurnModel>;
  Judgement: ResolverTypeWrapper<JudgementRecord>;
  Verdict: Verdict;
  RevisionFilter: RevisionFilter;
  Rollout: ResolverTypeWrapper<RolloutRecord>;
  RolloutOutcome: RolloutOutcome;
  Trajectory: ResolverTypeWrapper<TrajectoryRecord>;
  Reward: ResolverTypeWrapper<RewardRecord>;
  RewardRevision: ResolverTypeWrapper<RewardRevisionRecord>;
  Scorer: ResolverTypeWrapper<Scorer>;
  RawReward: ResolverTypeWrapper<RawReward>;
  ComponentReturn: ResolverTypeWrapper<ComponentReturn>;
  RolloutFilter: RolloutFilter;
  TrajectoryFilter: TrajectoryFilter;
  RolloutOrder: RolloutOrder;
  TrajectoryOrder: TrajectoryOrder;
  Run: ResolverTypeWrapper<RunRecord>;
  ForkOrigin: ResolverTypeWrapper<ForkOriginModel>;
  RunEnvironment: ResolverTypeWrapper<RunEnvironmentModel>;
  Renderer: ResolverTypeWrapper<Renderer>;
  RunKind: RunKind;
  RunOutcome: RunOutcome;
  PublishedMetric: ResolverTypeWrapper<PublishedMetric>;
  RunTotals: ResolverTypeWrapper<RunTotals>;
  RunActivity: ResolverTypeWrapper<RunActivity>;
  FailureReason: ResolverTypeWrapper<FailureReason>;
  DepthTotals: ResolverTypeWrapper<DepthTotals>;
  Metric: ResolverTypeWrapper<Metric>;
  RunFilter: RunFilter;
  RunOrder: RunOrder;
  Step: ResolverTypeWrapper<StepRecord>;
  Termination: Termination;
  PolicySpan: ResolverTypeWrapper<PolicySpan>;
  Tokens: ResolverTypeWrapper<Omit<Tokens, 'ids' | 'logProbs' | 'mask' | 'ends' | 'entropies'> & { ids: ResolversTypes['PackedArray'], logProbs?: Maybe<ResolversTypes['PackedArray']>, mask?: Maybe<ResolversTypes['PackedArray']>, ends?: Maybe<ResolversTypes['PackedArray']>, entropies?: Maybe<ResolversTypes['PackedArray']> }>;
  PackedArray: ResolverTypeWrapper<Packed>;
  Usage: ResolverTypeWrapper<Usage>;
  ModelCall: ResolverTypeWrapper<ModelCall>;
  Range: ResolverTypeWrapper<Range>;
  Timings: ResolverTypeWrapper<Timings>;
  SearchStatistics: ResolverTypeWrapper<NodeStatistics>;
  ToolCall: ResolverTypeWrapper<ToolCallRecord>;
  ToolOutcome: ToolOutcome;
  TrainedPolicy: ResolverTypeWrapper<LineageRecord>;
  TrainingDeclaration: ResolverTypeWrapper<RecordedDeclaration>;
  ChosenMethod: ResolverTypeWrapper<ChosenMethod>;
  TrainingWaiting: ResolverTypeWrapper<Waiting>;
  RejectedGroups: ResolverTypeWrapper<RejectedGroups>;
  WaitingFor: WaitingFor;
  TrainingMethod: ResolverTypeWrapper<TrainingMethod>;
  Ledger: ResolverTypeWrapper<LedgerRecord>;
  RejectedSamples: ResolverTypeWrapper<RejectedSamples>;
  DiscardedBy: DiscardedBy;
  DiscardedSamples: ResolverTypeWrapper<DiscardedSamplesModel>;
  OwedSamples: ResolverTypeWrapper<OwedSamples>;
  StalenessBin: ResolverTypeWrapper<StalenessBin>;
  PolicyUpdate: ResolverTypeWrapper<PolicyUpdateRecord>;
  UpdateOutcome: ResolverTypeWrapper<BatchOutcome>;
  Batch: ResolverTypeWrapper<BatchRecord>;
  BatchState: BatchState;
  BatchAbandonment: ResolverTypeWrapper<AbandonmentRecord>;
  AbandonedBy: AbandonedBy;
  TrainingSample: ResolverTypeWrapper<SampleRecord>;
  SampleState: SampleState;
  BatchLease: ResolverTypeWrapper<LeaseRecord>;
  LeaseEnd: LeaseEnd;
  Tree: ResolverTypeWrapper<TreeRecord>;
  Task: ResolverTypeWrapper<TaskRecord>;
  TaskTotals: ResolverTypeWrapper<TaskTotals>;
  TreeSize: ResolverTypeWrapper<TreeSize>;
  Divergence: ResolverTypeWrapper<DivergenceRecord>;
  TreeFilter: TreeFilter;
  TreeOrder: TreeOrder;
  DateTime: ResolverTypeWrapper<Scalars['DateTime']['output']>;
  JSON: ResolverTypeWrapper<Scalars['JSON']['output']>;
  SafeInt: ResolverTypeWrapper<Scalars['SafeInt']['output']>;
  PageInfo: ResolverTypeWrapper<PageInfo>;
  TimeRange: TimeRange;
  FloatRange: FloatRange;
  IntRange: IntRange;
  PolicyVersion: ResolverTypeWrapper<PolicyVersionModel>;
  LargeText: ResolverTypeWrapper<LargeTextModel>;
};

/** Mapping between all available schema types and the resolvers parents */
export type ResolversParentTypes = {
  Mutation: Root;
  ID: Scalars['ID']['output'];
  String: Scalars['String']['output'];
  NewAnnotation: NewAnnotation;
  Float: Scalars['Float']['output'];
  DatasetRow: DatasetRow;
  Int: Scalars['Int']['output'];
  AnnotationsRecorded: AnnotationsRecordedModel;
  Annotation: AnnotationRecord;
  AnnotationFilter: AnnotationFilter;
  Boolean: Scalars['Boolean']['output'];
  AnnotatedFilter: AnnotatedFilter;
  LabelCount: LabelCount;
  AnnotationConnection: Connection<AnnotationRecord>;
  AnnotationEdge: Omit<AnnotationEdge, 'node'> & { node: ResolversParentTypes['Annotation'] };
  StepFilter: StepFilter;
  TextSearch: TextSearch;
  RewardFilter: RewardFilter;
  Highlight: Highlight;
  ToolCallFilter: ToolCallFilter;
  SampleFilter: SampleFilter;
  TaskFilter: TaskFilter;
  AggregateFilter: AggregateFilter;
  Aggregate: AggregateModel;
  RolloutSums: RolloutSums;
  StepSums: StepSums;
  ToolSums: ToolSums;
  ComponentSums: ComponentSums;
  RunComparison: RunComparisonModel;
  PairedDifference: PairedComparison;
  TrajectoryDivergence: TrajectoryDivergenceModel;
  CapturedCall: CapturedCallRecord;
  CapturedChoice: CapturedChoiceModel;
  CapturedTokens: Omit<CapturedTokens, 'ids' | 'logProbs'> & { ids: ResolversParentTypes['PackedArray'], logProbs?: Maybe<ResolversParentTypes['PackedArray']> };
  CapturedCallConnection: Connection<CapturedCallRecord>;
  CapturedCallEdge: Omit<CapturedCallEdge, 'node'> & { node: ResolversParentTypes['CapturedCall'] };
  ExperimentConnection: Connection<ExperimentRecord>;
  ExperimentEdge: Omit<ExperimentEdge, 'node'> & { node: ResolversParentTypes['Experiment'] };
  RunConnection: Connection<RunRecord>;
  RunEdge: Omit<RunEdge, 'node'> & { node: ResolversParentTypes['Run'] };
  TreeConnection: Connection<TreeRecord>;
  TreeEdge: Omit<TreeEdge, 'node'> & { node: ResolversParentTypes['Tree'] };
  RolloutConnection: Connection<RolloutRecord>;
  RolloutEdge: Omit<RolloutEdge, 'node'> & { node: ResolversParentTypes['Rollout'] };
  TrajectoryConnection: Connection<TrajectoryRecord>;
  TrajectoryEdge: Omit<TrajectoryEdge, 'node'> & { node: ResolversParentTypes['Trajectory'] };
  AnomalyConnection: Connection<AnomalyRecord>;
  AnomalyEdge: Omit<AnomalyEdge, 'node'> & { node: ResolversParentTypes['Anomaly'] };
  QuarantineConnection: Connection<QuarantineRecord>;
  QuarantineEdge: Omit<QuarantineEdge, 'node'> & { node: ResolversParentTypes['QuarantinedRecord'] };
  ReplayConnection: Connection<ReplayRecord>;
  ReplayEdge: Omit<ReplayEdge, 'node'> & { node: ResolversParentTypes['Replay'] };
  RevisionConnection: Connection<RevisionRecord>;
  RevisionEdge: Omit<RevisionEdge, 'node'> & { node: ResolversParentTypes['Revision'] };
  DatasetConnection: Connection<DatasetRecord>;
  DatasetEdge: Omit<DatasetEdge, 'node'> & { node: ResolversParentTypes['Dataset'] };
  DatasetExampleConnection: Connection<ExampleRecord>;
  DatasetExampleEdge: Omit<DatasetExampleEdge, 'node'> & { node: ResolversParentTypes['DatasetExample'] };
  PolicyUpdateConnection: Connection<PolicyUpdateRecord>;
  PolicyUpdateEdge: Omit<PolicyUpdateEdge, 'node'> & { node: ResolversParentTypes['PolicyUpdate'] };
  BatchConnection: Connection<BatchRecord>;
  BatchEdge: Omit<BatchEdge, 'node'> & { node: ResolversParentTypes['Batch'] };
  StepConnection: FoundSteps;
  BoundedCount: BoundedCount;
  StepEdge: FoundStep;
  ToolCallConnection: CountedConnection<ToolCallRecord>;
  ToolCallEdge: Omit<ToolCallEdge, 'node'> & { node: ResolversParentTypes['ToolCall'] };
  TrainingSampleConnection: CountedConnection<SampleRecord>;
  TrainingSampleEdge: Omit<TrainingSampleEdge, 'node'> & { node: ResolversParentTypes['TrainingSample'] };
  TaskConnection: Connection<TaskRecord>;
  TaskEdge: Omit<TaskEdge, 'node'> & { node: ResolversParentTypes['Task'] };
  Dataset: DatasetRecord;
  DatasetExample: ExampleRecord;
  ExampleText: ExampleText;
  DatasetFilter: DatasetFilter;
  DatasetExampleFilter: DatasetExampleFilter;
  BatchEstimates: BatchEstimatesModel;
  SampleEstimate: SampleEstimateModel;
  StepEstimate: StepEstimateModel;
  StepReadAgain: StepReadAgain;
  StepReading: StepReading;
  EstimateReward: EstimateReward;
  BatchActor: ActorRecord;
  Evaluation: EvaluationRecord;
  Interval: Interval;
  RepeatedActions: RepeatedActions;
  EvaluatedDepth: EvaluatedDepth;
  TrainedOn: TrainedOnRecord;
  Experiment: ExperimentRecord;
  ExperimentArm: RecordedArm;
  ExperimentStage: RecordedStage;
  StoredContent: StoredContent;
  StageValue: StageValue;
  ArmResult: ArmResultModel;
  ArmEstimate: ArmEstimate;
  ArmDifference: ArmDifference;
  HistoryImage: HistoryImageRecord;
  HistoryAtFactor: HistoryAtFactorModel;
  HistoryImageConnection: Connection<HistoryImageRecord>;
  HistoryImageEdge: Omit<HistoryImageEdge, 'node'> & { node: ResolversParentTypes['HistoryImage'] };
  Picture: Picture;
  ImageSize: ImageSize;
  HistorySegment: HistorySegmentModel;
  RenderSpec: RenderSpecRecord;
  ImageTotals: ImageTotalsModel;
  Trace: TraceModel;
  TraceEvents: Omit<TraceEvents, 'first'> & { first: ReadonlyArray<ResolversParentTypes['TraceEvent']> };
  TraceEvent: EventPlace;
  TraceLinks: TraceLinks;
  TraceLink: TraceLink;
  Touched: TouchedModel;
  TouchedDataset: TouchedDataset;
  TouchedBatch: TouchedBatch;
  TouchedVersion: TouchedVersion;
  TouchedEvaluation: TouchedEvaluation;
  RecallInput: RecallInput;
  ProjectionLag: ProjectionLag;
  ProjectionBuild: ProjectionBuild;
  PartitionLag: PartitionLag;
  Anomaly: AnomalyRecord;
  QuarantinedRecord: QuarantineRecord;
  AnomalyFilter: AnomalyFilter;
  QuarantineFilter: QuarantineFilter;
  QuarantineRelease: QuarantineRelease;
  Verification: KeptVerification;
  VerificationCounts: VerificationCounts;
  VerificationFault: VerificationFault;
  VerificationConnection: Connection<KeptVerification>;
  VerificationEdge: Omit<VerificationEdge, 'node'> & { node: ResolversParentTypes['Verification'] };
  TreeOutline: Outline;
  OutlineBackUps: OutlineBackUpsModel;
  Project: Project;
  Viewer: Viewer;
  Prompt: PromptModel;
  PromptAnswer: Omit<PromptAnswer, 'tokens'> & { tokens?: Maybe<ResolversParentTypes['Tokens']> };
  PromptMessage: PromptMessageModel;
  PromptPart: PromptPartModel;
  PromptTemplate: PromptTemplate;
  Sampling: Sampling;
  PromptTokens: Omit<PromptTokens, 'ids'> & { ids: ResolversParentTypes['PackedArray'] };
  Drift: DriftRecord;
  Query: Root;
  Reached: ReachedModel;
  Subscription: Record<PropertyKey, never>;
  EventDelivery: EventDeliveryModel;
  Replay: ReplayRecord;
  ReplayFilter: ReplayFilter;
  ReplayDifference: ReplayDifference;
  Revision: RevisionRecord;
  RevisionTurn: RevisionTurnModel;
  Judgement: JudgementRecord;
  RevisionFilter: RevisionFilter;
  Rollout: RolloutRecord;
  Trajectory: TrajectoryRecord;
  Reward: RewardRecord;
  RewardRevision: RewardRevisionRecord;
  Scorer: Scorer;
  RawReward: RawReward;
  ComponentReturn: ComponentReturn;
  RolloutFilter: RolloutFilter;
  TrajectoryFilter: TrajectoryFilter;
  Run: RunRecord;
  ForkOrigin: ForkOriginModel;
  RunEnvironment: RunEnvironmentModel;
  Renderer: Renderer;
  PublishedMetric: PublishedMetric;
  RunTotals: RunTotals;
  RunActivity: RunActivity;
  FailureReason: FailureReason;
  DepthTotals: DepthTotals;
  Metric: Metric;
  RunFilter: RunFilter;
  Step: StepRecord;
  PolicySpan: PolicySpan;
  Tokens: Omit<Tokens, 'ids' | 'logProbs' | 'mask' | 'ends' | 'entropies'> & { ids: ResolversParentTypes['PackedArray'], logProbs?: Maybe<ResolversParentTypes['PackedArray']>, mask?: Maybe<ResolversParentTypes['PackedArray']>, ends?: Maybe<ResolversParentTypes['PackedArray']>, entropies?: Maybe<ResolversParentTypes['PackedArray']> };
  PackedArray: Packed;
  Usage: Usage;
  ModelCall: ModelCall;
  Range: Range;
  Timings: Timings;
  SearchStatistics: NodeStatistics;
  ToolCall: ToolCallRecord;
  TrainedPolicy: LineageRecord;
  TrainingDeclaration: RecordedDeclaration;
  ChosenMethod: ChosenMethod;
  TrainingWaiting: Waiting;
  RejectedGroups: RejectedGroups;
  TrainingMethod: TrainingMethod;
  Ledger: LedgerRecord;
  RejectedSamples: RejectedSamples;
  DiscardedSamples: DiscardedSamplesModel;
  OwedSamples: OwedSamples;
  StalenessBin: StalenessBin;
  PolicyUpdate: PolicyUpdateRecord;
  UpdateOutcome: BatchOutcome;
  Batch: BatchRecord;
  BatchAbandonment: AbandonmentRecord;
  TrainingSample: SampleRecord;
  BatchLease: LeaseRecord;
  Tree: TreeRecord;
  Task: TaskRecord;
  TaskTotals: TaskTotals;
  TreeSize: TreeSize;
  Divergence: DivergenceRecord;
  TreeFilter: TreeFilter;
  DateTime: Scalars['DateTime']['output'];
  JSON: Scalars['JSON']['output'];
  SafeInt: Scalars['SafeInt']['output'];
  PageInfo: PageInfo;
  TimeRange: TimeRange;
  FloatRange: FloatRange;
  IntRange: IntRange;
  PolicyVersion: PolicyVersionModel;
  LargeText: LargeTextModel;
};

export type ListSizeDirectiveArgs = {
  assumed: Scalars['Int']['input'];
  slicedBy?: Maybe<Scalars['String']['input']>;
};

export type ListSizeDirectiveResolver<Result, Parent, ContextType = Context, Args = ListSizeDirectiveArgs> = DirectiveResolverFn<Result, Parent, ContextType, Args>;

export type CostDirectiveArgs = {
  weight: Scalars['Int']['input'];
};

export type CostDirectiveResolver<Result, Parent, ContextType = Context, Args = CostDirectiveArgs> = DirectiveResolverFn<Result, Parent, ContextType, Args>;

export type MutationResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Mutation'] = ResolversParentTypes['Mutation']> = {
  annotate?: Resolver<ResolversTypes['AnnotationsRecorded'], ParentType, ContextType, RequireFields<MutationAnnotateArgs, 'annotations'>>;
  retractAnnotations?: Resolver<ResolversTypes['AnnotationsRecorded'], ParentType, ContextType, RequireFields<MutationRetractAnnotationsArgs, 'ids' | 'reason'>>;
  releaseQuarantined?: Resolver<ReadonlyArray<ResolversTypes['QuarantineRelease']>, ParentType, ContextType, RequireFields<MutationReleaseQuarantinedArgs, 'places' | 'reason'>>;
};

export type AnnotationsRecordedResolvers<ContextType = Context, ParentType extends ResolversParentTypes['AnnotationsRecorded'] = ResolversParentTypes['AnnotationsRecorded']> = {
  ids?: Resolver<ReadonlyArray<ResolversTypes['ID']>, ParentType, ContextType>;
  annotations?: Resolver<ReadonlyArray<ResolversTypes['Annotation']>, ParentType, ContextType>;
  position?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type AnnotationResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Annotation'] = ResolversParentTypes['Annotation']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  kind?: Resolver<ResolversTypes['AnnotatedKind'], ParentType, ContextType>;
  treeId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  tree?: Resolver<Maybe<ResolversTypes['Tree']>, ParentType, ContextType>;
  runId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  run?: Resolver<Maybe<ResolversTypes['Run']>, ParentType, ContextType>;
  stepId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  step?: Resolver<Maybe<ResolversTypes['Step']>, ParentType, ContextType>;
  rolloutId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  rollout?: Resolver<Maybe<ResolversTypes['Rollout']>, ParentType, ContextType>;
  revisionId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  revision?: Resolver<Maybe<ResolversTypes['Revision']>, ParentType, ContextType>;
  datasetId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  dataset?: Resolver<Maybe<ResolversTypes['Dataset']>, ParentType, ContextType>;
  line?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  label?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  score?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  note?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  principal?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  author?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  addedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  retractedAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  retractedBy?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  retractReason?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type LabelCountResolvers<ContextType = Context, ParentType extends ResolversParentTypes['LabelCount'] = ResolversParentTypes['LabelCount']> = {
  label?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  count?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  meanScore?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
};

export type AnnotationConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['AnnotationConnection'] = ResolversParentTypes['AnnotationConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['AnnotationEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Annotation']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type AnnotationEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['AnnotationEdge'] = ResolversParentTypes['AnnotationEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Annotation'], ParentType, ContextType>;
};

export type HighlightResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Highlight'] = ResolversParentTypes['Highlight']> = {
  field?: Resolver<ResolversTypes['TextField'], ParentType, ContextType>;
  text?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type AggregateResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Aggregate'] = ResolversParentTypes['Aggregate']> = {
  key?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  run?: Resolver<Maybe<ResolversTypes['Run']>, ParentType, ContextType>;
  taskId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  taskDepth?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  taskKind?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  policy?: Resolver<Maybe<ResolversTypes['PolicyVersion']>, ParentType, ContextType>;
  environment?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  tool?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  rollouts?: Resolver<ResolversTypes['RolloutSums'], ParentType, ContextType>;
  steps?: Resolver<ResolversTypes['StepSums'], ParentType, ContextType>;
  tools?: Resolver<ResolversTypes['ToolSums'], ParentType, ContextType>;
  components?: Resolver<ReadonlyArray<ResolversTypes['ComponentSums']>, ParentType, ContextType>;
  images?: Resolver<ResolversTypes['ImageTotals'], ParentType, ContextType>;
};

export type RolloutSumsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RolloutSums'] = ResolversParentTypes['RolloutSums']> = {
  rollouts?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  finished?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  successes?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  successRate?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  meanReturn?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  minReturn?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  maxReturn?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  meanSteps?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
};

export type StepSumsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['StepSums'] = ResolversParentTypes['StepSums']> = {
  steps?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  wellFormatted?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  executable?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  promptTokens?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  completionTokens?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  policyMs?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  environmentMs?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type ToolSumsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ToolSums'] = ResolversParentTypes['ToolSums']> = {
  calls?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  errors?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  durationMs?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type ComponentSumsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ComponentSums'] = ResolversParentTypes['ComponentSums']> = {
  component?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  rewards?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  mean?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  min?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  max?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type RunComparisonResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RunComparison'] = ResolversParentTypes['RunComparison']> = {
  run?: Resolver<ResolversTypes['Run'], ParentType, ContextType>;
  baseline?: Resolver<ResolversTypes['Run'], ParentType, ContextType>;
  tasks?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  unpaired?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  success?: Resolver<Maybe<ResolversTypes['PairedDifference']>, ParentType, ContextType>;
  return?: Resolver<Maybe<ResolversTypes['PairedDifference']>, ParentType, ContextType>;
};

export type PairedDifferenceResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PairedDifference'] = ResolversParentTypes['PairedDifference']> = {
  tasks?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  baselineMean?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  mean?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  difference?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  interval?: Resolver<ResolversTypes['Interval'], ParentType, ContextType>;
  better?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  worse?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  equal?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type TrajectoryDivergenceResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TrajectoryDivergence'] = ResolversParentTypes['TrajectoryDivergence']> = {
  depth?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  kind?: Resolver<ResolversTypes['DivergenceKind'], ParentType, ContextType>;
  common?: Resolver<Maybe<ResolversTypes['Step']>, ParentType, ContextType>;
  a?: Resolver<Maybe<ResolversTypes['Step']>, ParentType, ContextType>;
  b?: Resolver<Maybe<ResolversTypes['Step']>, ParentType, ContextType>;
};

export type CapturedCallResolvers<ContextType = Context, ParentType extends ResolversParentTypes['CapturedCall'] = ResolversParentTypes['CapturedCall']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  treeId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  rolloutId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  rollout?: Resolver<Maybe<ResolversTypes['Rollout']>, ParentType, ContextType>;
  ordinal?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  parentStepId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  stepId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  step?: Resolver<Maybe<ResolversTypes['Step']>, ParentType, ContextType>;
  place?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  source?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  api?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  outcome?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  status?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  message?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  promptSha256?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  choices?: Resolver<ReadonlyArray<ResolversTypes['CapturedChoice']>, ParentType, ContextType>;
  call?: Resolver<Maybe<ResolversTypes['ModelCall']>, ParentType, ContextType>;
  firstMs?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  totalMs?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  agents?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  attributes?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  pictures?: Resolver<ReadonlyArray<ResolversTypes['Picture']>, ParentType, ContextType>;
  occurredAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type CapturedChoiceResolvers<ContextType = Context, ParentType extends ResolversParentTypes['CapturedChoice'] = ResolversParentTypes['CapturedChoice']> = {
  message?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  tokens?: Resolver<Maybe<ResolversTypes['CapturedTokens']>, ParentType, ContextType>;
  usage?: Resolver<Maybe<ResolversTypes['Usage']>, ParentType, ContextType>;
  finishReason?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type CapturedTokensResolvers<ContextType = Context, ParentType extends ResolversParentTypes['CapturedTokens'] = ResolversParentTypes['CapturedTokens']> = {
  ids?: Resolver<ResolversTypes['PackedArray'], ParentType, ContextType>;
  logProbs?: Resolver<Maybe<ResolversTypes['PackedArray']>, ParentType, ContextType>;
};

export type CapturedCallConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['CapturedCallConnection'] = ResolversParentTypes['CapturedCallConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['CapturedCallEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['CapturedCall']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type CapturedCallEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['CapturedCallEdge'] = ResolversParentTypes['CapturedCallEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['CapturedCall'], ParentType, ContextType>;
};

export type ExperimentConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExperimentConnection'] = ResolversParentTypes['ExperimentConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['ExperimentEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Experiment']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type ExperimentEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExperimentEdge'] = ResolversParentTypes['ExperimentEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Experiment'], ParentType, ContextType>;
};

export type RunConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RunConnection'] = ResolversParentTypes['RunConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['RunEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Run']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type RunEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RunEdge'] = ResolversParentTypes['RunEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Run'], ParentType, ContextType>;
};

export type TreeConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TreeConnection'] = ResolversParentTypes['TreeConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['TreeEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Tree']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type TreeEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TreeEdge'] = ResolversParentTypes['TreeEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Tree'], ParentType, ContextType>;
};

export type RolloutConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RolloutConnection'] = ResolversParentTypes['RolloutConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['RolloutEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Rollout']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type RolloutEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RolloutEdge'] = ResolversParentTypes['RolloutEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Rollout'], ParentType, ContextType>;
};

export type TrajectoryConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TrajectoryConnection'] = ResolversParentTypes['TrajectoryConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['TrajectoryEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Trajectory']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type TrajectoryEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TrajectoryEdge'] = ResolversParentTypes['TrajectoryEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Trajectory'], ParentType, ContextType>;
};

export type AnomalyConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['AnomalyConnection'] = ResolversParentTypes['AnomalyConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['AnomalyEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Anomaly']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type AnomalyEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['AnomalyEdge'] = ResolversParentTypes['AnomalyEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Anomaly'], ParentType, ContextType>;
};

export type QuarantineConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['QuarantineConnection'] = ResolversParentTypes['QuarantineConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['QuarantineEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['QuarantinedRecord']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type QuarantineEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['QuarantineEdge'] = ResolversParentTypes['QuarantineEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['QuarantinedRecord'], ParentType, ContextType>;
};

export type ReplayConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ReplayConnection'] = ResolversParentTypes['ReplayConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['ReplayEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Replay']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type ReplayEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ReplayEdge'] = ResolversParentTypes['ReplayEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Replay'], ParentType, ContextType>;
};

export type RevisionConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RevisionConnection'] = ResolversParentTypes['RevisionConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['RevisionEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Revision']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type RevisionEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RevisionEdge'] = ResolversParentTypes['RevisionEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Revision'], ParentType, ContextType>;
};

export type DatasetConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['DatasetConnection'] = ResolversParentTypes['DatasetConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['DatasetEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Dataset']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type DatasetEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['DatasetEdge'] = ResolversParentTypes['DatasetEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Dataset'], ParentType, ContextType>;
};

export type DatasetExampleConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['DatasetExampleConnection'] = ResolversParentTypes['DatasetExampleConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['DatasetExampleEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['DatasetExample']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type DatasetExampleEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['DatasetExampleEdge'] = ResolversParentTypes['DatasetExampleEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['DatasetExample'], ParentType, ContextType>;
};

export type PolicyUpdateConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PolicyUpdateConnection'] = ResolversParentTypes['PolicyUpdateConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['PolicyUpdateEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['PolicyUpdate']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type PolicyUpdateEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PolicyUpdateEdge'] = ResolversParentTypes['PolicyUpdateEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['PolicyUpdate'], ParentType, ContextType>;
};

export type BatchConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['BatchConnection'] = ResolversParentTypes['BatchConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['BatchEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Batch']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type BatchEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['BatchEdge'] = ResolversParentTypes['BatchEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Batch'], ParentType, ContextType>;
};

export type StepConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['StepConnection'] = ResolversParentTypes['StepConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['StepEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Step']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  count?: Resolver<ResolversTypes['BoundedCount'], ParentType, ContextType, RequireFields<StepConnectionCountArgs, 'upTo'>>;
};

export type BoundedCountResolvers<ContextType = Context, ParentType extends ResolversParentTypes['BoundedCount'] = ResolversParentTypes['BoundedCount']> = {
  count?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  complete?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
};

export type StepEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['StepEdge'] = ResolversParentTypes['StepEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Step'], ParentType, ContextType>;
  highlights?: Resolver<ReadonlyArray<ResolversTypes['Highlight']>, ParentType, ContextType, RequireFields<StepEdgeHighlightsArgs, 'open' | 'close'>>;
};

export type ToolCallConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ToolCallConnection'] = ResolversParentTypes['ToolCallConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['ToolCallEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['ToolCall']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  count?: Resolver<ResolversTypes['BoundedCount'], ParentType, ContextType, RequireFields<ToolCallConnectionCountArgs, 'upTo'>>;
};

export type ToolCallEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ToolCallEdge'] = ResolversParentTypes['ToolCallEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['ToolCall'], ParentType, ContextType>;
};

export type TrainingSampleConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TrainingSampleConnection'] = ResolversParentTypes['TrainingSampleConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['TrainingSampleEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['TrainingSample']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  count?: Resolver<ResolversTypes['BoundedCount'], ParentType, ContextType, RequireFields<TrainingSampleConnectionCountArgs, 'upTo'>>;
};

export type TrainingSampleEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TrainingSampleEdge'] = ResolversParentTypes['TrainingSampleEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['TrainingSample'], ParentType, ContextType>;
};

export type TaskConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TaskConnection'] = ResolversParentTypes['TaskConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['TaskEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Task']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type TaskEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TaskEdge'] = ResolversParentTypes['TaskEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Task'], ParentType, ContextType>;
};

export type DatasetResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Dataset'] = ResolversParentTypes['Dataset']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  version?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  format?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  formatVersion?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  query?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  parameters?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  position?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  counts?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  bytes?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  sha256?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  codeVersion?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  releasedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  withdrawnAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  withdrawReason?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  runs?: Resolver<ReadonlyArray<ResolversTypes['Run']>, ParentType, ContextType>;
  policies?: Resolver<ReadonlyArray<ResolversTypes['PolicyVersion']>, ParentType, ContextType>;
  evaluations?: Resolver<ReadonlyArray<ResolversTypes['Evaluation']>, ParentType, ContextType>;
  examples?: Resolver<ResolversTypes['DatasetExampleConnection'], ParentType, ContextType, Partial<DatasetExamplesArgs>>;
  trees?: Resolver<ResolversTypes['TreeConnection'], ParentType, ContextType, RequireFields<DatasetTreesArgs, 'orderBy'>>;
  trajectories?: Resolver<ResolversTypes['TrajectoryConnection'], ParentType, ContextType, RequireFields<DatasetTrajectoriesArgs, 'orderBy'>>;
  revisions?: Resolver<ResolversTypes['RevisionConnection'], ParentType, ContextType, Partial<DatasetRevisionsArgs>>;
};

export type DatasetExampleResolvers<ContextType = Context, ParentType extends ResolversParentTypes['DatasetExample'] = ResolversParentTypes['DatasetExample']> = {
  line?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  lines?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  kind?: Resolver<ResolversTypes['DatasetExampleKind'], ParentType, ContextType>;
  treeId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  tree?: Resolver<Maybe<ResolversTypes['Tree']>, ParentType, ContextType>;
  trajectory?: Resolver<Maybe<ResolversTypes['Trajectory']>, ParentType, ContextType>;
  badTrajectory?: Resolver<Maybe<ResolversTypes['Trajectory']>, ParentType, ContextType>;
  revision?: Resolver<Maybe<ResolversTypes['Revision']>, ParentType, ContextType>;
  annotations?: Resolver<ReadonlyArray<ResolversTypes['Annotation']>, ParentType, ContextType>;
  text?: Resolver<ResolversTypes['ExampleText'], ParentType, ContextType, RequireFields<DatasetExampleTextArgs, 'characters'>>;
};

export type ExampleTextResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExampleText'] = ResolversParentTypes['ExampleText']> = {
  text?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  length?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type BatchEstimatesResolvers<ContextType = Context, ParentType extends ResolversParentTypes['BatchEstimates'] = ResolversParentTypes['BatchEstimates']> = {
  estimator?: Resolver<Maybe<ResolversTypes['TrainingMethod']>, ParentType, ContextType>;
  grain?: Resolver<Maybe<ResolversTypes['EstimateGrain']>, ParentType, ContextType>;
  reason?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  rewardsAt?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  agrees?: Resolver<Maybe<ResolversTypes['Boolean']>, ParentType, ContextType>;
  sampleCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  samples?: Resolver<ReadonlyArray<ResolversTypes['SampleEstimate']>, ParentType, ContextType, RequireFields<BatchEstimatesSamplesArgs, 'from' | 'first'>>;
};

export type SampleEstimateResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SampleEstimate'] = ResolversParentTypes['SampleEstimate']> = {
  rollout?: Resolver<Maybe<ResolversTypes['Rollout']>, ParentType, ContextType>;
  group?: Resolver<Maybe<ResolversTypes['Tree']>, ParentType, ContextType>;
  place?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  return?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  rewards?: Resolver<ReadonlyArray<ResolversTypes['EstimateReward']>, ParentType, ContextType>;
  advantage?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  staleness?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  steps?: Resolver<ReadonlyArray<ResolversTypes['StepEstimate']>, ParentType, ContextType>;
};

export type StepEstimateResolvers<ContextType = Context, ParentType extends ResolversParentTypes['StepEstimate'] = ResolversParentTypes['StepEstimate']> = {
  step?: Resolver<Maybe<ResolversTypes['Step']>, ParentType, ContextType>;
  number?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  rewards?: Resolver<ReadonlyArray<ResolversTypes['EstimateReward']>, ParentType, ContextType>;
  reward?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  anchor?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  tokenCount?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  maskLength?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  logProb?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  staleness?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  value?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  bootstrap?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  target?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  advantage?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  readAgain?: Resolver<Maybe<ResolversTypes['StepReadAgain']>, ParentType, ContextType>;
  newLogProbs?: Resolver<Maybe<ReadonlyArray<ResolversTypes['Float']>>, ParentType, ContextType>;
  tokenAdvantages?: Resolver<Maybe<ReadonlyArray<ResolversTypes['Float']>>, ParentType, ContextType>;
};

export type StepReadAgainResolvers<ContextType = Context, ParentType extends ResolversParentTypes['StepReadAgain'] = ResolversParentTypes['StepReadAgain']> = {
  before?: Resolver<Maybe<ResolversTypes['StepReading']>, ParentType, ContextType>;
  after?: Resolver<Maybe<ResolversTypes['StepReading']>, ParentType, ContextType>;
};

export type StepReadingResolvers<ContextType = Context, ParentType extends ResolversParentTypes['StepReading'] = ResolversParentTypes['StepReading']> = {
  logProb?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  entropy?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type EstimateRewardResolvers<ContextType = Context, ParentType extends ResolversParentTypes['EstimateReward'] = ResolversParentTypes['EstimateReward']> = {
  component?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  value?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  weight?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  scorer?: Resolver<ResolversTypes['Scorer'], ParentType, ContextType>;
};

export type BatchActorResolvers<ContextType = Context, ParentType extends ResolversParentTypes['BatchActor'] = ResolversParentTypes['BatchActor']> = {
  policy?: Resolver<ResolversTypes['PolicyVersion'], ParentType, ContextType>;
  samples?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  steps?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  tokens?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type EvaluationResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Evaluation'] = ResolversParentTypes['Evaluation']> = {
  run?: Resolver<Maybe<ResolversTypes['Run']>, ParentType, ContextType>;
  policy?: Resolver<ResolversTypes['PolicyVersion'], ParentType, ContextType>;
  environment?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  split?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  tasks?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  episodes?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  failedTrees?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  meanReturn?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  returnInterval?: Resolver<ResolversTypes['Interval'], ParentType, ContextType>;
  successRate?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  successInterval?: Resolver<ResolversTypes['Interval'], ParentType, ContextType>;
  confidence?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  meanSteps?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  repeatedActions?: Resolver<ReadonlyArray<ResolversTypes['RepeatedActions']>, ParentType, ContextType>;
  byDepth?: Resolver<ReadonlyArray<ResolversTypes['EvaluatedDepth']>, ParentType, ContextType>;
  recoveredFrom?: Resolver<Maybe<ResolversTypes['Run']>, ParentType, ContextType>;
  trained?: Resolver<Maybe<ResolversTypes['TrainedOn']>, ParentType, ContextType>;
  finishedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type IntervalResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Interval'] = ResolversParentTypes['Interval']> = {
  low?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  high?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type RepeatedActionsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RepeatedActions'] = ResolversParentTypes['RepeatedActions']> = {
  length?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  perEpisode?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type EvaluatedDepthResolvers<ContextType = Context, ParentType extends ResolversParentTypes['EvaluatedDepth'] = ResolversParentTypes['EvaluatedDepth']> = {
  taskDepth?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  episodes?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  successes?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type TrainedOnResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TrainedOn'] = ResolversParentTypes['TrainedOn']> = {
  method?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  iteration?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  weights?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  runs?: Resolver<ReadonlyArray<ResolversTypes['Run']>, ParentType, ContextType>;
  datasets?: Resolver<ReadonlyArray<ResolversTypes['Dataset']>, ParentType, ContextType>;
  good?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  revisions?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  revisionLength?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  actions?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type ExperimentResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Experiment'] = ResolversParentTypes['Experiment']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  question?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  declaredAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  declaration?: Resolver<Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  refused?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  rerunOf?: Resolver<Maybe<ResolversTypes['Experiment']>, ParentType, ContextType>;
  completedStages?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  failedStages?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  arms?: Resolver<ReadonlyArray<ResolversTypes['ExperimentArm']>, ParentType, ContextType>;
  comparison?: Resolver<ReadonlyArray<ResolversTypes['ArmResult']>, ParentType, ContextType>;
  runs?: Resolver<ResolversTypes['RunConnection'], ParentType, ContextType, RequireFields<ExperimentRunsArgs, 'orderBy'>>;
};

export type ExperimentArmResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExperimentArm'] = ResolversParentTypes['ExperimentArm']> = {
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  isBaseline?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  overrides?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  repetitions?: Resolver<ReadonlyArray<ResolversTypes['SafeInt']>, ParentType, ContextType>;
  stages?: Resolver<ReadonlyArray<ResolversTypes['ExperimentStage']>, ParentType, ContextType>;
};

export type ExperimentStageResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExperimentStage'] = ResolversParentTypes['ExperimentStage']> = {
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  kind?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  seed?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  state?: Resolver<ResolversTypes['StageState'], ParentType, ContextType>;
  message?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  key?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  finishedAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  reusedFrom?: Resolver<Maybe<ResolversTypes['Experiment']>, ParentType, ContextType>;
  digest?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  policy?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  judge?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  runs?: Resolver<ReadonlyArray<ResolversTypes['Run']>, ParentType, ContextType>;
  dataset?: Resolver<Maybe<ResolversTypes['Dataset']>, ParentType, ContextType>;
  kept?: Resolver<Maybe<ResolversTypes['StoredContent']>, ParentType, ContextType>;
  values?: Resolver<ReadonlyArray<ResolversTypes['StageValue']>, ParentType, ContextType>;
};

export type StoredContentResolvers<ContextType = Context, ParentType extends ResolversParentTypes['StoredContent'] = ResolversParentTypes['StoredContent']> = {
  blob?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  size?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  mediaType?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type StageValueResolvers<ContextType = Context, ParentType extends ResolversParentTypes['StageValue'] = ResolversParentTypes['StageValue']> = {
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  value?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type ArmResultResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ArmResult'] = ResolversParentTypes['ArmResult']> = {
  arm?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  stage?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  seeds?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  success?: Resolver<Maybe<ResolversTypes['ArmEstimate']>, ParentType, ContextType>;
  return?: Resolver<Maybe<ResolversTypes['ArmEstimate']>, ParentType, ContextType>;
  values?: Resolver<ReadonlyArray<ResolversTypes['StageValue']>, ParentType, ContextType>;
  difference?: Resolver<Maybe<ResolversTypes['ArmDifference']>, ParentType, ContextType>;
};

export type ArmEstimateResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ArmEstimate'] = ResolversParentTypes['ArmEstimate']> = {
  mean?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  interval?: Resolver<ResolversTypes['Interval'], ParentType, ContextType>;
};

export type ArmDifferenceResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ArmDifference'] = ResolversParentTypes['ArmDifference']> = {
  to?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  pairs?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  success?: Resolver<Maybe<ResolversTypes['ArmEstimate']>, ParentType, ContextType>;
  return?: Resolver<Maybe<ResolversTypes['ArmEstimate']>, ParentType, ContextType>;
};

export type HistoryImageResolvers<ContextType = Context, ParentType extends ResolversParentTypes['HistoryImage'] = ResolversParentTypes['HistoryImage']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  url?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  stepId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  step?: Resolver<Maybe<ResolversTypes['Step']>, ParentType, ContextType>;
  width?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  height?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  raw?: Resolver<ResolversTypes['ImageSize'], ParentType, ContextType>;
  resized?: Resolver<ResolversTypes['ImageSize'], ParentType, ContextType>;
  model?: Resolver<ResolversTypes['ImageSize'], ParentType, ContextType>;
  factor?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  factorChosenBy?: Resolver<Maybe<ResolversTypes['Step']>, ParentType, ContextType>;
  visionTokens?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  visionPreset?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  textTokens?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  tokenizer?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  saved?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  length?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  hits?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  misses?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  history?: Resolver<ResolversTypes['HistoryKind'], ParentType, ContextType>;
  segments?: Resolver<ReadonlyArray<ResolversTypes['HistorySegment']>, ParentType, ContextType>;
  cutSegments?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  cutLines?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  outside?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  renderMs?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  renderedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  renderSpecId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  renderSpec?: Resolver<Maybe<ResolversTypes['RenderSpec']>, ParentType, ContextType>;
  atFactors?: Resolver<ReadonlyArray<ResolversTypes['HistoryAtFactor']>, ParentType, ContextType, RequireFields<HistoryImageAtFactorsArgs, 'factors'>>;
};

export type HistoryAtFactorResolvers<ContextType = Context, ParentType extends ResolversParentTypes['HistoryAtFactor'] = ResolversParentTypes['HistoryAtFactor']> = {
  factor?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  shown?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  url?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  width?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  height?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  visionTokens?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  saved?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  linePixels?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  legibility?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
};

export type HistoryImageConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['HistoryImageConnection'] = ResolversParentTypes['HistoryImageConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['HistoryImageEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['HistoryImage']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type HistoryImageEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['HistoryImageEdge'] = ResolversParentTypes['HistoryImageEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['HistoryImage'], ParentType, ContextType>;
};

export type PictureResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Picture'] = ResolversParentTypes['Picture']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  width?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  height?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  url?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type ImageSizeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ImageSize'] = ResolversParentTypes['ImageSize']> = {
  width?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  height?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type HistorySegmentResolvers<ContextType = Context, ParentType extends ResolversParentTypes['HistorySegment'] = ResolversParentTypes['HistorySegment']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  place?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  hit?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  text?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  forgotten?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  lines?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  width?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  height?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  rgb?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  cutLines?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  outside?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  runId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  largeTexts?: Resolver<ReadonlyArray<ResolversTypes['LargeText']>, ParentType, ContextType>;
};

export type RenderSpecResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RenderSpec'] = ResolversParentTypes['RenderSpec']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  profile?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  spec?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
};

export type ImageTotalsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ImageTotals'] = ResolversParentTypes['ImageTotals']> = {
  steps?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  images?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  visionTokens?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  textTokens?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  saved?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  segments?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  hits?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  misses?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  hitRate?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  pixels?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  meanFactor?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  cutSegments?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  cutLines?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  outside?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  renderMs?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type TraceResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Trace'] = ResolversParentTypes['Trace']> = {
  kind?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  title?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  madeBy?: Resolver<ResolversTypes['TraceEvents'], ParentType, ContextType>;
  from?: Resolver<ReadonlyArray<ResolversTypes['TraceLinks']>, ParentType, ContextType>;
  usedBy?: Resolver<ReadonlyArray<ResolversTypes['TraceLinks']>, ParentType, ContextType>;
  touched?: Resolver<Maybe<ResolversTypes['Touched']>, ParentType, ContextType>;
};

export type TraceEventsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TraceEvents'] = ResolversParentTypes['TraceEvents']> = {
  total?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  first?: Resolver<ReadonlyArray<ResolversTypes['TraceEvent']>, ParentType, ContextType>;
};

export type TraceEventResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TraceEvent'] = ResolversParentTypes['TraceEvent']> = {
  eventId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  type?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  place?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  occurredAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  envelope?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
};

export type TraceLinksResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TraceLinks'] = ResolversParentTypes['TraceLinks']> = {
  relation?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  total?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  first?: Resolver<ReadonlyArray<ResolversTypes['TraceLink']>, ParentType, ContextType>;
};

export type TraceLinkResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TraceLink'] = ResolversParentTypes['TraceLink']> = {
  id?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  text?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type TouchedResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Touched'] = ResolversParentTypes['Touched']> = {
  runsTotal?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  runs?: Resolver<ReadonlyArray<ResolversTypes['ID']>, ParentType, ContextType, RequireFields<TouchedRunsArgs, 'first'>>;
  trees?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  rollouts?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  datasetsTotal?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  datasets?: Resolver<ReadonlyArray<ResolversTypes['TouchedDataset']>, ParentType, ContextType, RequireFields<TouchedDatasetsArgs, 'first'>>;
  batchesTotal?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  batches?: Resolver<ReadonlyArray<ResolversTypes['TouchedBatch']>, ParentType, ContextType, RequireFields<TouchedBatchesArgs, 'first'>>;
  versionsTotal?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  versions?: Resolver<ReadonlyArray<ResolversTypes['TouchedVersion']>, ParentType, ContextType, RequireFields<TouchedVersionsArgs, 'first'>>;
  evaluationsTotal?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  evaluations?: Resolver<ReadonlyArray<ResolversTypes['TouchedEvaluation']>, ParentType, ContextType, RequireFields<TouchedEvaluationsArgs, 'first'>>;
};

export type TouchedDatasetResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TouchedDataset'] = ResolversParentTypes['TouchedDataset']> = {
  datasetId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  version?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  examples?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  withdrawn?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
};

export type TouchedBatchResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TouchedBatch'] = ResolversParentTypes['TouchedBatch']> = {
  batchId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  policyId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  ordinal?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  samples?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  trained?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
};

export type TouchedVersionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TouchedVersion'] = ResolversParentTypes['TouchedVersion']> = {
  policyId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  version?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  how?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type TouchedEvaluationResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TouchedEvaluation'] = ResolversParentTypes['TouchedEvaluation']> = {
  runId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  policyId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  version?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  meanReturn?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  how?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type ProjectionLagResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ProjectionLag'] = ResolversParentTypes['ProjectionLag']> = {
  projection?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  version?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  build?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  state?: Resolver<ResolversTypes['ProjectionState'], ParentType, ContextType>;
  reason?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  lag?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  partitions?: Resolver<ReadonlyArray<ResolversTypes['PartitionLag']>, ParentType, ContextType>;
  builds?: Resolver<ReadonlyArray<ResolversTypes['ProjectionBuild']>, ParentType, ContextType>;
};

export type ProjectionBuildResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ProjectionBuild'] = ResolversParentTypes['ProjectionBuild']> = {
  version?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  build?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  state?: Resolver<ResolversTypes['BuildState'], ParentType, ContextType>;
  phase?: Resolver<Maybe<ResolversTypes['BuildPhase']>, ParentType, ContextType>;
  done?: Resolver<Maybe<ResolversTypes['SafeInt']>, ParentType, ContextType>;
  of?: Resolver<Maybe<ResolversTypes['SafeInt']>, ParentType, ContextType>;
  rate?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  secondsLeft?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  toldAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  begunAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type PartitionLagResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PartitionLag'] = ResolversParentTypes['PartitionLag']> = {
  topic?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  partition?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  cursor?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  end?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  lag?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type AnomalyResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Anomaly'] = ResolversParentTypes['Anomaly']> = {
  topic?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  partition?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  offset?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  eventId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  stream?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  kind?: Resolver<ResolversTypes['AnomalyKind'], ParentType, ContextType>;
  detail?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type QuarantinedRecordResolvers<ContextType = Context, ParentType extends ResolversParentTypes['QuarantinedRecord'] = ResolversParentTypes['QuarantinedRecord']> = {
  projection?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  topic?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  partition?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  offset?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  eventId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  type?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  stream?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  code?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  field?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  reason?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  body?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  size?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  quarantinedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  releasedAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  releasedOffset?: Resolver<Maybe<ResolversTypes['SafeInt']>, ParentType, ContextType>;
};

export type QuarantineReleaseResolvers<ContextType = Context, ParentType extends ResolversParentTypes['QuarantineRelease'] = ResolversParentTypes['QuarantineRelease']> = {
  projection?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  place?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  appended?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  outcome?: Resolver<ResolversTypes['QuarantineReleaseOutcome'], ParentType, ContextType>;
  reason?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type VerificationResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Verification'] = ResolversParentTypes['Verification']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  finishedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  seconds?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  codeVersion?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  intact?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  counts?: Resolver<ResolversTypes['VerificationCounts'], ParentType, ContextType>;
  faulty?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  faults?: Resolver<ReadonlyArray<ResolversTypes['VerificationFault']>, ParentType, ContextType>;
  doubtful?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  foreign?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type VerificationCountsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['VerificationCounts'] = ResolversParentTypes['VerificationCounts']> = {
  events?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  records?: Resolver<Maybe<ResolversTypes['SafeInt']>, ParentType, ContextType>;
  blobs?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  batches?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  checkpoints?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  files?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  prompts?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  anchored?: Resolver<Maybe<ResolversTypes['SafeInt']>, ParentType, ContextType>;
};

export type VerificationFaultResolvers<ContextType = Context, ParentType extends ResolversParentTypes['VerificationFault'] = ResolversParentTypes['VerificationFault']> = {
  what?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  kind?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  place?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type VerificationConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['VerificationConnection'] = ResolversParentTypes['VerificationConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['VerificationEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Verification']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type VerificationEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['VerificationEdge'] = ResolversParentTypes['VerificationEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Verification'], ParentType, ContextType>;
};

export type TreeOutlineResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TreeOutline'] = ResolversParentTypes['TreeOutline']> = {
  length?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  ids?: Resolver<ReadonlyArray<ResolversTypes['ID']>, ParentType, ContextType>;
  parents?: Resolver<ResolversTypes['PackedArray'], ParentType, ContextType>;
  actions?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  executable?: Resolver<ResolversTypes['PackedArray'], ParentType, ContextType>;
  terminations?: Resolver<ResolversTypes['PackedArray'], ParentType, ContextType>;
  rewards?: Resolver<ResolversTypes['PackedArray'], ParentType, ContextType>;
  backUps?: Resolver<ResolversTypes['OutlineBackUps'], ParentType, ContextType>;
};

export type OutlineBackUpsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['OutlineBackUps'] = ResolversParentTypes['OutlineBackUps']> = {
  length?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  values?: Resolver<ResolversTypes['PackedArray'], ParentType, ContextType>;
  lengths?: Resolver<ResolversTypes['PackedArray'], ParentType, ContextType>;
  paths?: Resolver<ResolversTypes['PackedArray'], ParentType, ContextType>;
};

export type ProjectResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Project'] = ResolversParentTypes['Project']> = {
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  runs?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  trees?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  datasets?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  policies?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type ViewerResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Viewer'] = ResolversParentTypes['Viewer']> = {
  principal?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  scopes?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  project?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  projects?: Resolver<Maybe<ReadonlyArray<ResolversTypes['String']>>, ParentType, ContextType>;
  replaces?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
};

export type PromptResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Prompt'] = ResolversParentTypes['Prompt']> = {
  sha256?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  messages?: Resolver<ReadonlyArray<ResolversTypes['PromptMessage']>, ParentType, ContextType>;
  template?: Resolver<Maybe<ResolversTypes['PromptTemplate']>, ParentType, ContextType>;
  tools?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  sampling?: Resolver<ResolversTypes['Sampling'], ParentType, ContextType>;
  server?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  model?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  tokens?: Resolver<Maybe<ResolversTypes['PromptTokens']>, ParentType, ContextType>;
  answer?: Resolver<Maybe<ResolversTypes['PromptAnswer']>, ParentType, ContextType>;
};

export type PromptAnswerResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PromptAnswer'] = ResolversParentTypes['PromptAnswer']> = {
  finishReason?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  usage?: Resolver<Maybe<ResolversTypes['Usage']>, ParentType, ContextType>;
  tokens?: Resolver<Maybe<ResolversTypes['Tokens']>, ParentType, ContextType>;
  call?: Resolver<Maybe<ResolversTypes['ModelCall']>, ParentType, ContextType>;
};

export type PromptMessageResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PromptMessage'] = ResolversParentTypes['PromptMessage']> = {
  role?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  parts?: Resolver<ReadonlyArray<ResolversTypes['PromptPart']>, ParentType, ContextType>;
};

export type PromptPartResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PromptPart'] = ResolversParentTypes['PromptPart']> = {
  text?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  image?: Resolver<Maybe<ResolversTypes['HistoryImage']>, ParentType, ContextType>;
  picture?: Resolver<Maybe<ResolversTypes['Picture']>, ParentType, ContextType>;
};

export type PromptTemplateResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PromptTemplate'] = ResolversParentTypes['PromptTemplate']> = {
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  version?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type SamplingResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Sampling'] = ResolversParentTypes['Sampling']> = {
  temperature?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  topP?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  maxTokens?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  stop?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  seed?: Resolver<Maybe<ResolversTypes['SafeInt']>, ParentType, ContextType>;
};

export type PromptTokensResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PromptTokens'] = ResolversParentTypes['PromptTokens']> = {
  ids?: Resolver<ResolversTypes['PackedArray'], ParentType, ContextType>;
  before?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  kept?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
};

export type DriftResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Drift'] = ResolversParentTypes['Drift']> = {
  steps?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  firstStep?: Resolver<Maybe<ResolversTypes['Step']>, ParentType, ContextType>;
};

export type QueryResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Query'] = ResolversParentTypes['Query']> = {
  experiment?: Resolver<Maybe<ResolversTypes['Experiment']>, ParentType, ContextType, RequireFields<QueryExperimentArgs, 'id'>>;
  experiments?: Resolver<ResolversTypes['ExperimentConnection'], ParentType, ContextType, RequireFields<QueryExperimentsArgs, 'orderBy'>>;
  run?: Resolver<Maybe<ResolversTypes['Run']>, ParentType, ContextType, RequireFields<QueryRunArgs, 'id'>>;
  runs?: Resolver<ResolversTypes['RunConnection'], ParentType, ContextType, RequireFields<QueryRunsArgs, 'orderBy'>>;
  tree?: Resolver<Maybe<ResolversTypes['Tree']>, ParentType, ContextType, RequireFields<QueryTreeArgs, 'id'>>;
  trees?: Resolver<ResolversTypes['TreeConnection'], ParentType, ContextType, RequireFields<QueryTreesArgs, 'orderBy'>>;
  step?: Resolver<Maybe<ResolversTypes['Step']>, ParentType, ContextType, RequireFields<QueryStepArgs, 'id'>>;
  path?: Resolver<ReadonlyArray<ResolversTypes['Step']>, ParentType, ContextType, RequireFields<QueryPathArgs, 'leaf'>>;
  rollout?: Resolver<Maybe<ResolversTypes['Rollout']>, ParentType, ContextType, RequireFields<QueryRolloutArgs, 'id'>>;
  rollouts?: Resolver<ResolversTypes['RolloutConnection'], ParentType, ContextType, RequireFields<QueryRolloutsArgs, 'orderBy'>>;
  trajectory?: Resolver<Maybe<ResolversTypes['Trajectory']>, ParentType, ContextType, RequireFields<QueryTrajectoryArgs, 'rollout'>>;
  trajectories?: Resolver<ResolversTypes['TrajectoryConnection'], ParentType, ContextType, RequireFields<QueryTrajectoriesArgs, 'orderBy'>>;
  steps?: Resolver<ResolversTypes['StepConnection'], ParentType, ContextType, RequireFields<QueryStepsArgs, 'orderBy'>>;
  toolCalls?: Resolver<ResolversTypes['ToolCallConnection'], ParentType, ContextType, RequireFields<QueryToolCallsArgs, 'orderBy'>>;
  samples?: Resolver<ResolversTypes['TrainingSampleConnection'], ParentType, ContextType, Partial<QuerySamplesArgs>>;
  tasks?: Resolver<ResolversTypes['TaskConnection'], ParentType, ContextType, Partial<QueryTasksArgs>>;
  aggregate?: Resolver<ReadonlyArray<ResolversTypes['Aggregate']>, ParentType, ContextType, RequireFields<QueryAggregateArgs, 'by' | 'filter' | 'first'>>;
  compare?: Resolver<ReadonlyArray<ResolversTypes['RunComparison']>, ParentType, ContextType, RequireFields<QueryCompareArgs, 'runs' | 'confidence' | 'resamples' | 'seed'>>;
  divergence?: Resolver<Maybe<ResolversTypes['TrajectoryDivergence']>, ParentType, ContextType, RequireFields<QueryDivergenceArgs, 'a' | 'b'>>;
  revision?: Resolver<Maybe<ResolversTypes['Revision']>, ParentType, ContextType, RequireFields<QueryRevisionArgs, 'id'>>;
  dataset?: Resolver<Maybe<ResolversTypes['Dataset']>, ParentType, ContextType, RequireFields<QueryDatasetArgs, 'id'>>;
  datasets?: Resolver<ResolversTypes['DatasetConnection'], ParentType, ContextType, RequireFields<QueryDatasetsArgs, 'orderBy'>>;
  annotation?: Resolver<Maybe<ResolversTypes['Annotation']>, ParentType, ContextType, RequireFields<QueryAnnotationArgs, 'id'>>;
  annotations?: Resolver<ResolversTypes['AnnotationConnection'], ParentType, ContextType, RequireFields<QueryAnnotationsArgs, 'orderBy'>>;
  annotationLabels?: Resolver<ReadonlyArray<ResolversTypes['LabelCount']>, ParentType, ContextType, Partial<QueryAnnotationLabelsArgs>>;
  policy?: Resolver<Maybe<ResolversTypes['TrainedPolicy']>, ParentType, ContextType, RequireFields<QueryPolicyArgs, 'id'>>;
  policies?: Resolver<ReadonlyArray<ResolversTypes['TrainedPolicy']>, ParentType, ContextType>;
  batch?: Resolver<Maybe<ResolversTypes['Batch']>, ParentType, ContextType, RequireFields<QueryBatchArgs, 'id'>>;
  trace?: Resolver<Maybe<ResolversTypes['Trace']>, ParentType, ContextType, RequireFields<QueryTraceArgs, 'id'>>;
  recall?: Resolver<ResolversTypes['Touched'], ParentType, ContextType, RequireFields<QueryRecallArgs, 'what'>>;
  anomalies?: Resolver<ResolversTypes['AnomalyConnection'], ParentType, ContextType, Partial<QueryAnomaliesArgs>>;
  quarantine?: Resolver<ResolversTypes['QuarantineConnection'], ParentType, ContextType, Partial<QueryQuarantineArgs>>;
  replays?: Resolver<ResolversTypes['ReplayConnection'], ParentType, ContextType, Partial<QueryReplaysArgs>>;
  verifications?: Resolver<ResolversTypes['VerificationConnection'], ParentType, ContextType, Partial<QueryVerificationsArgs>>;
  projects?: Resolver<ReadonlyArray<ResolversTypes['Project']>, ParentType, ContextType>;
  viewer?: Resolver<ResolversTypes['Viewer'], ParentType, ContextType>;
  position?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  lag?: Resolver<ReadonlyArray<ResolversTypes['ProjectionLag']>, ParentType, ContextType>;
  waitFor?: Resolver<ResolversTypes['Reached'], ParentType, ContextType, RequireFields<QueryWaitForArgs, 'position' | 'timeoutMs'>>;
  asOf?: Resolver<ResolversTypes['Query'], ParentType, ContextType, Partial<QueryAsOfArgs>>;
};

export type ReachedResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Reached'] = ResolversParentTypes['Reached']> = {
  position?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  waitedMs?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  query?: Resolver<ResolversTypes['Query'], ParentType, ContextType>;
};

export type SubscriptionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Subscription'] = ResolversParentTypes['Subscription']> = {
  events?: SubscriptionResolver<ResolversTypes['EventDelivery'], "events", ParentType, ContextType, Partial<SubscriptionEventsArgs>>;
};

export type EventDeliveryResolvers<ContextType = Context, ParentType extends ResolversParentTypes['EventDelivery'] = ResolversParentTypes['EventDelivery']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  type?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  schemaVersion?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  stream?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  streamPosition?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  sequence?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  occurredAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  receivedAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  runId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  causationId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  producer?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  principal?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  project?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  data?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  topic?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  partition?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  offset?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  releasedFrom?: Resolver<Maybe<ResolversTypes['SafeInt']>, ParentType, ContextType>;
  position?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type ReplayResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Replay'] = ResolversParentTypes['Replay']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  runId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  run?: Resolver<Maybe<ResolversTypes['Run']>, ParentType, ContextType>;
  mode?: Resolver<ResolversTypes['ReplayMode'], ParentType, ContextType>;
  outcome?: Resolver<ResolversTypes['ReplayOutcome'], ParentType, ContextType>;
  compared?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  differing?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  differences?: Resolver<ReadonlyArray<ResolversTypes['ReplayDifference']>, ParentType, ContextType>;
  notes?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  parameters?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  codeVersion?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  seconds?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  finishedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type ReplayDifferenceResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ReplayDifference'] = ResolversParentTypes['ReplayDifference']> = {
  eventId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  stepId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  field?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  recorded?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  replayed?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type RevisionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Revision'] = ResolversParentTypes['Revision']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  treeId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  tree?: Resolver<Maybe<ResolversTypes['Tree']>, ParentType, ContextType>;
  runId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  goodLeaf?: Resolver<Maybe<ResolversTypes['Step']>, ParentType, ContextType>;
  badLeaf?: Resolver<Maybe<ResolversTypes['Step']>, ParentType, ContextType>;
  branch?: Resolver<Maybe<ResolversTypes['Step']>, ParentType, ContextType>;
  transition?: Resolver<Maybe<ResolversTypes['Step']>, ParentType, ContextType>;
  cause?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  judged?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  reflection?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  signal?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  alpha?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  beta?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  judge?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  contentHash?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  state?: Resolver<ResolversTypes['RevisionState'], ParentType, ContextType>;
  reached?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  threshold?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  reason?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  detail?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  rejectedAt?: Resolver<Maybe<ResolversTypes['Step']>, ParentType, ContextType>;
  composedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  checkedAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  judgements?: Resolver<ReadonlyArray<ResolversTypes['Judgement']>, ParentType, ContextType>;
  turns?: Resolver<ReadonlyArray<ResolversTypes['RevisionTurn']>, ParentType, ContextType>;
  annotations?: Resolver<ReadonlyArray<ResolversTypes['Annotation']>, ParentType, ContextType>;
  datasets?: Resolver<ResolversTypes['DatasetConnection'], ParentType, ContextType, RequireFields<RevisionDatasetsArgs, 'orderBy'>>;
};

export type RevisionTurnResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RevisionTurn'] = ResolversParentTypes['RevisionTurn']> = {
  part?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  stepId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  response?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  observation?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  loss?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  responseTokens?: Resolver<Maybe<ReadonlyArray<ResolversTypes['String']>>, ParentType, ContextType>;
  observationTokens?: Resolver<Maybe<ReadonlyArray<ResolversTypes['String']>>, ParentType, ContextType>;
};

export type JudgementResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Judgement'] = ResolversParentTypes['Judgement']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  stepId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  step?: Resolver<Maybe<ResolversTypes['Step']>, ParentType, ContextType>;
  leafStepId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  index?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  judge?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  promptHash?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  prompt?: Resolver<Maybe<ResolversTypes['Prompt']>, ParentType, ContextType>;
  verdict?: Resolver<ResolversTypes['Verdict'], ParentType, ContextType>;
  reply?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  reusedFrom?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  judgedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  largeTexts?: Resolver<ReadonlyArray<ResolversTypes['LargeText']>, ParentType, ContextType>;
};

export type RolloutResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Rollout'] = ResolversParentTypes['Rollout']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  treeId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  tree?: Resolver<Maybe<ResolversTypes['Tree']>, ParentType, ContextType>;
  imageTotals?: Resolver<ResolversTypes['ImageTotals'], ParentType, ContextType>;
  runId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  run?: Resolver<Maybe<ResolversTypes['Run']>, ParentType, ContextType>;
  taskId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  environment?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  fromStepId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  ordinal?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  seed?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  policy?: Resolver<ResolversTypes['PolicyVersion'], ParentType, ContextType>;
  sample?: Resolver<Maybe<ResolversTypes['TrainingSample']>, ParentType, ContextType>;
  startedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  finishedAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  outcome?: Resolver<Maybe<ResolversTypes['RolloutOutcome']>, ParentType, ContextType>;
  success?: Resolver<Maybe<ResolversTypes['Boolean']>, ParentType, ContextType>;
  leafId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  leaf?: Resolver<Maybe<ResolversTypes['Step']>, ParentType, ContextType>;
  stepCount?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  reason?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  return?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  rewards?: Resolver<ReadonlyArray<ResolversTypes['Reward']>, ParentType, ContextType, Partial<RolloutRewardsArgs>>;
  trajectory?: Resolver<Maybe<ResolversTypes['Trajectory']>, ParentType, ContextType>;
  annotations?: Resolver<ReadonlyArray<ResolversTypes['Annotation']>, ParentType, ContextType>;
};

export type TrajectoryResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Trajectory'] = ResolversParentTypes['Trajectory']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  rollout?: Resolver<ResolversTypes['Rollout'], ParentType, ContextType>;
  treeId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  tree?: Resolver<Maybe<ResolversTypes['Tree']>, ParentType, ContextType>;
  return?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  returns?: Resolver<ReadonlyArray<ResolversTypes['ComponentReturn']>, ParentType, ContextType>;
  length?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  leafId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  leaf?: Resolver<Maybe<ResolversTypes['Step']>, ParentType, ContextType>;
  steps?: Resolver<ReadonlyArray<ResolversTypes['Step']>, ParentType, ContextType, Partial<TrajectoryStepsArgs>>;
  rewards?: Resolver<ReadonlyArray<ResolversTypes['Reward']>, ParentType, ContextType, Partial<TrajectoryRewardsArgs>>;
  datasets?: Resolver<ResolversTypes['DatasetConnection'], ParentType, ContextType, RequireFields<TrajectoryDatasetsArgs, 'orderBy'>>;
};

export type RewardResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Reward'] = ResolversParentTypes['Reward']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  stepId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  rolloutId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  component?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  value?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  assignedValue?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  scorer?: Resolver<ResolversTypes['Scorer'], ParentType, ContextType>;
  raw?: Resolver<Maybe<ResolversTypes['RawReward']>, ParentType, ContextType>;
  revisionCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  revisions?: Resolver<ReadonlyArray<ResolversTypes['RewardRevision']>, ParentType, ContextType>;
  assignedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  revisedAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
};

export type RewardRevisionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RewardRevision'] = ResolversParentTypes['RewardRevision']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  ordinal?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  value?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  scorer?: Resolver<ResolversTypes['Scorer'], ParentType, ContextType>;
  reason?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  occurredAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type ScorerResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Scorer'] = ResolversParentTypes['Scorer']> = {
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  revision?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type RawRewardResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RawReward'] = ResolversParentTypes['RawReward']> = {
  value?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  scale?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  kind?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type ComponentReturnResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ComponentReturn'] = ResolversParentTypes['ComponentReturn']> = {
  component?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  value?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  rewards?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type RunResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Run'] = ResolversParentTypes['Run']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  kind?: Resolver<ResolversTypes['RunKind'], ParentType, ContextType>;
  seed?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  codeVersion?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  config?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  environments?: Resolver<ReadonlyArray<ResolversTypes['RunEnvironment']>, ParentType, ContextType>;
  policy?: Resolver<Maybe<ResolversTypes['PolicyVersion']>, ParentType, ContextType>;
  startedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  finishedAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  outcome?: Resolver<Maybe<ResolversTypes['RunOutcome']>, ParentType, ContextType>;
  message?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  forgotten?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  experiment?: Resolver<Maybe<ResolversTypes['Experiment']>, ParentType, ContextType>;
  project?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  owner?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  totals?: Resolver<ResolversTypes['RunTotals'], ParentType, ContextType>;
  activity?: Resolver<ResolversTypes['RunActivity'], ParentType, ContextType>;
  failures?: Resolver<ReadonlyArray<ResolversTypes['FailureReason']>, ParentType, ContextType, RequireFields<RunFailuresArgs, 'first'>>;
  lastReturns?: Resolver<ReadonlyArray<ResolversTypes['Float']>, ParentType, ContextType, RequireFields<RunLastReturnsArgs, 'last'>>;
  imageTotals?: Resolver<ResolversTypes['ImageTotals'], ParentType, ContextType>;
  historyImages?: Resolver<ResolversTypes['HistoryImageConnection'], ParentType, ContextType, RequireFields<RunHistoryImagesArgs, 'orderBy'>>;
  renderSpecs?: Resolver<ReadonlyArray<ResolversTypes['RenderSpec']>, ParentType, ContextType>;
  successByDepth?: Resolver<ReadonlyArray<ResolversTypes['DepthTotals']>, ParentType, ContextType>;
  evaluation?: Resolver<Maybe<ResolversTypes['Evaluation']>, ParentType, ContextType>;
  forkOf?: Resolver<Maybe<ResolversTypes['ForkOrigin']>, ParentType, ContextType>;
  forks?: Resolver<ReadonlyArray<ResolversTypes['Run']>, ParentType, ContextType>;
  drift?: Resolver<ResolversTypes['Drift'], ParentType, ContextType>;
  replays?: Resolver<ReadonlyArray<ResolversTypes['Replay']>, ParentType, ContextType>;
  metrics?: Resolver<ReadonlyArray<ResolversTypes['Metric']>, ParentType, ContextType, RequireFields<RunMetricsArgs, 'last'>>;
  publishedMetrics?: Resolver<ReadonlyArray<ResolversTypes['PublishedMetric']>, ParentType, ContextType>;
  trees?: Resolver<ResolversTypes['TreeConnection'], ParentType, ContextType, RequireFields<RunTreesArgs, 'orderBy'>>;
  rollouts?: Resolver<ResolversTypes['RolloutConnection'], ParentType, ContextType, RequireFields<RunRolloutsArgs, 'orderBy'>>;
  trajectories?: Resolver<ResolversTypes['TrajectoryConnection'], ParentType, ContextType, RequireFields<RunTrajectoriesArgs, 'orderBy'>>;
  revisions?: Resolver<ResolversTypes['RevisionConnection'], ParentType, ContextType, Partial<RunRevisionsArgs>>;
  datasets?: Resolver<ResolversTypes['DatasetConnection'], ParentType, ContextType, RequireFields<RunDatasetsArgs, 'orderBy'>>;
};

export type ForkOriginResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ForkOrigin'] = ResolversParentTypes['ForkOrigin']> = {
  run?: Resolver<Maybe<ResolversTypes['Run']>, ParentType, ContextType>;
  tree?: Resolver<Maybe<ResolversTypes['Tree']>, ParentType, ContextType>;
  step?: Resolver<Maybe<ResolversTypes['Step']>, ParentType, ContextType>;
};

export type RunEnvironmentResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RunEnvironment'] = ResolversParentTypes['RunEnvironment']> = {
  environment?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  fingerprint?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  renderer?: Resolver<Maybe<ResolversTypes['Renderer']>, ParentType, ContextType>;
};

export type RendererResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Renderer'] = ResolversParentTypes['Renderer']> = {
  sha256?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  source?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type PublishedMetricResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PublishedMetric'] = ResolversParentTypes['PublishedMetric']> = {
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  value?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  count?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type RunTotalsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RunTotals'] = ResolversParentTypes['RunTotals']> = {
  trees?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  closedTrees?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  rollouts?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  terminated?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  truncated?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  failed?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  cancelled?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  steps?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  successes?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  successRate?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  meanReturn?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  promptTokens?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  completionTokens?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type RunActivityResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RunActivity'] = ResolversParentTypes['RunActivity']> = {
  events?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  lastEventAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  eventsPerSecond?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
};

export type FailureReasonResolvers<ContextType = Context, ParentType extends ResolversParentTypes['FailureReason'] = ResolversParentTypes['FailureReason']> = {
  reason?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  rollouts?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  rolloutId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
};

export type DepthTotalsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['DepthTotals'] = ResolversParentTypes['DepthTotals']> = {
  taskDepth?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  trees?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  tasks?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  rollouts?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  finished?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  successes?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  successRate?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  meanReturn?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  meanSteps?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  maxSteps?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
};

export type MetricResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Metric'] = ResolversParentTypes['Metric']> = {
  eventId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  metric?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  value?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  at?: Resolver<Maybe<ResolversTypes['SafeInt']>, ParentType, ContextType>;
  occurredAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type StepResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Step'] = ResolversParentTypes['Step']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  treeId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  tree?: Resolver<Maybe<ResolversTypes['Tree']>, ParentType, ContextType>;
  parentId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  parent?: Resolver<Maybe<ResolversTypes['Step']>, ParentType, ContextType>;
  children?: Resolver<ReadonlyArray<ResolversTypes['Step']>, ParentType, ContextType>;
  path?: Resolver<ReadonlyArray<ResolversTypes['Step']>, ParentType, ContextType, Partial<StepPathArgs>>;
  forgotten?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  depth?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  logOffset?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  rolloutId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  rollout?: Resolver<Maybe<ResolversTypes['Rollout']>, ParentType, ContextType>;
  response?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  thought?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  action?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  observation?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  wellFormatted?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  executable?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  termination?: Resolver<ResolversTypes['Termination'], ParentType, ContextType>;
  estimate?: Resolver<Maybe<ResolversTypes['StepEstimate']>, ParentType, ContextType, RequireFields<StepEstimateArgs, 'rewards'>>;
  policySpans?: Resolver<ReadonlyArray<ResolversTypes['PolicySpan']>, ParentType, ContextType>;
  tokens?: Resolver<Maybe<ResolversTypes['Tokens']>, ParentType, ContextType>;
  tokenTexts?: Resolver<Maybe<ReadonlyArray<ResolversTypes['String']>>, ParentType, ContextType>;
  usage?: Resolver<Maybe<ResolversTypes['Usage']>, ParentType, ContextType>;
  finishReason?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  call?: Resolver<Maybe<ResolversTypes['ModelCall']>, ParentType, ContextType>;
  captured?: Resolver<Maybe<ResolversTypes['CapturedCall']>, ParentType, ContextType>;
  timings?: Resolver<ResolversTypes['Timings'], ParentType, ContextType>;
  stateHash?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  admissibleActions?: Resolver<Maybe<ReadonlyArray<ResolversTypes['String']>>, ParentType, ContextType>;
  occurredAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  rewards?: Resolver<ReadonlyArray<ResolversTypes['Reward']>, ParentType, ContextType, Partial<StepRewardsArgs>>;
  statistics?: Resolver<Maybe<ResolversTypes['SearchStatistics']>, ParentType, ContextType, Partial<StepStatisticsArgs>>;
  toolCalls?: Resolver<ReadonlyArray<ResolversTypes['ToolCall']>, ParentType, ContextType>;
  pictures?: Resolver<ReadonlyArray<ResolversTypes['Picture']>, ParentType, ContextType>;
  historyImage?: Resolver<Maybe<ResolversTypes['HistoryImage']>, ParentType, ContextType>;
  prompt?: Resolver<Maybe<ResolversTypes['Prompt']>, ParentType, ContextType>;
  hasPrompt?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  forks?: Resolver<ReadonlyArray<ResolversTypes['Run']>, ParentType, ContextType>;
  divergences?: Resolver<ReadonlyArray<ResolversTypes['Divergence']>, ParentType, ContextType>;
  annotations?: Resolver<ReadonlyArray<ResolversTypes['Annotation']>, ParentType, ContextType>;
  largeTexts?: Resolver<ReadonlyArray<ResolversTypes['LargeText']>, ParentType, ContextType>;
};

export type PolicySpanResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PolicySpan'] = ResolversParentTypes['PolicySpan']> = {
  from?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  to?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  policyId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  version?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type TokensResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Tokens'] = ResolversParentTypes['Tokens']> = {
  ids?: Resolver<ResolversTypes['PackedArray'], ParentType, ContextType>;
  logProbs?: Resolver<Maybe<ResolversTypes['PackedArray']>, ParentType, ContextType>;
  mask?: Resolver<Maybe<ResolversTypes['PackedArray']>, ParentType, ContextType>;
  ends?: Resolver<Maybe<ResolversTypes['PackedArray']>, ParentType, ContextType>;
  entropies?: Resolver<Maybe<ResolversTypes['PackedArray']>, ParentType, ContextType>;
};

export type PackedArrayResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PackedArray'] = ResolversParentTypes['PackedArray']> = {
  dtype?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  length?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  base64?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type UsageResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Usage'] = ResolversParentTypes['Usage']> = {
  promptTokens?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  completionTokens?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type ModelCallResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ModelCall'] = ResolversParentTypes['ModelCall']> = {
  responseId?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  model?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  requestHash?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  attempts?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  latencyMs?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  usage?: Resolver<Maybe<ResolversTypes['Usage']>, ParentType, ContextType>;
  trimmed?: Resolver<Maybe<ResolversTypes['Range']>, ParentType, ContextType>;
};

export type RangeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Range'] = ResolversParentTypes['Range']> = {
  from?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  to?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type TimingsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Timings'] = ResolversParentTypes['Timings']> = {
  policyMs?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  environmentMs?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type SearchStatisticsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SearchStatistics'] = ResolversParentTypes['SearchStatistics']> = {
  visits?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  valueSum?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  value?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type ToolCallResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ToolCall'] = ResolversParentTypes['ToolCall']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  stepId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  ordinal?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  tool?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  arguments?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  output?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  outcome?: Resolver<ResolversTypes['ToolOutcome'], ParentType, ContextType>;
  durationMs?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  largeTexts?: Resolver<ReadonlyArray<ResolversTypes['LargeText']>, ParentType, ContextType>;
};

export type TrainedPolicyResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TrainedPolicy'] = ResolversParentTypes['TrainedPolicy']> = {
  id?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  estimator?: Resolver<ResolversTypes['TrainingMethod'], ParentType, ContextType>;
  rules?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  seed?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  trainer?: Resolver<Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  declaredAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  declaration?: Resolver<ResolversTypes['TrainingDeclaration'], ParentType, ContextType>;
  waiting?: Resolver<Maybe<ResolversTypes['TrainingWaiting']>, ParentType, ContextType>;
  newest?: Resolver<Maybe<ResolversTypes['PolicyUpdate']>, ParentType, ContextType>;
  replays?: Resolver<ReadonlyArray<ResolversTypes['Replay']>, ParentType, ContextType>;
  ledger?: Resolver<ResolversTypes['Ledger'], ParentType, ContextType>;
  staleness?: Resolver<ReadonlyArray<ResolversTypes['StalenessBin']>, ParentType, ContextType>;
  discarded?: Resolver<ReadonlyArray<ResolversTypes['DiscardedSamples']>, ParentType, ContextType, RequireFields<TrainedPolicyDiscardedArgs, 'by' | 'first'>>;
  versions?: Resolver<ResolversTypes['PolicyUpdateConnection'], ParentType, ContextType, Partial<TrainedPolicyVersionsArgs>>;
  batches?: Resolver<ResolversTypes['BatchConnection'], ParentType, ContextType, Partial<TrainedPolicyBatchesArgs>>;
};

export type TrainingDeclarationResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TrainingDeclaration'] = ResolversParentTypes['TrainingDeclaration']> = {
  backend?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  preset?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  torch?: Resolver<Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  estimator?: Resolver<ResolversTypes['ChosenMethod'], ParentType, ContextType>;
  loss?: Resolver<Maybe<ResolversTypes['ChosenMethod']>, ParentType, ContextType>;
  aggregation?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  lossScale?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  kl?: Resolver<Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  correction?: Resolver<Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  processRewards?: Resolver<Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  critic?: Resolver<Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  optimiser?: Resolver<Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  prompt?: Resolver<Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  groupSize?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  rules?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  seed?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  source?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
};

export type ChosenMethodResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ChosenMethod'] = ResolversParentTypes['ChosenMethod']> = {
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  options?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
};

export type TrainingWaitingResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TrainingWaiting'] = ResolversParentTypes['TrainingWaiting']> = {
  for?: Resolver<ResolversTypes['WaitingFor'], ParentType, ContextType>;
  next?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  openGroups?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  closedGroups?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  readyGroups?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  rejectedGroups?: Resolver<ReadonlyArray<ResolversTypes['RejectedGroups']>, ParentType, ContextType>;
};

export type RejectedGroupsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RejectedGroups'] = ResolversParentTypes['RejectedGroups']> = {
  reason?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  groups?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type TrainingMethodResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TrainingMethod'] = ResolversParentTypes['TrainingMethod']> = {
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  revision?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  mode?: Resolver<Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
};

export type LedgerResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Ledger'] = ResolversParentTypes['Ledger']> = {
  produced?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  trained?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  rejected?: Resolver<ReadonlyArray<ResolversTypes['RejectedSamples']>, ParentType, ContextType>;
  abandoned?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  owed?: Resolver<ResolversTypes['OwedSamples'], ParentType, ContextType>;
  difference?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  running?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type RejectedSamplesResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RejectedSamples'] = ResolversParentTypes['RejectedSamples']> = {
  reason?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  samples?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type DiscardedSamplesResolvers<ContextType = Context, ParentType extends ResolversParentTypes['DiscardedSamples'] = ResolversParentTypes['DiscardedSamples']> = {
  task?: Resolver<Maybe<ResolversTypes['Task']>, ParentType, ContextType>;
  tree?: Resolver<Maybe<ResolversTypes['Tree']>, ParentType, ContextType>;
  length?: Resolver<Maybe<ResolversTypes['Range']>, ParentType, ContextType>;
  version?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  produced?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  discarded?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  groups?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  reasons?: Resolver<ReadonlyArray<ResolversTypes['RejectedSamples']>, ParentType, ContextType>;
};

export type OwedSamplesResolvers<ContextType = Context, ParentType extends ResolversParentTypes['OwedSamples'] = ResolversParentTypes['OwedSamples']> = {
  group?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  ready?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  planned?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  leased?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type StalenessBinResolvers<ContextType = Context, ParentType extends ResolversParentTypes['StalenessBin'] = ResolversParentTypes['StalenessBin']> = {
  staleness?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  samples?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type PolicyUpdateResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PolicyUpdate'] = ResolversParentTypes['PolicyUpdate']> = {
  policyId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  version?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  parent?: Resolver<Maybe<ResolversTypes['PolicyUpdate']>, ParentType, ContextType>;
  batch?: Resolver<Maybe<ResolversTypes['Batch']>, ParentType, ContextType>;
  checkpointId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  weights?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  estimator?: Resolver<Maybe<ResolversTypes['TrainingMethod']>, ParentType, ContextType>;
  loss?: Resolver<Maybe<ResolversTypes['TrainingMethod']>, ParentType, ContextType>;
  samples?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  metrics?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  outcome?: Resolver<Maybe<ResolversTypes['UpdateOutcome']>, ParentType, ContextType>;
  actedIn?: Resolver<ReadonlyArray<ResolversTypes['Batch']>, ParentType, ContextType, RequireFields<PolicyUpdateActedInArgs, 'first'>>;
  updatedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type UpdateOutcomeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['UpdateOutcome'] = ResolversParentTypes['UpdateOutcome']> = {
  successRate?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  meanReturn?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  staleness?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  sampledTokens?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  trainedMs?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  tokensPerSecond?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
};

export type BatchResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Batch'] = ResolversParentTypes['Batch']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  ordinal?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  state?: Resolver<ResolversTypes['BatchState'], ParentType, ContextType>;
  policyId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  base?: Resolver<ResolversTypes['PolicyVersion'], ParentType, ContextType>;
  update?: Resolver<Maybe<ResolversTypes['PolicyUpdate']>, ParentType, ContextType>;
  abandonment?: Resolver<Maybe<ResolversTypes['BatchAbandonment']>, ParentType, ContextType>;
  estimator?: Resolver<ResolversTypes['TrainingMethod'], ParentType, ContextType>;
  rules?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  seed?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  position?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  groupCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  sampleCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  tokens?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  shards?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  previousHash?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  manifestHash?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  plannedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  samples?: Resolver<ReadonlyArray<ResolversTypes['TrainingSample']>, ParentType, ContextType, RequireFields<BatchSamplesArgs, 'from' | 'first'>>;
  leases?: Resolver<ReadonlyArray<ResolversTypes['BatchLease']>, ParentType, ContextType>;
  staleness?: Resolver<ReadonlyArray<ResolversTypes['StalenessBin']>, ParentType, ContextType>;
  actors?: Resolver<ReadonlyArray<ResolversTypes['BatchActor']>, ParentType, ContextType>;
  estimates?: Resolver<ResolversTypes['BatchEstimates'], ParentType, ContextType, RequireFields<BatchEstimatesArgs, 'rewards'>>;
};

export type BatchAbandonmentResolvers<ContextType = Context, ParentType extends ResolversParentTypes['BatchAbandonment'] = ResolversParentTypes['BatchAbandonment']> = {
  by?: Resolver<ResolversTypes['AbandonedBy'], ParentType, ContextType>;
  reason?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  abandonedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type TrainingSampleResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TrainingSample'] = ResolversParentTypes['TrainingSample']> = {
  rollout?: Resolver<Maybe<ResolversTypes['Rollout']>, ParentType, ContextType>;
  tree?: Resolver<Maybe<ResolversTypes['Tree']>, ParentType, ContextType>;
  state?: Resolver<ResolversTypes['SampleState'], ParentType, ContextType>;
  reason?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  rule?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  measured?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  batch?: Resolver<Maybe<ResolversTypes['Batch']>, ParentType, ContextType>;
  place?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  oldestVersion?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  newestVersion?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  staleness?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  sampledTokens?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  contextTokens?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  scores?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  actors?: Resolver<ReadonlyArray<ResolversTypes['PolicyVersion']>, ParentType, ContextType>;
  estimate?: Resolver<Maybe<ResolversTypes['SampleEstimate']>, ParentType, ContextType, RequireFields<TrainingSampleEstimateArgs, 'rewards'>>;
};

export type BatchLeaseResolvers<ContextType = Context, ParentType extends ResolversParentTypes['BatchLease'] = ResolversParentTypes['BatchLease']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  fence?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  consumer?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  deadline?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  leasedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  endedAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  endedBy?: Resolver<Maybe<ResolversTypes['LeaseEnd']>, ParentType, ContextType>;
  endReason?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type TreeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Tree'] = ResolversParentTypes['Tree']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  runId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  run?: Resolver<Maybe<ResolversTypes['Run']>, ParentType, ContextType>;
  task?: Resolver<ResolversTypes['Task'], ParentType, ContextType>;
  instruction?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  plannedRollouts?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  seed?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  openedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  closedAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  closeReason?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  forgotten?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  rootId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  root?: Resolver<Maybe<ResolversTypes['Step']>, ParentType, ContextType>;
  size?: Resolver<ResolversTypes['TreeSize'], ParentType, ContextType>;
  returnVariance?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  steps?: Resolver<ReadonlyArray<ResolversTypes['Step']>, ParentType, ContextType, Partial<TreeStepsArgs>>;
  outline?: Resolver<ResolversTypes['TreeOutline'], ParentType, ContextType>;
  leaves?: Resolver<ReadonlyArray<ResolversTypes['Step']>, ParentType, ContextType>;
  rollouts?: Resolver<ReadonlyArray<ResolversTypes['Rollout']>, ParentType, ContextType>;
  trajectories?: Resolver<ResolversTypes['TrajectoryConnection'], ParentType, ContextType, RequireFields<TreeTrajectoriesArgs, 'orderBy'>>;
  revisions?: Resolver<ResolversTypes['RevisionConnection'], ParentType, ContextType, Partial<TreeRevisionsArgs>>;
  judgements?: Resolver<ReadonlyArray<ResolversTypes['Judgement']>, ParentType, ContextType>;
  calls?: Resolver<ResolversTypes['CapturedCallConnection'], ParentType, ContextType, Partial<TreeCallsArgs>>;
  simulations?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  divergences?: Resolver<ReadonlyArray<ResolversTypes['Divergence']>, ParentType, ContextType>;
  annotations?: Resolver<ReadonlyArray<ResolversTypes['Annotation']>, ParentType, ContextType>;
  largeTexts?: Resolver<ReadonlyArray<ResolversTypes['LargeText']>, ParentType, ContextType>;
  datasets?: Resolver<ResolversTypes['DatasetConnection'], ParentType, ContextType, RequireFields<TreeDatasetsArgs, 'orderBy'>>;
};

export type TaskResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Task'] = ResolversParentTypes['Task']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  environment?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  serverFingerprint?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  observationHash?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  alias?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  goal?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  depth?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  split?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  kind?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  totals?: Resolver<ResolversTypes['TaskTotals'], ParentType, ContextType>;
};

export type TaskTotalsResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TaskTotals'] = ResolversParentTypes['TaskTotals']> = {
  runs?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  trees?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  rollouts?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  finished?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  successes?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  successRate?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  meanReturn?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
};

export type TreeSizeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TreeSize'] = ResolversParentTypes['TreeSize']> = {
  steps?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  depth?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  leaves?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
};

export type DivergenceResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Divergence'] = ResolversParentTypes['Divergence']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  stepId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  field?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  recorded?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  replayed?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  occurredAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  largeTexts?: Resolver<ReadonlyArray<ResolversTypes['LargeText']>, ParentType, ContextType>;
};

export interface DateTimeScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['DateTime'], any> {
  name: 'DateTime';
}

export interface JsonScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['JSON'], any> {
  name: 'JSON';
}

export interface SafeIntScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['SafeInt'], any> {
  name: 'SafeInt';
}

export type PageInfoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PageInfo'] = ResolversParentTypes['PageInfo']> = {
  startCursor?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  endCursor?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  hasNextPage?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  hasPreviousPage?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
};

export type PolicyVersionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PolicyVersion'] = ResolversParentTypes['PolicyVersion']> = {
  id?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  version?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  update?: Resolver<Maybe<ResolversTypes['PolicyUpdate']>, ParentType, ContextType>;
};

export type LargeTextResolvers<ContextType = Context, ParentType extends ResolversParentTypes['LargeText'] = ResolversParentTypes['LargeText']> = {
  field?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  sha256?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  size?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  mediaType?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  text?: Resolver<ResolversTypes['String'], ParentType, ContextType, RequireFields<LargeTextTextArgs, 'offset' | 'length'>>;
};

export type Resolvers<ContextType = Context> = {
  Mutation?: MutationResolvers<ContextType>;
  AnnotationsRecorded?: AnnotationsRecordedResolvers<ContextType>;
  Annotation?: AnnotationResolvers<ContextType>;
  LabelCount?: LabelCountResolvers<ContextType>;
  AnnotationConnection?: AnnotationConnectionResolvers<ContextType>;
  AnnotationEdge?: AnnotationEdgeResolvers<ContextType>;
  Highlight?: HighlightResolvers<ContextType>;
  Aggregate?: AggregateResolvers<ContextType>;
  RolloutSums?: RolloutSumsResolvers<ContextType>;
  StepSums?: StepSumsResolvers<ContextType>;
  ToolSums?: ToolSumsResolvers<ContextType>;
  ComponentSums?: ComponentSumsResolvers<ContextType>;
  RunComparison?: RunComparisonResolvers<ContextType>;
  PairedDifference?: PairedDifferenceResolvers<ContextType>;
  TrajectoryDivergence?: TrajectoryDivergenceResolvers<ContextType>;
  CapturedCall?: CapturedCallResolvers<ContextType>;
  CapturedChoice?: CapturedChoiceResolvers<ContextType>;
  CapturedTokens?: CapturedTokensResolvers<ContextType>;
  CapturedCallConnection?: CapturedCallConnectionResolvers<ContextType>;
  CapturedCallEdge?: CapturedCallEdgeResolvers<ContextType>;
  ExperimentConnection?: ExperimentConnectionResolvers<ContextType>;
  ExperimentEdge?: ExperimentEdgeResolvers<ContextType>;
  RunConnection?: RunConnectionResolvers<ContextType>;
  RunEdge?: RunEdgeResolvers<ContextType>;
  TreeConnection?: TreeConnectionResolvers<ContextType>;
  TreeEdge?: TreeEdgeResolvers<ContextType>;
  RolloutConnection?: RolloutConnectionResolvers<ContextType>;
  RolloutEdge?: RolloutEdgeResolvers<ContextType>;
  TrajectoryConnection?: TrajectoryConnectionResolvers<ContextType>;
  TrajectoryEdge?: TrajectoryEdgeResolvers<ContextType>;
  AnomalyConnection?: AnomalyConnectionResolvers<ContextType>;
  AnomalyEdge?: AnomalyEdgeResolvers<ContextType>;
  QuarantineConnection?: QuarantineConnectionResolvers<ContextType>;
  QuarantineEdge?: QuarantineEdgeResolvers<ContextType>;
  ReplayConnection?: ReplayConnectionResolvers<ContextType>;
  ReplayEdge?: ReplayEdgeResolvers<ContextType>;
  RevisionConnection?: RevisionConnectionResolvers<ContextType>;
  RevisionEdge?: RevisionEdgeResolvers<ContextType>;
  DatasetConnection?: DatasetConnectionResolvers<ContextType>;
  DatasetEdge?: DatasetEdgeResolvers<ContextType>;
  DatasetExampleConnection?: DatasetExampleConnectionResolvers<ContextType>;
  DatasetExampleEdge?: DatasetExampleEdgeResolvers<ContextType>;
  PolicyUpdateConnection?: PolicyUpdateConnectionResolvers<ContextType>;
  PolicyUpdateEdge?: PolicyUpdateEdgeResolvers<ContextType>;
  BatchConnection?: BatchConnectionResolvers<ContextType>;
  BatchEdge?: BatchEdgeResolvers<ContextType>;
  StepConnection?: StepConnectionResolvers<ContextType>;
  BoundedCount?: BoundedCountResolvers<ContextType>;
  StepEdge?: StepEdgeResolvers<ContextType>;
  ToolCallConnection?: ToolCallConnectionResolvers<ContextType>;
  ToolCallEdge?: ToolCallEdgeResolvers<ContextType>;
  TrainingSampleConnection?: TrainingSampleConnectionResolvers<ContextType>;
  TrainingSampleEdge?: TrainingSampleEdgeResolvers<ContextType>;
  TaskConnection?: TaskConnectionResolvers<ContextType>;
  TaskEdge?: TaskEdgeResolvers<ContextType>;
  Dataset?: DatasetResolvers<ContextType>;
  DatasetExample?: DatasetExampleResolvers<ContextType>;
  ExampleText?: ExampleTextResolvers<ContextType>;
  BatchEstimates?: BatchEstimatesResolvers<ContextType>;
  SampleEstimate?: SampleEstimateResolvers<ContextType>;
  StepEstimate?: StepEstimateResolvers<ContextType>;
  StepReadAgain?: StepReadAgainResolvers<ContextType>;
  StepReading?: StepReadingResolvers<ContextType>;
  EstimateReward?: EstimateRewardResolvers<ContextType>;
  BatchActor?: BatchActorResolvers<ContextType>;
  Evaluation?: EvaluationResolvers<ContextType>;
  Interval?: IntervalResolvers<ContextType>;
  RepeatedActions?: RepeatedActionsResolvers<ContextType>;
  EvaluatedDepth?: EvaluatedDepthResolvers<ContextType>;
  TrainedOn?: TrainedOnResolvers<ContextType>;
  Experiment?: ExperimentResolvers<ContextType>;
  ExperimentArm?: ExperimentArmResolvers<ContextType>;
  ExperimentStage?: ExperimentStageResolvers<ContextType>;
  StoredContent?: StoredContentResolvers<ContextType>;
  StageValue?: StageValueResolvers<ContextType>;
  ArmResult?: ArmResultResolvers<ContextType>;
  ArmEstimate?: ArmEstimateResolvers<ContextType>;
  ArmDifference?: ArmDifferenceResolvers<ContextType>;
  HistoryImage?: HistoryImageResolvers<ContextType>;
  HistoryAtFactor?: HistoryAtFactorResolvers<ContextType>;
  HistoryImageConnection?: HistoryImageConnectionResolvers<ContextType>;
  HistoryImageEdge?: HistoryImageEdgeResolvers<ContextType>;
  Picture?: PictureResolvers<ContextType>;
  ImageSize?: ImageSizeResolvers<ContextType>;
  HistorySegment?: HistorySegmentResolvers<ContextType>;
  RenderSpec?: RenderSpecResolvers<ContextType>;
  ImageTotals?: ImageTotalsResolvers<ContextType>;
  Trace?: TraceResolvers<ContextType>;
  TraceEvents?: TraceEventsResolvers<ContextType>;
  TraceEvent?: TraceEventResolvers<ContextType>;
  TraceLinks?: TraceLinksResolvers<ContextType>;
  TraceLink?: TraceLinkResolvers<ContextType>;
  Touched?: TouchedResolvers<ContextType>;
  TouchedDataset?: TouchedDatasetResolvers<ContextType>;
  TouchedBatch?: TouchedBatchResolvers<ContextType>;
  TouchedVersion?: TouchedVersionResolvers<ContextType>;
  TouchedEvaluation?: TouchedEvaluationResolvers<ContextType>;
  ProjectionLag?: ProjectionLagResolvers<ContextType>;
  ProjectionBuild?: ProjectionBuildResolvers<ContextType>;
  PartitionLag?: PartitionLagResolvers<ContextType>;
  Anomaly?: AnomalyResolvers<ContextType>;
  QuarantinedRecord?: QuarantinedRecordResolvers<ContextType>;
  QuarantineRelease?: QuarantineReleaseResolvers<ContextType>;
  Verification?: VerificationResolvers<ContextType>;
  VerificationCounts?: VerificationCountsResolvers<ContextType>;
  VerificationFault?: VerificationFaultResolvers<ContextType>;
  VerificationConnection?: VerificationConnectionResolvers<ContextType>;
  VerificationEdge?: VerificationEdgeResolvers<ContextType>;
  TreeOutline?: TreeOutlineResolvers<ContextType>;
  OutlineBackUps?: OutlineBackUpsResolvers<ContextType>;
  Project?: ProjectResolvers<ContextType>;
  Viewer?: ViewerResolvers<ContextType>;
  Prompt?: PromptResolvers<ContextType>;
  PromptAnswer?: PromptAnswerResolvers<ContextType>;
  PromptMessage?: PromptMessageResolvers<ContextType>;
  PromptPart?: PromptPartResolvers<ContextType>;
  PromptTemplate?: PromptTemplateResolvers<ContextType>;
  Sampling?: SamplingResolvers<ContextType>;
  PromptTokens?: PromptTokensResolvers<ContextType>;
  Drift?: DriftResolvers<ContextType>;
  Query?: QueryResolvers<ContextType>;
  Reached?: ReachedResolvers<ContextType>;
  Subscription?: SubscriptionResolvers<ContextType>;
  EventDelivery?: EventDeliveryResolvers<ContextType>;
  Replay?: ReplayResolvers<ContextType>;
  ReplayDifference?: ReplayDifferenceResolvers<ContextType>;
  Revision?: RevisionResolvers<ContextType>;
  RevisionTurn?: RevisionTurnResolvers<ContextType>;
  Judgement?: JudgementResolvers<ContextType>;
  Rollout?: RolloutResolvers<ContextType>;
  Trajectory?: TrajectoryResolvers<ContextType>;
  Reward?: RewardResolvers<ContextType>;
  RewardRevision?: RewardRevisionResolvers<ContextType>;
  Scorer?: ScorerResolvers<ContextType>;
  RawReward?: RawRewardResolvers<ContextType>;
  ComponentReturn?: ComponentReturnResolvers<ContextType>;
  Run?: RunResolvers<ContextType>;
  ForkOrigin?: ForkOriginResolvers<ContextType>;
  RunEnvironment?: RunEnvironmentResolvers<ContextType>;
  Renderer?: RendererResolvers<ContextType>;
  PublishedMetric?: PublishedMetricResolvers<ContextType>;
  RunTotals?: RunTotalsResolvers<ContextType>;
  RunActivity?: RunActivityResolvers<ContextType>;
  FailureReason?: FailureReasonResolvers<ContextType>;
  DepthTotals?: DepthTotalsResolvers<ContextType>;
  Metric?: MetricResolvers<ContextType>;
  Step?: StepResolvers<ContextType>;
  PolicySpan?: PolicySpanResolvers<ContextType>;
  Tokens?: TokensResolvers<ContextType>;
  PackedArray?: PackedArrayResolvers<ContextType>;
  Usage?: UsageResolvers<ContextType>;
  ModelCall?: ModelCallResolvers<ContextType>;
  Range?: RangeResolvers<ContextType>;
  Timings?: TimingsResolvers<ContextType>;
  SearchStatistics?: SearchStatisticsResolvers<ContextType>;
  ToolCall?: ToolCallResolvers<ContextType>;
  TrainedPolicy?: TrainedPolicyResolvers<ContextType>;
  TrainingDeclaration?: TrainingDeclarationResolvers<ContextType>;
  ChosenMethod?: ChosenMethodResolvers<ContextType>;
  TrainingWaiting?: TrainingWaitingResolvers<ContextType>;
  RejectedGroups?: RejectedGroupsResolvers<ContextType>;
  TrainingMethod?: TrainingMethodResolvers<ContextType>;
  Ledger?: LedgerResolvers<ContextType>;
  RejectedSamples?: RejectedSamplesResolvers<ContextType>;
  DiscardedSamples?: DiscardedSamplesResolvers<ContextType>;
  OwedSamples?: OwedSamplesResolvers<ContextType>;
  StalenessBin?: StalenessBinResolvers<ContextType>;
  PolicyUpdate?: PolicyUpdateResolvers<ContextType>;
  UpdateOutcome?: UpdateOutcomeResolvers<ContextType>;
  Batch?: BatchResolvers<ContextType>;
  BatchAbandonment?: BatchAbandonmentResolvers<ContextType>;
  TrainingSample?: TrainingSampleResolvers<ContextType>;
  BatchLease?: BatchLeaseResolvers<ContextType>;
  Tree?: TreeResolvers<ContextType>;
  Task?: TaskResolvers<ContextType>;
  TaskTotals?: TaskTotalsResolvers<ContextType>;
  TreeSize?: TreeSizeResolvers<ContextType>;
  Divergence?: DivergenceResolvers<ContextType>;
  DateTime?: GraphQLScalarType;
  JSON?: GraphQLScalarType;
  SafeInt?: GraphQLScalarType;
  PageInfo?: PageInfoResolvers<ContextType>;
  PolicyVersion?: PolicyVersionResolvers<ContextType>;
  LargeText?: LargeTextResolvers<ContextType>;
};

export type DirectiveResolvers<ContextType = Context> = {
  listSize?: ListSizeDirectiveResolver<any, any, ContextType>;
  cost?: CostDirectiveResolver<any, any, ContextType>;
};
