// Written by graphql/codegen.ts from graphql/schema; `npm run codegen` writes it again.
import type { GraphQLResolveInfo, GraphQLScalarType, GraphQLScalarTypeConfig } from 'graphql';
import type { Root, ReachedModel, ImageTotalsModel, RunEnvironmentModel, OutlineBackUpsModel, CapturedChoiceModel, RevisionTurnModel, HistorySegmentModel, PromptModel, PromptMessageModel, PromptPartModel, RequestedToolModel, DiscardedSamplesModel, PolicyVersionModel, AnnotationsRecordedModel, StepMatches, StepMatch, RunComparisonModel, TrajectoryDivergenceModel } from '../models.ts';
import type { LargeTextModel } from '../large-text.ts';
import type { EventDeliveryModel } from '../live/event-delivery-model.ts';
import type { ExperimentRecord } from '../../src/projections/runs/read-experiments.ts';
import type { RecordedArm, RecordedStage, ArmResult as ArmResultModel } from '../../src/usecases/experiment/report.ts';
import type { RunRecord } from '../../src/projections/runs/read-runs.ts';
import type { ForkOrigin as ForkOriginModel } from '../../src/projections/runs/read-forks.ts';
import type { EvaluationRecord, TrainedOnRecord } from '../../src/projections/evaluations/read-evaluations.ts';
import type { StoredVerification } from '../../src/usecases/verify/verification.ts';
import type { Connection, CountedConnection } from '../connection.ts';
import type { ReplayRecord } from '../../src/projections/replays/read-replays.ts';
import type { TreeRecord } from '../../src/projections/step-tree/read-trees.ts';
import type { Outline, StepRecord } from '../../src/projections/step-tree/read-steps.ts';
import type { CapturedCall as CapturedCallRecord } from '../../src/projections/journal/read-captured-calls.ts';
import type { RolloutRecord } from '../../src/projections/step-tree/read-rollouts.ts';
import type { ToolCallRecord, DivergenceRecord } from '../../src/projections/step-tree/read-tool-calls.ts';
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
import type { WaitingReason } from '../../src/usecases/train/waiting/why-waiting.ts';
import type { EventPlace } from '../../src/projections/lineage/trace-events.ts';
import type { Trace as TraceModel } from '../../src/usecases/lineage/trace-record.ts';
import type { Touched as TouchedModel } from '../../src/projections/lineage/touched.ts';
import type { Ledger as LedgerRecord } from '../../src/projections/training-pool/read-ledger.ts';
import type { BatchOutcome } from '../../src/projections/training-pool/read-batch-outcomes.ts';
import type { PolicyUpdateRecord } from '../../src/projections/training-pool/read-policy-updates.ts';
import type { BatchRecord, AbandonmentRecord, LeaseRecord } from '../../src/projections/training-pool/read-batches.ts';
import type { SampleRecord } from '../../src/projections/training-pool/read-samples.ts';
import type { BatchEstimates as BatchEstimatesModel, SampleEstimate as SampleEstimateModel, StepEstimate as StepEstimateModel } from '../../src/usecases/train/estimates/recompute-advantages.ts';
import type { ActorRecord } from '../../src/projections/training-pool/read-actors.ts';
import type { Packed } from '../../src/events/schemas/values.ts';
import type { AnnotationRecord } from '../../src/projections/annotations/read-annotations.ts';
import type { TaskRecord } from '../../src/projections/analysis/choose-tasks.ts';
import type { Aggregate as AggregateModel } from '../../src/projections/analysis/aggregate.ts';
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
  DateTime: { input: Date; output: Date; }
  JSON: { input: unknown; output: unknown; }
  SafeInt: { input: number; output: number; }
};

export type StepFilter = {
  readonly text?: InputMaybe<TextSearch>;
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  readonly tree?: InputMaybe<Scalars['ID']['input']>;
  readonly task?: InputMaybe<Scalars['ID']['input']>;
  readonly rollout?: InputMaybe<Scalars['ID']['input']>;
  readonly environment?: InputMaybe<Scalars['String']['input']>;
  readonly split?: InputMaybe<Scalars['String']['input']>;
  readonly taskDepth?: InputMaybe<Scalars['Int']['input']>;
  readonly taskKind?: InputMaybe<Scalars['String']['input']>;
  readonly action?: InputMaybe<Scalars['String']['input']>;
  readonly tool?: InputMaybe<Scalars['String']['input']>;
  readonly reward?: InputMaybe<RewardFilter>;
  readonly verdict?: InputMaybe<Verdict>;
  readonly return?: InputMaybe<FloatRange>;
  readonly annotated?: InputMaybe<AnnotatedFilter>;
  readonly sampleState?: InputMaybe<SampleState>;
  readonly sampleReason?: InputMaybe<Scalars['String']['input']>;
  readonly policy?: InputMaybe<Scalars['String']['input']>;
  readonly policyVersion?: InputMaybe<Scalars['Int']['input']>;
  readonly depth?: InputMaybe<IntRange>;
  readonly termination?: InputMaybe<Termination>;
  readonly wellFormatted?: InputMaybe<Scalars['Boolean']['input']>;
  readonly executable?: InputMaybe<Scalars['Boolean']['input']>;
};

export type TextSearch = {
  readonly words: Scalars['String']['input'];
  readonly in?: InputMaybe<ReadonlyArray<TextField>>;
};

export type TextField =
  | 'observation'
  | 'action'
  | 'thought';

export type RewardFilter = {
  readonly component?: InputMaybe<Scalars['String']['input']>;
  readonly value?: InputMaybe<FloatRange>;
};

export type StepOrder =
  | 'TREE'
  | 'TAKEN_ASC'
  | 'TAKEN_DESC'
  | 'VISITS';

export type Highlight = {
  readonly field: TextField;
  readonly text: Scalars['String']['output'];
};

export type ToolCallFilter = {
  readonly tool?: InputMaybe<Scalars['String']['input']>;
  readonly text?: InputMaybe<Scalars['String']['input']>;
  readonly outcome?: InputMaybe<ToolOutcome>;
  readonly step?: InputMaybe<Scalars['ID']['input']>;
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  readonly tree?: InputMaybe<Scalars['ID']['input']>;
  readonly task?: InputMaybe<Scalars['ID']['input']>;
  readonly environment?: InputMaybe<Scalars['String']['input']>;
  readonly split?: InputMaybe<Scalars['String']['input']>;
  readonly taskDepth?: InputMaybe<Scalars['Int']['input']>;
  readonly taskKind?: InputMaybe<Scalars['String']['input']>;
  readonly durationMs?: InputMaybe<FloatRange>;
};

export type ToolCallOrder =
  | 'TREE'
  | 'DURATION_ASC'
  | 'DURATION_DESC';

export type SampleFilter = {
  readonly policy?: InputMaybe<Scalars['String']['input']>;
  readonly state?: InputMaybe<SampleState>;
  readonly reason?: InputMaybe<Scalars['String']['input']>;
  readonly text?: InputMaybe<TextSearch>;
  readonly annotated?: InputMaybe<AnnotatedFilter>;
  readonly version?: InputMaybe<Scalars['Int']['input']>;
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  readonly tree?: InputMaybe<Scalars['ID']['input']>;
  readonly task?: InputMaybe<Scalars['ID']['input']>;
  readonly environment?: InputMaybe<Scalars['String']['input']>;
  readonly split?: InputMaybe<Scalars['String']['input']>;
  readonly taskDepth?: InputMaybe<Scalars['Int']['input']>;
  readonly taskKind?: InputMaybe<Scalars['String']['input']>;
};

export type TaskFilter = {
  readonly text?: InputMaybe<Scalars['String']['input']>;
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  readonly environment?: InputMaybe<Scalars['String']['input']>;
  readonly split?: InputMaybe<Scalars['String']['input']>;
  readonly taskDepth?: InputMaybe<Scalars['Int']['input']>;
  readonly kind?: InputMaybe<Scalars['String']['input']>;
};

export type AggregateFilter = {
  readonly runs?: InputMaybe<ReadonlyArray<Scalars['ID']['input']>>;
  readonly tasks?: InputMaybe<ReadonlyArray<Scalars['ID']['input']>>;
  readonly environment?: InputMaybe<Scalars['String']['input']>;
  readonly split?: InputMaybe<Scalars['String']['input']>;
  readonly taskDepth?: InputMaybe<Scalars['Int']['input']>;
  readonly taskKind?: InputMaybe<Scalars['String']['input']>;
  readonly policy?: InputMaybe<Scalars['String']['input']>;
  readonly policyVersion?: InputMaybe<Scalars['Int']['input']>;
};

export type AggregateBy =
  | 'RUN'
  | 'TASK'
  | 'DEPTH'
  | 'KIND'
  | 'POLICY_VERSION'
  | 'ENVIRONMENT'
  | 'TOOL';

export type Aggregate = {
  readonly key: Scalars['String']['output'];
  readonly run?: Maybe<Run>;
  readonly taskId?: Maybe<Scalars['ID']['output']>;
  readonly taskDepth?: Maybe<Scalars['Int']['output']>;
  readonly taskKind?: Maybe<Scalars['String']['output']>;
  readonly policy?: Maybe<PolicyVersion>;
  readonly environment?: Maybe<Scalars['String']['output']>;
  readonly tool?: Maybe<Scalars['String']['output']>;
  readonly rollouts: RolloutSums;
  readonly steps: StepSums;
  readonly tools: ToolSums;
  readonly components: ReadonlyArray<ComponentSums>;
  readonly images: ImageTotals;
};

export type RolloutSums = {
  readonly rollouts: Scalars['SafeInt']['output'];
  readonly finished: Scalars['SafeInt']['output'];
  readonly successes: Scalars['SafeInt']['output'];
  readonly successRate?: Maybe<Scalars['Float']['output']>;
  readonly meanReturn?: Maybe<Scalars['Float']['output']>;
  readonly minReturn?: Maybe<Scalars['Float']['output']>;
  readonly maxReturn?: Maybe<Scalars['Float']['output']>;
  readonly meanSteps?: Maybe<Scalars['Float']['output']>;
};

export type StepSums = {
  readonly steps: Scalars['SafeInt']['output'];
  readonly wellFormatted: Scalars['SafeInt']['output'];
  readonly executable: Scalars['SafeInt']['output'];
  readonly promptTokens: Scalars['SafeInt']['output'];
  readonly completionTokens: Scalars['SafeInt']['output'];
  readonly policyMs: Scalars['Float']['output'];
  readonly environmentMs: Scalars['Float']['output'];
};

export type ToolSums = {
  readonly calls: Scalars['SafeInt']['output'];
  readonly errors: Scalars['SafeInt']['output'];
  readonly durationMs: Scalars['Float']['output'];
};

export type ComponentSums = {
  readonly component: Scalars['String']['output'];
  readonly rewards: Scalars['SafeInt']['output'];
  readonly mean: Scalars['Float']['output'];
  readonly min: Scalars['Float']['output'];
  readonly max: Scalars['Float']['output'];
};

export type RunComparison = {
  readonly run: Run;
  readonly baseline: Run;
  readonly tasks: Scalars['Int']['output'];
  readonly unpaired: Scalars['Int']['output'];
  readonly success?: Maybe<PairedDifference>;
  readonly return?: Maybe<PairedDifference>;
};

export type PairedDifference = {
  readonly tasks: Scalars['Int']['output'];
  readonly baselineMean: Scalars['Float']['output'];
  readonly mean: Scalars['Float']['output'];
  readonly difference: Scalars['Float']['output'];
  readonly interval: Interval;
  readonly better: Scalars['Int']['output'];
  readonly worse: Scalars['Int']['output'];
  readonly equal: Scalars['Int']['output'];
};

export type TrajectoryDivergence = {
  readonly depth: Scalars['Int']['output'];
  readonly kind: DivergenceKind;
  readonly common?: Maybe<Step>;
  readonly a?: Maybe<Step>;
  readonly b?: Maybe<Step>;
};

export type DivergenceKind =
  | 'action'
  | 'observation'
  | 'end';

export type Mutation = {
  readonly annotate: AnnotationsRecorded;
  readonly retractAnnotations: AnnotationsRecorded;
  readonly giveFeedback: FeedbackRecorded;
  readonly requeue: ReadonlyArray<RequeuedEvent>;
};


export type MutationAnnotateArgs = {
  annotations: ReadonlyArray<NewAnnotation>;
};


export type MutationRetractAnnotationsArgs = {
  ids: ReadonlyArray<Scalars['ID']['input']>;
  tree?: InputMaybe<Scalars['ID']['input']>;
  reason?: Scalars['String']['input'];
};


export type MutationGiveFeedbackArgs = {
  feedback: ReadonlyArray<NewFeedback>;
};


export type MutationRequeueArgs = {
  places: ReadonlyArray<Scalars['String']['input']>;
  reason?: Scalars['String']['input'];
};

export type NewAnnotation = {
  readonly id?: InputMaybe<Scalars['ID']['input']>;
  readonly step?: InputMaybe<Scalars['ID']['input']>;
  readonly rollout?: InputMaybe<Scalars['ID']['input']>;
  readonly revision?: InputMaybe<Scalars['ID']['input']>;
  readonly tree?: InputMaybe<Scalars['ID']['input']>;
  readonly inTree?: InputMaybe<Scalars['ID']['input']>;
  readonly row?: InputMaybe<DatasetRow>;
  readonly label?: InputMaybe<Scalars['String']['input']>;
  readonly score?: InputMaybe<Scalars['Float']['input']>;
  readonly note?: Scalars['String']['input'];
};

export type NewFeedback = {
  readonly of?: InputMaybe<Scalars['ID']['input']>;
  readonly row?: InputMaybe<DatasetRow>;
  readonly inTree?: InputMaybe<Scalars['ID']['input']>;
  readonly value: Scalars['Float']['input'];
  readonly component?: Scalars['String']['input'];
  readonly by: Scalars['String']['input'];
  readonly comment?: Scalars['String']['input'];
};

export type FeedbackRecorded = {
  readonly ids: ReadonlyArray<Scalars['ID']['output']>;
  readonly position: Scalars['String']['output'];
};

export type DatasetRow = {
  readonly dataset: Scalars['ID']['input'];
  readonly line: Scalars['Int']['input'];
};

export type AnnotationsRecorded = {
  readonly ids: ReadonlyArray<Scalars['ID']['output']>;
  readonly annotations: ReadonlyArray<Annotation>;
  readonly position: Scalars['String']['output'];
};

export type Annotation = {
  readonly id: Scalars['ID']['output'];
  readonly kind: AnnotatedKind;
  readonly treeId: Scalars['ID']['output'];
  readonly tree?: Maybe<Tree>;
  readonly runId: Scalars['ID']['output'];
  readonly run?: Maybe<Run>;
  readonly stepId?: Maybe<Scalars['ID']['output']>;
  readonly step?: Maybe<Step>;
  readonly rolloutId?: Maybe<Scalars['ID']['output']>;
  readonly rollout?: Maybe<Rollout>;
  readonly revisionId?: Maybe<Scalars['ID']['output']>;
  readonly revision?: Maybe<Revision>;
  readonly datasetId?: Maybe<Scalars['ID']['output']>;
  readonly dataset?: Maybe<Dataset>;
  readonly line?: Maybe<Scalars['Int']['output']>;
  readonly label?: Maybe<Scalars['String']['output']>;
  readonly score?: Maybe<Scalars['Float']['output']>;
  readonly note: Scalars['String']['output'];
  readonly principal: Scalars['String']['output'];
  readonly author?: Maybe<Scalars['String']['output']>;
  readonly addedAt: Scalars['DateTime']['output'];
  readonly retractedAt?: Maybe<Scalars['DateTime']['output']>;
  readonly retractedBy?: Maybe<Scalars['String']['output']>;
  readonly retractReason?: Maybe<Scalars['String']['output']>;
};

export type AnnotatedKind =
  | 'step'
  | 'rollout'
  | 'revision'
  | 'row'
  | 'tree';

export type AnnotationFilter = {
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  readonly tree?: InputMaybe<Scalars['ID']['input']>;
  readonly kind?: InputMaybe<AnnotatedKind>;
  readonly step?: InputMaybe<Scalars['ID']['input']>;
  readonly rollout?: InputMaybe<Scalars['ID']['input']>;
  readonly revision?: InputMaybe<Scalars['ID']['input']>;
  readonly dataset?: InputMaybe<Scalars['ID']['input']>;
  readonly label?: InputMaybe<Scalars['String']['input']>;
  readonly by?: InputMaybe<Scalars['String']['input']>;
  readonly score?: InputMaybe<FloatRange>;
  readonly retracted?: InputMaybe<Scalars['Boolean']['input']>;
};

export type AnnotatedFilter = {
  readonly has?: Scalars['Boolean']['input'];
  readonly label?: InputMaybe<Scalars['String']['input']>;
  readonly by?: InputMaybe<Scalars['String']['input']>;
  readonly score?: InputMaybe<FloatRange>;
};

export type AnnotationOrder =
  | 'ADDED_ASC'
  | 'ADDED_DESC';

export type LabelCount = {
  readonly label: Scalars['String']['output'];
  readonly count: Scalars['SafeInt']['output'];
  readonly meanScore?: Maybe<Scalars['Float']['output']>;
};

export type AnnotationConnection = {
  readonly edges: ReadonlyArray<AnnotationEdge>;
  readonly nodes: ReadonlyArray<Annotation>;
  readonly pageInfo: PageInfo;
  readonly totalCount: Scalars['SafeInt']['output'];
};

export type AnnotationEdge = {
  readonly cursor: Scalars['String']['output'];
  readonly node: Annotation;
};

export type CapturedCall = {
  readonly id: Scalars['ID']['output'];
  readonly treeId: Scalars['ID']['output'];
  readonly rolloutId: Scalars['ID']['output'];
  readonly rollout?: Maybe<Rollout>;
  readonly ordinal: Scalars['Int']['output'];
  readonly parentStepId: Scalars['ID']['output'];
  readonly stepId?: Maybe<Scalars['ID']['output']>;
  readonly step?: Maybe<Step>;
  readonly place: Scalars['String']['output'];
  readonly source: Scalars['String']['output'];
  readonly api: Scalars['String']['output'];
  readonly outcome: Scalars['String']['output'];
  readonly status?: Maybe<Scalars['Int']['output']>;
  readonly message: Scalars['String']['output'];
  readonly promptSha256?: Maybe<Scalars['String']['output']>;
  readonly choices: ReadonlyArray<CapturedChoice>;
  readonly call?: Maybe<ModelCall>;
  readonly firstMs?: Maybe<Scalars['Float']['output']>;
  readonly totalMs: Scalars['Float']['output'];
  readonly agents: ReadonlyArray<Scalars['String']['output']>;
  readonly attributes?: Maybe<Scalars['String']['output']>;
  readonly pictures: ReadonlyArray<Picture>;
  readonly occurredAt: Scalars['DateTime']['output'];
};

export type CapturedChoice = {
  readonly message: Scalars['String']['output'];
  readonly tokens?: Maybe<CapturedTokens>;
  readonly namedTokens?: Maybe<Scalars['String']['output']>;
  readonly usage?: Maybe<Usage>;
  readonly finishReason?: Maybe<Scalars['String']['output']>;
};

export type CapturedTokens = {
  readonly ids: PackedArray;
  readonly logProbs?: Maybe<PackedArray>;
};

export type CapturedCallConnection = {
  readonly edges: ReadonlyArray<CapturedCallEdge>;
  readonly nodes: ReadonlyArray<CapturedCall>;
  readonly pageInfo: PageInfo;
  readonly totalCount: Scalars['SafeInt']['output'];
};

export type CapturedCallEdge = {
  readonly cursor: Scalars['String']['output'];
  readonly node: CapturedCall;
};

export type ExperimentConnection = {
  readonly edges: ReadonlyArray<ExperimentEdge>;
  readonly nodes: ReadonlyArray<Experiment>;
  readonly pageInfo: PageInfo;
  readonly totalCount: Scalars['SafeInt']['output'];
};

export type ExperimentEdge = {
  readonly cursor: Scalars['String']['output'];
  readonly node: Experiment;
};

export type RunConnection = {
  readonly edges: ReadonlyArray<RunEdge>;
  readonly nodes: ReadonlyArray<Run>;
  readonly pageInfo: PageInfo;
  readonly totalCount: Scalars['SafeInt']['output'];
};

export type RunEdge = {
  readonly cursor: Scalars['String']['output'];
  readonly node: Run;
};

export type TreeConnection = {
  readonly edges: ReadonlyArray<TreeEdge>;
  readonly nodes: ReadonlyArray<Tree>;
  readonly pageInfo: PageInfo;
  readonly totalCount: Scalars['SafeInt']['output'];
};

export type TreeEdge = {
  readonly cursor: Scalars['String']['output'];
  readonly node: Tree;
};

export type RolloutConnection = {
  readonly edges: ReadonlyArray<RolloutEdge>;
  readonly nodes: ReadonlyArray<Rollout>;
  readonly pageInfo: PageInfo;
  readonly totalCount: Scalars['SafeInt']['output'];
};

export type RolloutEdge = {
  readonly cursor: Scalars['String']['output'];
  readonly node: Rollout;
};

export type TrajectoryConnection = {
  readonly edges: ReadonlyArray<TrajectoryEdge>;
  readonly nodes: ReadonlyArray<Trajectory>;
  readonly pageInfo: PageInfo;
  readonly totalCount: Scalars['SafeInt']['output'];
};

export type TrajectoryEdge = {
  readonly cursor: Scalars['String']['output'];
  readonly node: Trajectory;
};

export type AnomalyConnection = {
  readonly edges: ReadonlyArray<AnomalyEdge>;
  readonly nodes: ReadonlyArray<Anomaly>;
  readonly pageInfo: PageInfo;
  readonly totalCount: Scalars['SafeInt']['output'];
};

export type AnomalyEdge = {
  readonly cursor: Scalars['String']['output'];
  readonly node: Anomaly;
};

export type QuarantineConnection = {
  readonly edges: ReadonlyArray<QuarantineEdge>;
  readonly nodes: ReadonlyArray<QuarantinedRecord>;
  readonly pageInfo: PageInfo;
  readonly totalCount: Scalars['SafeInt']['output'];
};

export type QuarantineEdge = {
  readonly cursor: Scalars['String']['output'];
  readonly node: QuarantinedRecord;
};

export type ReplayConnection = {
  readonly edges: ReadonlyArray<ReplayEdge>;
  readonly nodes: ReadonlyArray<Replay>;
  readonly pageInfo: PageInfo;
  readonly totalCount: Scalars['SafeInt']['output'];
};

export type ReplayEdge = {
  readonly cursor: Scalars['String']['output'];
  readonly node: Replay;
};

export type RevisionConnection = {
  readonly edges: ReadonlyArray<RevisionEdge>;
  readonly nodes: ReadonlyArray<Revision>;
  readonly pageInfo: PageInfo;
  readonly totalCount: Scalars['SafeInt']['output'];
};

export type RevisionEdge = {
  readonly cursor: Scalars['String']['output'];
  readonly node: Revision;
};

export type DatasetConnection = {
  readonly edges: ReadonlyArray<DatasetEdge>;
  readonly nodes: ReadonlyArray<Dataset>;
  readonly pageInfo: PageInfo;
  readonly totalCount: Scalars['SafeInt']['output'];
};

export type DatasetEdge = {
  readonly cursor: Scalars['String']['output'];
  readonly node: Dataset;
};

export type DatasetExampleConnection = {
  readonly edges: ReadonlyArray<DatasetExampleEdge>;
  readonly nodes: ReadonlyArray<DatasetExample>;
  readonly pageInfo: PageInfo;
  readonly totalCount: Scalars['SafeInt']['output'];
};

export type DatasetExampleEdge = {
  readonly cursor: Scalars['String']['output'];
  readonly node: DatasetExample;
};

export type PolicyUpdateConnection = {
  readonly edges: ReadonlyArray<PolicyUpdateEdge>;
  readonly nodes: ReadonlyArray<PolicyUpdate>;
  readonly pageInfo: PageInfo;
  readonly totalCount: Scalars['SafeInt']['output'];
};

export type PolicyUpdateEdge = {
  readonly cursor: Scalars['String']['output'];
  readonly node: PolicyUpdate;
};

export type BatchConnection = {
  readonly edges: ReadonlyArray<BatchEdge>;
  readonly nodes: ReadonlyArray<Batch>;
  readonly pageInfo: PageInfo;
  readonly totalCount: Scalars['SafeInt']['output'];
};

export type BatchEdge = {
  readonly cursor: Scalars['String']['output'];
  readonly node: Batch;
};

export type StepConnection = {
  readonly edges: ReadonlyArray<StepEdge>;
  readonly nodes: ReadonlyArray<Step>;
  readonly pageInfo: PageInfo;
  readonly totalCount: Scalars['SafeInt']['output'];
  readonly count: BoundedCount;
};


export type StepConnectionCountArgs = {
  upTo?: Scalars['Int']['input'];
};

export type BoundedCount = {
  readonly count: Scalars['SafeInt']['output'];
  readonly complete: Scalars['Boolean']['output'];
};

export type StepEdge = {
  readonly cursor: Scalars['String']['output'];
  readonly node: Step;
  readonly highlights: ReadonlyArray<Highlight>;
};


export type StepEdgeHighlightsArgs = {
  open?: Scalars['String']['input'];
  close?: Scalars['String']['input'];
};

export type ToolCallConnection = {
  readonly edges: ReadonlyArray<ToolCallEdge>;
  readonly nodes: ReadonlyArray<ToolCall>;
  readonly pageInfo: PageInfo;
  readonly totalCount: Scalars['SafeInt']['output'];
  readonly count: BoundedCount;
};


export type ToolCallConnectionCountArgs = {
  upTo?: Scalars['Int']['input'];
};

export type ToolCallEdge = {
  readonly cursor: Scalars['String']['output'];
  readonly node: ToolCall;
};

export type TrainingSampleConnection = {
  readonly edges: ReadonlyArray<TrainingSampleEdge>;
  readonly nodes: ReadonlyArray<TrainingSample>;
  readonly pageInfo: PageInfo;
  readonly totalCount: Scalars['SafeInt']['output'];
  readonly count: BoundedCount;
};


export type TrainingSampleConnectionCountArgs = {
  upTo?: Scalars['Int']['input'];
};

export type TrainingSampleEdge = {
  readonly cursor: Scalars['String']['output'];
  readonly node: TrainingSample;
};

export type TaskConnection = {
  readonly edges: ReadonlyArray<TaskEdge>;
  readonly nodes: ReadonlyArray<Task>;
  readonly pageInfo: PageInfo;
  readonly totalCount: Scalars['SafeInt']['output'];
};

export type TaskEdge = {
  readonly cursor: Scalars['String']['output'];
  readonly node: Task;
};

export type Dataset = {
  readonly id: Scalars['ID']['output'];
  readonly name: Scalars['String']['output'];
  readonly version: Scalars['Int']['output'];
  readonly format: Scalars['String']['output'];
  readonly formatVersion: Scalars['Int']['output'];
  readonly query: Scalars['JSON']['output'];
  readonly parameters: Scalars['JSON']['output'];
  readonly position: Scalars['JSON']['output'];
  readonly counts: Scalars['JSON']['output'];
  readonly bytes: Scalars['SafeInt']['output'];
  readonly sha256: Scalars['String']['output'];
  readonly codeVersion: Scalars['String']['output'];
  readonly releasedAt: Scalars['DateTime']['output'];
  readonly withdrawnAt?: Maybe<Scalars['DateTime']['output']>;
  readonly withdrawReason?: Maybe<Scalars['String']['output']>;
  readonly runs: ReadonlyArray<Run>;
  readonly policies: ReadonlyArray<PolicyVersion>;
  readonly evaluations: ReadonlyArray<Evaluation>;
  readonly examples: DatasetExampleConnection;
  readonly trees: TreeConnection;
  readonly trajectories: TrajectoryConnection;
  readonly revisions: RevisionConnection;
};


export type DatasetExamplesArgs = {
  filter?: InputMaybe<DatasetExampleFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type DatasetTreesArgs = {
  filter?: InputMaybe<TreeFilter>;
  orderBy?: TreeOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type DatasetTrajectoriesArgs = {
  filter?: InputMaybe<TrajectoryFilter>;
  orderBy?: TrajectoryOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type DatasetRevisionsArgs = {
  filter?: InputMaybe<RevisionFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};

export type DatasetExample = {
  readonly line: Scalars['Int']['output'];
  readonly lines: Scalars['Int']['output'];
  readonly kind: DatasetExampleKind;
  readonly treeId: Scalars['ID']['output'];
  readonly tree?: Maybe<Tree>;
  readonly trajectory?: Maybe<Trajectory>;
  readonly badTrajectory?: Maybe<Trajectory>;
  readonly revision?: Maybe<Revision>;
  readonly annotations: ReadonlyArray<Annotation>;
  readonly text: ExampleText;
};


export type DatasetExampleTextArgs = {
  characters?: Scalars['Int']['input'];
};

export type ExampleText = {
  readonly text: Scalars['String']['output'];
  readonly length: Scalars['SafeInt']['output'];
};

export type DatasetExampleKind =
  | 'good'
  | 'revision'
  | 'pair';

export type DatasetFilter = {
  readonly name?: InputMaybe<Scalars['String']['input']>;
  readonly format?: InputMaybe<Scalars['String']['input']>;
  readonly withdrawn?: InputMaybe<Scalars['Boolean']['input']>;
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  readonly tree?: InputMaybe<Scalars['ID']['input']>;
  readonly rollout?: InputMaybe<Scalars['ID']['input']>;
  readonly revision?: InputMaybe<Scalars['ID']['input']>;
};

export type DatasetExampleFilter = {
  readonly kind?: InputMaybe<DatasetExampleKind>;
  readonly tree?: InputMaybe<Scalars['ID']['input']>;
  readonly revision?: InputMaybe<Scalars['ID']['input']>;
  readonly line?: InputMaybe<Scalars['Int']['input']>;
};

export type DatasetOrder =
  | 'RELEASED_ASC'
  | 'RELEASED_DESC';

export type RewardsOf =
  | 'now'
  | 'trained';

export type BatchEstimates = {
  readonly estimator?: Maybe<TrainingMethod>;
  readonly grain?: Maybe<EstimateGrain>;
  readonly reason?: Maybe<Scalars['String']['output']>;
  readonly rewardsAt: Scalars['String']['output'];
  readonly agrees?: Maybe<Scalars['Boolean']['output']>;
  readonly sampleCount: Scalars['Int']['output'];
  readonly samples: ReadonlyArray<SampleEstimate>;
};


export type BatchEstimatesSamplesArgs = {
  from?: Scalars['Int']['input'];
  first?: Scalars['Int']['input'];
};

export type EstimateGrain =
  | 'step'
  | 'token';

export type SampleEstimate = {
  readonly rollout?: Maybe<Rollout>;
  readonly group?: Maybe<Tree>;
  readonly place: Scalars['Int']['output'];
  readonly return: Scalars['Float']['output'];
  readonly rewards: ReadonlyArray<EstimateReward>;
  readonly advantage?: Maybe<Scalars['Float']['output']>;
  readonly staleness?: Maybe<Scalars['Int']['output']>;
  readonly steps: ReadonlyArray<StepEstimate>;
};

export type StepEstimate = {
  readonly step?: Maybe<Step>;
  readonly number: Scalars['Int']['output'];
  readonly rewards: ReadonlyArray<EstimateReward>;
  readonly reward: Scalars['Float']['output'];
  readonly anchor?: Maybe<Scalars['String']['output']>;
  readonly tokenCount?: Maybe<Scalars['Int']['output']>;
  readonly maskLength?: Maybe<Scalars['Int']['output']>;
  readonly logProb?: Maybe<Scalars['Float']['output']>;
  readonly staleness?: Maybe<Scalars['Int']['output']>;
  readonly value?: Maybe<Scalars['Float']['output']>;
  readonly bootstrap?: Maybe<Scalars['Float']['output']>;
  readonly target?: Maybe<Scalars['Float']['output']>;
  readonly advantage?: Maybe<Scalars['Float']['output']>;
  readonly readAgain?: Maybe<StepReadAgain>;
  readonly newLogProbs?: Maybe<ReadonlyArray<Scalars['Float']['output']>>;
  readonly tokenAdvantages?: Maybe<ReadonlyArray<Scalars['Float']['output']>>;
};

export type StepReadAgain = {
  readonly before?: Maybe<StepReading>;
  readonly after?: Maybe<StepReading>;
};

export type StepReading = {
  readonly logProb: Scalars['Float']['output'];
  readonly entropy: Scalars['Float']['output'];
};

export type EstimateReward = {
  readonly component: Scalars['String']['output'];
  readonly value: Scalars['Float']['output'];
  readonly weight: Scalars['Float']['output'];
  readonly scorer: Scorer;
};

export type BatchActor = {
  readonly policy: PolicyVersion;
  readonly samples: Scalars['Int']['output'];
  readonly steps: Scalars['SafeInt']['output'];
  readonly tokens: Scalars['SafeInt']['output'];
};

export type Evaluation = {
  readonly run?: Maybe<Run>;
  readonly policy: PolicyVersion;
  readonly environment: Scalars['String']['output'];
  readonly split?: Maybe<Scalars['String']['output']>;
  readonly tasks: Scalars['SafeInt']['output'];
  readonly episodes: Scalars['SafeInt']['output'];
  readonly failedTrees: Scalars['SafeInt']['output'];
  readonly meanReturn: Scalars['Float']['output'];
  readonly returnInterval: Interval;
  readonly successRate: Scalars['Float']['output'];
  readonly successInterval: Interval;
  readonly confidence: Scalars['Float']['output'];
  readonly meanSteps: Scalars['Float']['output'];
  readonly repeatedActions: ReadonlyArray<RepeatedActions>;
  readonly byDepth: ReadonlyArray<EvaluatedDepth>;
  readonly recoveredFrom?: Maybe<Run>;
  readonly trained?: Maybe<TrainedOn>;
  readonly finishedAt: Scalars['DateTime']['output'];
};

export type Interval = {
  readonly low: Scalars['Float']['output'];
  readonly high: Scalars['Float']['output'];
};

export type RepeatedActions = {
  readonly length: Scalars['Int']['output'];
  readonly perEpisode: Scalars['Float']['output'];
};

export type EvaluatedDepth = {
  readonly taskDepth?: Maybe<Scalars['Int']['output']>;
  readonly episodes: Scalars['SafeInt']['output'];
  readonly successes: Scalars['SafeInt']['output'];
};

export type TrainedOn = {
  readonly method: Scalars['String']['output'];
  readonly iteration: Scalars['Int']['output'];
  readonly weights: Scalars['String']['output'];
  readonly runs: ReadonlyArray<Run>;
  readonly datasets: ReadonlyArray<Dataset>;
  readonly good: Scalars['SafeInt']['output'];
  readonly revisions: Scalars['SafeInt']['output'];
  readonly revisionLength?: Maybe<Scalars['Float']['output']>;
  readonly actions: Scalars['SafeInt']['output'];
};

export type Experiment = {
  readonly id: Scalars['ID']['output'];
  readonly name: Scalars['String']['output'];
  readonly question: Scalars['String']['output'];
  readonly declaredAt: Scalars['DateTime']['output'];
  readonly declaration?: Maybe<Scalars['JSON']['output']>;
  readonly refused?: Maybe<Scalars['String']['output']>;
  readonly rerunOf?: Maybe<Experiment>;
  readonly completedStages: Scalars['SafeInt']['output'];
  readonly failedStages: Scalars['SafeInt']['output'];
  readonly arms: ReadonlyArray<ExperimentArm>;
  readonly comparison: ReadonlyArray<ArmResult>;
  readonly runs: RunConnection;
};


export type ExperimentRunsArgs = {
  filter?: InputMaybe<RunFilter>;
  orderBy?: RunOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};

export type ExperimentArm = {
  readonly name: Scalars['String']['output'];
  readonly isBaseline: Scalars['Boolean']['output'];
  readonly overrides: Scalars['JSON']['output'];
  readonly repetitions: ReadonlyArray<Scalars['SafeInt']['output']>;
  readonly stages: ReadonlyArray<ExperimentStage>;
};

export type ExperimentStage = {
  readonly name: Scalars['String']['output'];
  readonly kind: Scalars['String']['output'];
  readonly seed: Scalars['SafeInt']['output'];
  readonly state: StageState;
  readonly message: Scalars['String']['output'];
  readonly key?: Maybe<Scalars['String']['output']>;
  readonly finishedAt?: Maybe<Scalars['DateTime']['output']>;
  readonly reusedFrom?: Maybe<Experiment>;
  readonly digest?: Maybe<Scalars['String']['output']>;
  readonly policy?: Maybe<Scalars['String']['output']>;
  readonly judge?: Maybe<Scalars['String']['output']>;
  readonly runs: ReadonlyArray<Run>;
  readonly dataset?: Maybe<Dataset>;
  readonly kept?: Maybe<StoredContent>;
  readonly values: ReadonlyArray<StageValue>;
};

export type StageState =
  | 'planned'
  | 'completed'
  | 'failed';

export type StoredContent = {
  readonly blob: Scalars['String']['output'];
  readonly size: Scalars['SafeInt']['output'];
  readonly mediaType: Scalars['String']['output'];
};

export type StageValue = {
  readonly name: Scalars['String']['output'];
  readonly value: Scalars['Float']['output'];
};

export type ArmResult = {
  readonly arm: Scalars['String']['output'];
  readonly stage: Scalars['String']['output'];
  readonly seeds: Scalars['Int']['output'];
  readonly success?: Maybe<ArmEstimate>;
  readonly return?: Maybe<ArmEstimate>;
  readonly values: ReadonlyArray<StageValue>;
  readonly difference?: Maybe<ArmDifference>;
};

export type ArmEstimate = {
  readonly mean: Scalars['Float']['output'];
  readonly interval: Interval;
};

export type ArmDifference = {
  readonly to: Scalars['String']['output'];
  readonly pairs: Scalars['Int']['output'];
  readonly success?: Maybe<ArmEstimate>;
  readonly return?: Maybe<ArmEstimate>;
};

export type ExperimentOrder =
  | 'DECLARED_ASC'
  | 'DECLARED_DESC';

export type HistoryImage = {
  readonly id: Scalars['ID']['output'];
  readonly url: Scalars['String']['output'];
  readonly stepId: Scalars['ID']['output'];
  readonly step?: Maybe<Step>;
  readonly width: Scalars['Int']['output'];
  readonly height: Scalars['Int']['output'];
  readonly raw: ImageSize;
  readonly resized: ImageSize;
  readonly model: ImageSize;
  readonly factor: Scalars['Float']['output'];
  readonly factorChosenBy?: Maybe<Step>;
  readonly visionTokens: Scalars['Int']['output'];
  readonly visionPreset: Scalars['String']['output'];
  readonly textTokens: Scalars['Int']['output'];
  readonly tokenizer: Scalars['String']['output'];
  readonly saved: Scalars['Int']['output'];
  readonly length: Scalars['Int']['output'];
  readonly hits: Scalars['Int']['output'];
  readonly misses: Scalars['Int']['output'];
  readonly history: HistoryKind;
  readonly segments: ReadonlyArray<HistorySegment>;
  readonly cutSegments: Scalars['Int']['output'];
  readonly cutLines: Scalars['Int']['output'];
  readonly outside: Scalars['Int']['output'];
  readonly unshaped: Scalars['Int']['output'];
  readonly renderMs: Scalars['Float']['output'];
  readonly renderedAt: Scalars['DateTime']['output'];
  readonly renderSpecId: Scalars['ID']['output'];
  readonly renderSpec?: Maybe<RenderSpec>;
  readonly atFactors: ReadonlyArray<HistoryAtFactor>;
};


export type HistoryImageAtFactorsArgs = {
  factors?: ReadonlyArray<Scalars['Float']['input']>;
};

export type HistoryAtFactor = {
  readonly factor: Scalars['Float']['output'];
  readonly shown: Scalars['Boolean']['output'];
  readonly url: Scalars['String']['output'];
  readonly width: Scalars['Int']['output'];
  readonly height: Scalars['Int']['output'];
  readonly visionTokens: Scalars['Int']['output'];
  readonly saved: Scalars['Int']['output'];
  readonly linePixels?: Maybe<Scalars['Float']['output']>;
  readonly legibility?: Maybe<Scalars['Float']['output']>;
};

export type HistoryImageConnection = {
  readonly edges: ReadonlyArray<HistoryImageEdge>;
  readonly nodes: ReadonlyArray<HistoryImage>;
  readonly pageInfo: PageInfo;
  readonly totalCount: Scalars['SafeInt']['output'];
};

export type HistoryImageEdge = {
  readonly cursor: Scalars['String']['output'];
  readonly node: HistoryImage;
};

export type HistoryImageOrder =
  | 'TREE'
  | 'VISION_TOKENS_DESC'
  | 'FACTOR_DESC';

export type Picture = {
  readonly id: Scalars['ID']['output'];
  readonly width: Scalars['Int']['output'];
  readonly height: Scalars['Int']['output'];
  readonly url: Scalars['String']['output'];
};

export type ImageSize = {
  readonly width: Scalars['Int']['output'];
  readonly height: Scalars['Int']['output'];
};

export type HistoryKind =
  | 'segments'
  | 'blank'
  | 'absent';

export type HistorySegment = {
  readonly id: Scalars['ID']['output'];
  readonly place: Scalars['Int']['output'];
  readonly hit: Scalars['Boolean']['output'];
  readonly text?: Maybe<Scalars['String']['output']>;
  readonly forgotten: Scalars['Boolean']['output'];
  readonly lines?: Maybe<Scalars['Int']['output']>;
  readonly width?: Maybe<Scalars['Int']['output']>;
  readonly height?: Maybe<Scalars['Int']['output']>;
  readonly rgb?: Maybe<Scalars['String']['output']>;
  readonly cutLines?: Maybe<Scalars['Int']['output']>;
  readonly outside?: Maybe<Scalars['Int']['output']>;
  readonly unshaped?: Maybe<Scalars['Int']['output']>;
  readonly runId?: Maybe<Scalars['ID']['output']>;
  readonly largeTexts: ReadonlyArray<LargeText>;
};

export type RenderSpec = {
  readonly id: Scalars['ID']['output'];
  readonly profile?: Maybe<Scalars['String']['output']>;
  readonly spec: Scalars['JSON']['output'];
};

export type ImageTotals = {
  readonly steps: Scalars['SafeInt']['output'];
  readonly images: Scalars['SafeInt']['output'];
  readonly visionTokens: Scalars['SafeInt']['output'];
  readonly textTokens: Scalars['SafeInt']['output'];
  readonly saved: Scalars['SafeInt']['output'];
  readonly segments: Scalars['SafeInt']['output'];
  readonly hits: Scalars['SafeInt']['output'];
  readonly misses: Scalars['SafeInt']['output'];
  readonly hitRate?: Maybe<Scalars['Float']['output']>;
  readonly pixels: Scalars['SafeInt']['output'];
  readonly meanFactor?: Maybe<Scalars['Float']['output']>;
  readonly cutSegments: Scalars['SafeInt']['output'];
  readonly cutLines: Scalars['SafeInt']['output'];
  readonly outside: Scalars['SafeInt']['output'];
  readonly unshaped: Scalars['SafeInt']['output'];
  readonly renderMs: Scalars['Float']['output'];
};

export type Trace = {
  readonly kind: Scalars['String']['output'];
  readonly id: Scalars['String']['output'];
  readonly title: Scalars['String']['output'];
  readonly madeBy: TraceEvents;
  readonly from: ReadonlyArray<TraceLinks>;
  readonly usedBy: ReadonlyArray<TraceLinks>;
  readonly touched?: Maybe<Touched>;
};

export type TraceEvents = {
  readonly total: Scalars['Int']['output'];
  readonly first: ReadonlyArray<TraceEvent>;
};

export type TraceEvent = {
  readonly eventId: Scalars['ID']['output'];
  readonly type: Scalars['String']['output'];
  readonly place: Scalars['String']['output'];
  readonly occurredAt: Scalars['DateTime']['output'];
  readonly envelope: Scalars['JSON']['output'];
};

export type TraceLinks = {
  readonly relation: Scalars['String']['output'];
  readonly total: Scalars['Int']['output'];
  readonly first: ReadonlyArray<TraceLink>;
};

export type TraceLink = {
  readonly id: Scalars['String']['output'];
  readonly text: Scalars['String']['output'];
};

export type Touched = {
  readonly runsTotal: Scalars['Int']['output'];
  readonly runs: ReadonlyArray<Scalars['ID']['output']>;
  readonly trees: Scalars['Int']['output'];
  readonly rollouts: Scalars['Int']['output'];
  readonly datasetsTotal: Scalars['Int']['output'];
  readonly datasets: ReadonlyArray<TouchedDataset>;
  readonly batchesTotal: Scalars['Int']['output'];
  readonly batches: ReadonlyArray<TouchedBatch>;
  readonly versionsTotal: Scalars['Int']['output'];
  readonly versions: ReadonlyArray<TouchedVersion>;
  readonly evaluationsTotal: Scalars['Int']['output'];
  readonly evaluations: ReadonlyArray<TouchedEvaluation>;
};


export type TouchedRunsArgs = {
  first?: Scalars['Int']['input'];
};


export type TouchedDatasetsArgs = {
  first?: Scalars['Int']['input'];
};


export type TouchedBatchesArgs = {
  first?: Scalars['Int']['input'];
};


export type TouchedVersionsArgs = {
  first?: Scalars['Int']['input'];
};


export type TouchedEvaluationsArgs = {
  first?: Scalars['Int']['input'];
};

export type TouchedDataset = {
  readonly datasetId: Scalars['ID']['output'];
  readonly name: Scalars['String']['output'];
  readonly version: Scalars['Int']['output'];
  readonly examples?: Maybe<Scalars['Int']['output']>;
  readonly withdrawn: Scalars['Boolean']['output'];
};

export type TouchedBatch = {
  readonly batchId: Scalars['ID']['output'];
  readonly policyId: Scalars['String']['output'];
  readonly ordinal: Scalars['Int']['output'];
  readonly samples: Scalars['Int']['output'];
  readonly trained: Scalars['Boolean']['output'];
};

export type TouchedVersion = {
  readonly policyId: Scalars['String']['output'];
  readonly version: Scalars['Int']['output'];
  readonly how: Scalars['String']['output'];
};

export type TouchedEvaluation = {
  readonly runId: Scalars['ID']['output'];
  readonly policyId: Scalars['String']['output'];
  readonly version: Scalars['Int']['output'];
  readonly meanReturn: Scalars['Float']['output'];
  readonly how: Scalars['String']['output'];
};

export type RecallInput = {
  readonly scorer?: InputMaybe<Scalars['String']['input']>;
  readonly trajectory?: InputMaybe<Scalars['ID']['input']>;
  readonly step?: InputMaybe<Scalars['ID']['input']>;
  readonly tree?: InputMaybe<Scalars['ID']['input']>;
  readonly task?: InputMaybe<Scalars['ID']['input']>;
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  readonly label?: InputMaybe<Scalars['String']['input']>;
};

export type ProjectionLag = {
  readonly projection: Scalars['String']['output'];
  readonly version: Scalars['Int']['output'];
  readonly build: Scalars['Int']['output'];
  readonly state: ProjectionState;
  readonly reason?: Maybe<Scalars['String']['output']>;
  readonly lag: Scalars['SafeInt']['output'];
  readonly partitions: ReadonlyArray<PartitionLag>;
  readonly builds: ReadonlyArray<ProjectionBuild>;
};

export type ProjectionBuild = {
  readonly version: Scalars['Int']['output'];
  readonly build: Scalars['Int']['output'];
  readonly state: BuildState;
  readonly done?: Maybe<Scalars['SafeInt']['output']>;
  readonly of?: Maybe<Scalars['SafeInt']['output']>;
  readonly rate?: Maybe<Scalars['Float']['output']>;
  readonly secondsLeft?: Maybe<Scalars['Float']['output']>;
  readonly toldAt?: Maybe<Scalars['DateTime']['output']>;
  readonly begunAt: Scalars['DateTime']['output'];
};

export type BuildState =
  | 'building'
  | 'kept';

export type ProjectionState =
  | 'running'
  | 'stopped';

export type PartitionLag = {
  readonly topic: Scalars['String']['output'];
  readonly partition: Scalars['Int']['output'];
  readonly cursor: Scalars['SafeInt']['output'];
  readonly end: Scalars['SafeInt']['output'];
  readonly lag: Scalars['SafeInt']['output'];
};

export type Anomaly = {
  readonly topic: Scalars['String']['output'];
  readonly partition: Scalars['Int']['output'];
  readonly offset: Scalars['SafeInt']['output'];
  readonly eventId: Scalars['ID']['output'];
  readonly stream: Scalars['ID']['output'];
  readonly kind: AnomalyKind;
  readonly detail: Scalars['String']['output'];
};

export type AnomalyKind =
  | 'duplicate'
  | 'gap'
  | 'reordered'
  | 'superseded';

export type QuarantinedRecord = {
  readonly projection: Scalars['String']['output'];
  readonly topic: Scalars['String']['output'];
  readonly partition: Scalars['Int']['output'];
  readonly offset: Scalars['SafeInt']['output'];
  readonly eventId?: Maybe<Scalars['ID']['output']>;
  readonly type?: Maybe<Scalars['String']['output']>;
  readonly stream?: Maybe<Scalars['String']['output']>;
  readonly code: Scalars['String']['output'];
  readonly field: Scalars['String']['output'];
  readonly reason: Scalars['String']['output'];
  readonly body: Scalars['String']['output'];
  readonly size: Scalars['Int']['output'];
  readonly quarantinedAt: Scalars['DateTime']['output'];
  readonly requeuedAt?: Maybe<Scalars['DateTime']['output']>;
  readonly requeuedOffset?: Maybe<Scalars['SafeInt']['output']>;
};

export type AnomalyFilter = {
  readonly kind?: InputMaybe<AnomalyKind>;
  readonly stream?: InputMaybe<Scalars['ID']['input']>;
};

export type QuarantineFilter = {
  readonly projection?: InputMaybe<Scalars['String']['input']>;
  readonly code?: InputMaybe<Scalars['String']['input']>;
  readonly requeued?: InputMaybe<Scalars['Boolean']['input']>;
};

export type RequeuedEvent = {
  readonly projection: Scalars['String']['output'];
  readonly place: Scalars['String']['output'];
  readonly appended?: Maybe<Scalars['String']['output']>;
  readonly outcome: RequeueOutcome;
  readonly reason?: Maybe<Scalars['String']['output']>;
};

export type RequeueOutcome =
  | 'requeued'
  | 'refused'
  | 'pending';

export type Verification = {
  readonly id: Scalars['ID']['output'];
  readonly finishedAt: Scalars['DateTime']['output'];
  readonly seconds: Scalars['SafeInt']['output'];
  readonly codeVersion: Scalars['String']['output'];
  readonly intact: Scalars['Boolean']['output'];
  readonly counts: VerificationCounts;
  readonly faulty: Scalars['SafeInt']['output'];
  readonly faults: ReadonlyArray<VerificationFault>;
  readonly doubtful: Scalars['SafeInt']['output'];
  readonly foreign: Scalars['SafeInt']['output'];
};

export type VerificationCounts = {
  readonly events: Scalars['SafeInt']['output'];
  readonly records?: Maybe<Scalars['SafeInt']['output']>;
  readonly blobs: Scalars['SafeInt']['output'];
  readonly batches: Scalars['SafeInt']['output'];
  readonly checkpoints: Scalars['SafeInt']['output'];
  readonly files: Scalars['SafeInt']['output'];
  readonly prompts: Scalars['SafeInt']['output'];
  readonly anchored?: Maybe<Scalars['SafeInt']['output']>;
};

export type VerificationFault = {
  readonly what: Scalars['String']['output'];
  readonly kind: Scalars['String']['output'];
  readonly place: Scalars['String']['output'];
};

export type VerificationConnection = {
  readonly edges: ReadonlyArray<VerificationEdge>;
  readonly nodes: ReadonlyArray<Verification>;
  readonly pageInfo: PageInfo;
  readonly totalCount: Scalars['SafeInt']['output'];
};

export type VerificationEdge = {
  readonly cursor: Scalars['String']['output'];
  readonly node: Verification;
};

export type TreeOutline = {
  readonly length: Scalars['Int']['output'];
  readonly ids: ReadonlyArray<Scalars['ID']['output']>;
  readonly parents: PackedArray;
  readonly actions: ReadonlyArray<Scalars['String']['output']>;
  readonly executable: PackedArray;
  readonly terminations: PackedArray;
  readonly rewards: PackedArray;
  readonly backUps: OutlineBackUps;
};

export type OutlineBackUps = {
  readonly length: Scalars['Int']['output'];
  readonly values: PackedArray;
  readonly lengths: PackedArray;
  readonly paths: PackedArray;
};

export type Project = {
  readonly name: Scalars['String']['output'];
  readonly runs: Scalars['SafeInt']['output'];
  readonly trees: Scalars['SafeInt']['output'];
  readonly datasets: Scalars['SafeInt']['output'];
  readonly policies: Scalars['SafeInt']['output'];
};

export type Viewer = {
  readonly principal: Scalars['String']['output'];
  readonly name: Scalars['String']['output'];
  readonly scopes: ReadonlyArray<Scalars['String']['output']>;
  readonly project: Scalars['String']['output'];
  readonly projects?: Maybe<ReadonlyArray<Scalars['String']['output']>>;
  readonly replaces: ReadonlyArray<Scalars['String']['output']>;
};

export type Prompt = {
  readonly sha256: Scalars['String']['output'];
  readonly messages: ReadonlyArray<PromptMessage>;
  readonly template?: Maybe<PromptTemplate>;
  readonly tools?: Maybe<Scalars['String']['output']>;
  readonly sampling: Sampling;
  readonly server?: Maybe<Scalars['String']['output']>;
  readonly model?: Maybe<Scalars['String']['output']>;
  readonly tokens?: Maybe<PromptTokens>;
  readonly answer?: Maybe<PromptAnswer>;
};

export type PromptAnswer = {
  readonly finishReason?: Maybe<Scalars['String']['output']>;
  readonly usage?: Maybe<Usage>;
  readonly tokens?: Maybe<Tokens>;
  readonly call?: Maybe<ModelCall>;
};

export type PromptMessage = {
  readonly role: Scalars['String']['output'];
  readonly toolCallId?: Maybe<Scalars['String']['output']>;
  readonly name?: Maybe<Scalars['String']['output']>;
  readonly parts: ReadonlyArray<PromptPart>;
};

export type PromptPart = {
  readonly text?: Maybe<Scalars['String']['output']>;
  readonly reasoning?: Maybe<Scalars['String']['output']>;
  readonly toolCall?: Maybe<RequestedTool>;
  readonly image?: Maybe<HistoryImage>;
  readonly picture?: Maybe<Picture>;
};

export type RequestedTool = {
  readonly id?: Maybe<Scalars['String']['output']>;
  readonly name: Scalars['String']['output'];
  readonly arguments: Scalars['String']['output'];
};

export type ReplyStructure = {
  readonly reasoning: Scalars['Boolean']['output'];
  readonly toolCalls: ReadonlyArray<RequestedTool>;
};

export type PromptTemplate = {
  readonly name: Scalars['String']['output'];
  readonly version: Scalars['Int']['output'];
};

export type Sampling = {
  readonly temperature?: Maybe<Scalars['Float']['output']>;
  readonly topP?: Maybe<Scalars['Float']['output']>;
  readonly topK?: Maybe<Scalars['SafeInt']['output']>;
  readonly minP?: Maybe<Scalars['Float']['output']>;
  readonly repetitionPenalty?: Maybe<Scalars['Float']['output']>;
  readonly maxTokens?: Maybe<Scalars['Int']['output']>;
  readonly stop: ReadonlyArray<Scalars['String']['output']>;
  readonly seed?: Maybe<Scalars['SafeInt']['output']>;
  readonly others: ReadonlyArray<SamplingParameter>;
};

export type SamplingParameter = {
  readonly name: Scalars['String']['output'];
  readonly value: Scalars['String']['output'];
};

export type PromptTokens = {
  readonly ids: PackedArray;
  readonly before?: Maybe<Scalars['Int']['output']>;
  readonly kept?: Maybe<Scalars['Int']['output']>;
};

export type Drift = {
  readonly steps: Scalars['SafeInt']['output'];
  readonly firstStep?: Maybe<Step>;
};

export type Query = {
  readonly experiment?: Maybe<Experiment>;
  readonly experiments: ExperimentConnection;
  readonly run?: Maybe<Run>;
  readonly runs: RunConnection;
  readonly tree?: Maybe<Tree>;
  readonly trees: TreeConnection;
  readonly step?: Maybe<Step>;
  readonly path: ReadonlyArray<Step>;
  readonly rollout?: Maybe<Rollout>;
  readonly rollouts: RolloutConnection;
  readonly trajectory?: Maybe<Trajectory>;
  readonly trajectories: TrajectoryConnection;
  readonly steps: StepConnection;
  readonly toolCalls: ToolCallConnection;
  readonly samples: TrainingSampleConnection;
  readonly tasks: TaskConnection;
  readonly aggregate: ReadonlyArray<Aggregate>;
  readonly compare: ReadonlyArray<RunComparison>;
  readonly divergence?: Maybe<TrajectoryDivergence>;
  readonly revision?: Maybe<Revision>;
  readonly dataset?: Maybe<Dataset>;
  readonly datasets: DatasetConnection;
  readonly annotation?: Maybe<Annotation>;
  readonly annotations: AnnotationConnection;
  readonly annotationLabels: ReadonlyArray<LabelCount>;
  readonly policy?: Maybe<TrainedPolicy>;
  readonly policies: ReadonlyArray<TrainedPolicy>;
  readonly batch?: Maybe<Batch>;
  readonly trace?: Maybe<Trace>;
  readonly recall: Touched;
  readonly anomalies: AnomalyConnection;
  readonly quarantine: QuarantineConnection;
  readonly replays: ReplayConnection;
  readonly verifications: VerificationConnection;
  readonly projects: ReadonlyArray<Project>;
  readonly viewer: Viewer;
  readonly position: Scalars['String']['output'];
  readonly lag: ReadonlyArray<ProjectionLag>;
  readonly waitFor: Reached;
  readonly asOf: Query;
};


export type QueryExperimentArgs = {
  id: Scalars['ID']['input'];
};


export type QueryExperimentsArgs = {
  orderBy?: ExperimentOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type QueryRunArgs = {
  id: Scalars['ID']['input'];
};


export type QueryRunsArgs = {
  filter?: InputMaybe<RunFilter>;
  orderBy?: RunOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type QueryTreeArgs = {
  id: Scalars['ID']['input'];
};


export type QueryTreesArgs = {
  filter?: InputMaybe<TreeFilter>;
  orderBy?: TreeOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type QueryStepArgs = {
  id: Scalars['ID']['input'];
  tree?: InputMaybe<Scalars['ID']['input']>;
};


export type QueryPathArgs = {
  leaf: Scalars['ID']['input'];
  tree?: InputMaybe<Scalars['ID']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['Int']['input']>;
};


export type QueryRolloutArgs = {
  id: Scalars['ID']['input'];
  tree?: InputMaybe<Scalars['ID']['input']>;
};


export type QueryRolloutsArgs = {
  filter?: InputMaybe<RolloutFilter>;
  orderBy?: RolloutOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type QueryTrajectoryArgs = {
  rollout: Scalars['ID']['input'];
  tree?: InputMaybe<Scalars['ID']['input']>;
};


export type QueryTrajectoriesArgs = {
  filter?: InputMaybe<TrajectoryFilter>;
  orderBy?: TrajectoryOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


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


export type QueryToolCallsArgs = {
  filter?: InputMaybe<ToolCallFilter>;
  orderBy?: ToolCallOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type QuerySamplesArgs = {
  filter?: InputMaybe<SampleFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type QueryTasksArgs = {
  filter?: InputMaybe<TaskFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type QueryAggregateArgs = {
  by: AggregateBy;
  filter: AggregateFilter;
  first?: Scalars['Int']['input'];
  after?: InputMaybe<Scalars['String']['input']>;
};


export type QueryCompareArgs = {
  runs: ReadonlyArray<Scalars['ID']['input']>;
  confidence?: Scalars['Float']['input'];
  resamples?: Scalars['Int']['input'];
  seed?: Scalars['SafeInt']['input'];
};


export type QueryDivergenceArgs = {
  a: Scalars['ID']['input'];
  b: Scalars['ID']['input'];
  aTree?: InputMaybe<Scalars['ID']['input']>;
  bTree?: InputMaybe<Scalars['ID']['input']>;
};


export type QueryRevisionArgs = {
  id: Scalars['ID']['input'];
  tree?: InputMaybe<Scalars['ID']['input']>;
};


export type QueryDatasetArgs = {
  id: Scalars['ID']['input'];
};


export type QueryDatasetsArgs = {
  filter?: InputMaybe<DatasetFilter>;
  orderBy?: DatasetOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type QueryAnnotationArgs = {
  id: Scalars['ID']['input'];
  tree?: InputMaybe<Scalars['ID']['input']>;
};


export type QueryAnnotationsArgs = {
  filter?: InputMaybe<AnnotationFilter>;
  orderBy?: AnnotationOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type QueryAnnotationLabelsArgs = {
  run?: InputMaybe<Scalars['ID']['input']>;
};


export type QueryPolicyArgs = {
  id: Scalars['String']['input'];
};


export type QueryBatchArgs = {
  id: Scalars['ID']['input'];
};


export type QueryTraceArgs = {
  id: Scalars['String']['input'];
  tree?: InputMaybe<Scalars['ID']['input']>;
};


export type QueryRecallArgs = {
  what: RecallInput;
};


export type QueryAnomaliesArgs = {
  filter?: InputMaybe<AnomalyFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type QueryQuarantineArgs = {
  filter?: InputMaybe<QuarantineFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type QueryReplaysArgs = {
  filter?: InputMaybe<ReplayFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type QueryVerificationsArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type QueryWaitForArgs = {
  position: Scalars['String']['input'];
  timeoutMs?: Scalars['Int']['input'];
};


export type QueryAsOfArgs = {
  position?: InputMaybe<Scalars['String']['input']>;
  time?: InputMaybe<Scalars['DateTime']['input']>;
};

export type Reached = {
  readonly position: Scalars['String']['output'];
  readonly waitedMs: Scalars['Float']['output'];
  readonly query: Query;
};

export type Subscription = {
  readonly events: EventDelivery;
};


export type SubscriptionEventsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  types?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  run?: InputMaybe<Scalars['ID']['input']>;
  tree?: InputMaybe<Scalars['ID']['input']>;
};

export type EventDelivery = {
  readonly id: Scalars['ID']['output'];
  readonly type: Scalars['String']['output'];
  readonly schemaVersion: Scalars['Int']['output'];
  readonly stream: Scalars['ID']['output'];
  readonly streamPosition: Scalars['SafeInt']['output'];
  readonly sequence: Scalars['SafeInt']['output'];
  readonly occurredAt: Scalars['DateTime']['output'];
  readonly receivedAt?: Maybe<Scalars['DateTime']['output']>;
  readonly runId: Scalars['ID']['output'];
  readonly causationId?: Maybe<Scalars['ID']['output']>;
  readonly producer: Scalars['String']['output'];
  readonly principal: Scalars['String']['output'];
  readonly project: Scalars['String']['output'];
  readonly data: Scalars['JSON']['output'];
  readonly topic: Scalars['String']['output'];
  readonly partition: Scalars['Int']['output'];
  readonly offset: Scalars['SafeInt']['output'];
  readonly requeuedFrom?: Maybe<Scalars['SafeInt']['output']>;
  readonly position: Scalars['String']['output'];
};

export type Replay = {
  readonly id: Scalars['ID']['output'];
  readonly runId: Scalars['ID']['output'];
  readonly run?: Maybe<Run>;
  readonly mode: ReplayMode;
  readonly outcome: ReplayOutcome;
  readonly compared: Scalars['SafeInt']['output'];
  readonly differing: Scalars['SafeInt']['output'];
  readonly differences: ReadonlyArray<ReplayDifference>;
  readonly notes: ReadonlyArray<Scalars['String']['output']>;
  readonly parameters: Scalars['JSON']['output'];
  readonly codeVersion: Scalars['String']['output'];
  readonly seconds: Scalars['SafeInt']['output'];
  readonly finishedAt: Scalars['DateTime']['output'];
};

export type ReplayFilter = {
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  readonly mode?: InputMaybe<ReplayMode>;
  readonly outcome?: InputMaybe<ReplayOutcome>;
};

export type ReplayMode =
  | 'projections'
  | 'environment'
  | 'images'
  | 'scores'
  | 'training'
  | 'fork';

export type ReplayOutcome =
  | 'equal'
  | 'differs';

export type ReplayDifference = {
  readonly eventId?: Maybe<Scalars['ID']['output']>;
  readonly stepId?: Maybe<Scalars['ID']['output']>;
  readonly field: Scalars['String']['output'];
  readonly recorded: Scalars['String']['output'];
  readonly replayed: Scalars['String']['output'];
};

export type Revision = {
  readonly id: Scalars['ID']['output'];
  readonly treeId: Scalars['ID']['output'];
  readonly tree?: Maybe<Tree>;
  readonly runId: Scalars['ID']['output'];
  readonly goodLeaf?: Maybe<Step>;
  readonly badLeaf?: Maybe<Step>;
  readonly branch?: Maybe<Step>;
  readonly transition?: Maybe<Step>;
  readonly cause: Scalars['String']['output'];
  readonly judged: Scalars['Int']['output'];
  readonly reflection: Scalars['String']['output'];
  readonly signal: Scalars['String']['output'];
  readonly alpha: Scalars['Float']['output'];
  readonly beta: Scalars['Float']['output'];
  readonly judge: Scalars['String']['output'];
  readonly contentHash: Scalars['String']['output'];
  readonly state: RevisionState;
  readonly reached?: Maybe<Scalars['Float']['output']>;
  readonly threshold?: Maybe<Scalars['Float']['output']>;
  readonly reason?: Maybe<Scalars['String']['output']>;
  readonly detail?: Maybe<Scalars['String']['output']>;
  readonly rejectedAt?: Maybe<Step>;
  readonly composedAt: Scalars['DateTime']['output'];
  readonly checkedAt?: Maybe<Scalars['DateTime']['output']>;
  readonly judgements: ReadonlyArray<Judgement>;
  readonly turns: ReadonlyArray<RevisionTurn>;
  readonly annotations: ReadonlyArray<Annotation>;
  readonly datasets: DatasetConnection;
};


export type RevisionDatasetsArgs = {
  filter?: InputMaybe<DatasetFilter>;
  orderBy?: DatasetOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};

export type RevisionState =
  | 'composed'
  | 'verified'
  | 'rejected';

export type RevisionTurn = {
  readonly part: Scalars['String']['output'];
  readonly stepId?: Maybe<Scalars['ID']['output']>;
  readonly response: Scalars['String']['output'];
  readonly observation: Scalars['String']['output'];
  readonly loss: Scalars['Boolean']['output'];
  readonly responseTokens?: Maybe<ReadonlyArray<Scalars['String']['output']>>;
  readonly observationTokens?: Maybe<ReadonlyArray<Scalars['String']['output']>>;
};

export type Judgement = {
  readonly id: Scalars['ID']['output'];
  readonly stepId: Scalars['ID']['output'];
  readonly step?: Maybe<Step>;
  readonly leafStepId: Scalars['ID']['output'];
  readonly index: Scalars['Int']['output'];
  readonly judge: Scalars['String']['output'];
  readonly promptHash: Scalars['String']['output'];
  readonly prompt?: Maybe<Prompt>;
  readonly verdict: Verdict;
  readonly reply: Scalars['String']['output'];
  readonly reusedFrom?: Maybe<Scalars['ID']['output']>;
  readonly judgedAt: Scalars['DateTime']['output'];
  readonly largeTexts: ReadonlyArray<LargeText>;
};

export type Verdict =
  | 'good'
  | 'bad'
  | 'uncertain'
  | 'unparsed';

export type RevisionFilter = {
  readonly state?: InputMaybe<RevisionState>;
  readonly judge?: InputMaybe<Scalars['String']['input']>;
  readonly dataset?: InputMaybe<Scalars['ID']['input']>;
};

export type Rollout = {
  readonly id: Scalars['ID']['output'];
  readonly treeId: Scalars['ID']['output'];
  readonly tree?: Maybe<Tree>;
  readonly imageTotals: ImageTotals;
  readonly runId: Scalars['ID']['output'];
  readonly run?: Maybe<Run>;
  readonly taskId: Scalars['ID']['output'];
  readonly environment: Scalars['String']['output'];
  readonly fromStepId: Scalars['ID']['output'];
  readonly ordinal: Scalars['Int']['output'];
  readonly seed: Scalars['SafeInt']['output'];
  readonly policy: PolicyVersion;
  readonly sample?: Maybe<TrainingSample>;
  readonly startedAt: Scalars['DateTime']['output'];
  readonly finishedAt?: Maybe<Scalars['DateTime']['output']>;
  readonly outcome?: Maybe<RolloutOutcome>;
  readonly success?: Maybe<Scalars['Boolean']['output']>;
  readonly leafId?: Maybe<Scalars['ID']['output']>;
  readonly leaf?: Maybe<Step>;
  readonly stepCount?: Maybe<Scalars['Int']['output']>;
  readonly reason?: Maybe<Scalars['String']['output']>;
  readonly unclearCalls?: Maybe<Scalars['Int']['output']>;
  readonly return?: Maybe<Scalars['Float']['output']>;
  readonly rewards: ReadonlyArray<Reward>;
  readonly trajectory?: Maybe<Trajectory>;
  readonly annotations: ReadonlyArray<Annotation>;
};


export type RolloutRewardsArgs = {
  component?: InputMaybe<Scalars['String']['input']>;
};

export type RolloutOutcome =
  | 'terminated'
  | 'truncated'
  | 'failed'
  | 'cancelled';

export type Trajectory = {
  readonly id: Scalars['ID']['output'];
  readonly rollout: Rollout;
  readonly treeId: Scalars['ID']['output'];
  readonly tree?: Maybe<Tree>;
  readonly return: Scalars['Float']['output'];
  readonly returns: ReadonlyArray<ComponentReturn>;
  readonly length: Scalars['Int']['output'];
  readonly leafId: Scalars['ID']['output'];
  readonly leaf?: Maybe<Step>;
  readonly steps: ReadonlyArray<Step>;
  readonly rewards: ReadonlyArray<Reward>;
  readonly datasets: DatasetConnection;
};


export type TrajectoryStepsArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['Int']['input']>;
};


export type TrajectoryRewardsArgs = {
  component?: InputMaybe<Scalars['String']['input']>;
};


export type TrajectoryDatasetsArgs = {
  filter?: InputMaybe<DatasetFilter>;
  orderBy?: DatasetOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};

export type Reward = {
  readonly id: Scalars['ID']['output'];
  readonly stepId?: Maybe<Scalars['ID']['output']>;
  readonly rolloutId?: Maybe<Scalars['ID']['output']>;
  readonly component: Scalars['String']['output'];
  readonly value: Scalars['Float']['output'];
  readonly assignedValue: Scalars['Float']['output'];
  readonly scorer: Scorer;
  readonly raw?: Maybe<RawReward>;
  readonly revisionCount: Scalars['Int']['output'];
  readonly revisions: ReadonlyArray<RewardRevision>;
  readonly assignedAt: Scalars['DateTime']['output'];
  readonly revisedAt?: Maybe<Scalars['DateTime']['output']>;
};

export type RewardRevision = {
  readonly id: Scalars['ID']['output'];
  readonly ordinal: Scalars['Int']['output'];
  readonly value: Scalars['Float']['output'];
  readonly scorer: Scorer;
  readonly reason: Scalars['String']['output'];
  readonly occurredAt: Scalars['DateTime']['output'];
};

export type Scorer = {
  readonly name: Scalars['String']['output'];
  readonly revision: Scalars['String']['output'];
};

export type RawReward = {
  readonly value: Scalars['Float']['output'];
  readonly scale: Scalars['Float']['output'];
  readonly kind: Scalars['String']['output'];
};

export type ComponentReturn = {
  readonly component: Scalars['String']['output'];
  readonly value: Scalars['Float']['output'];
  readonly rewards: Scalars['Int']['output'];
};

export type RolloutFilter = {
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  readonly tree?: InputMaybe<Scalars['ID']['input']>;
  readonly task?: InputMaybe<Scalars['ID']['input']>;
  readonly environment?: InputMaybe<Scalars['String']['input']>;
  readonly outcomes?: InputMaybe<ReadonlyArray<RolloutOutcome>>;
  readonly finished?: InputMaybe<Scalars['Boolean']['input']>;
  readonly success?: InputMaybe<Scalars['Boolean']['input']>;
  readonly annotated?: InputMaybe<AnnotatedFilter>;
  readonly policy?: InputMaybe<Scalars['String']['input']>;
  readonly policyVersion?: InputMaybe<IntRange>;
  readonly finishedIn?: InputMaybe<TimeRange>;
};

export type TrajectoryFilter = {
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  readonly tree?: InputMaybe<Scalars['ID']['input']>;
  readonly task?: InputMaybe<Scalars['ID']['input']>;
  readonly environment?: InputMaybe<Scalars['String']['input']>;
  readonly outcomes?: InputMaybe<ReadonlyArray<RolloutOutcome>>;
  readonly success?: InputMaybe<Scalars['Boolean']['input']>;
  readonly annotated?: InputMaybe<AnnotatedFilter>;
  readonly return?: InputMaybe<FloatRange>;
  readonly stepCount?: InputMaybe<IntRange>;
  readonly policy?: InputMaybe<Scalars['String']['input']>;
  readonly policyVersion?: InputMaybe<IntRange>;
  readonly finishedIn?: InputMaybe<TimeRange>;
  readonly dataset?: InputMaybe<Scalars['ID']['input']>;
};

export type RolloutOrder =
  | 'FINISHED_ASC'
  | 'FINISHED_DESC'
  | 'STEPS_ASC'
  | 'STEPS_DESC';

export type TrajectoryOrder =
  | 'FINISHED_ASC'
  | 'FINISHED_DESC'
  | 'RETURN_ASC'
  | 'RETURN_DESC'
  | 'STEPS_ASC'
  | 'STEPS_DESC';

export type Run = {
  readonly id: Scalars['ID']['output'];
  readonly name: Scalars['String']['output'];
  readonly kind: RunKind;
  readonly seed: Scalars['SafeInt']['output'];
  readonly codeVersion: Scalars['String']['output'];
  readonly config: Scalars['JSON']['output'];
  readonly environments: ReadonlyArray<RunEnvironment>;
  readonly policy?: Maybe<PolicyVersion>;
  readonly startedAt: Scalars['DateTime']['output'];
  readonly finishedAt?: Maybe<Scalars['DateTime']['output']>;
  readonly outcome?: Maybe<RunOutcome>;
  readonly message?: Maybe<Scalars['String']['output']>;
  readonly forgotten: Scalars['Boolean']['output'];
  readonly experiment?: Maybe<Experiment>;
  readonly project?: Maybe<Scalars['String']['output']>;
  readonly owner?: Maybe<Scalars['String']['output']>;
  readonly totals: RunTotals;
  readonly activity: RunActivity;
  readonly failures: ReadonlyArray<FailureReason>;
  readonly lastReturns: ReadonlyArray<Scalars['Float']['output']>;
  readonly imageTotals: ImageTotals;
  readonly historyImages: HistoryImageConnection;
  readonly renderSpecs: ReadonlyArray<RenderSpec>;
  readonly successByDepth: ReadonlyArray<DepthTotals>;
  readonly evaluation?: Maybe<Evaluation>;
  readonly forkOf?: Maybe<ForkOrigin>;
  readonly forks: ReadonlyArray<Run>;
  readonly drift: Drift;
  readonly replays: ReadonlyArray<Replay>;
  readonly metrics: ReadonlyArray<Metric>;
  readonly publishedMetrics: ReadonlyArray<PublishedMetric>;
  readonly recorders: ReadonlyArray<Recorder>;
  readonly trees: TreeConnection;
  readonly rollouts: RolloutConnection;
  readonly trajectories: TrajectoryConnection;
  readonly revisions: RevisionConnection;
  readonly datasets: DatasetConnection;
};


export type RunFailuresArgs = {
  first?: Scalars['Int']['input'];
};


export type RunLastReturnsArgs = {
  last?: Scalars['Int']['input'];
};


export type RunHistoryImagesArgs = {
  orderBy?: HistoryImageOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type RunMetricsArgs = {
  name?: InputMaybe<Scalars['String']['input']>;
  last?: Scalars['Int']['input'];
};


export type RunTreesArgs = {
  filter?: InputMaybe<TreeFilter>;
  orderBy?: TreeOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type RunRolloutsArgs = {
  filter?: InputMaybe<RolloutFilter>;
  orderBy?: RolloutOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type RunTrajectoriesArgs = {
  filter?: InputMaybe<TrajectoryFilter>;
  orderBy?: TrajectoryOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type RunRevisionsArgs = {
  filter?: InputMaybe<RevisionFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type RunDatasetsArgs = {
  filter?: InputMaybe<DatasetFilter>;
  orderBy?: DatasetOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};

export type Recorder = {
  readonly id: Scalars['ID']['output'];
  readonly name: Scalars['String']['output'];
  readonly joinedAt: Scalars['DateTime']['output'];
  readonly leftAt?: Maybe<Scalars['DateTime']['output']>;
  readonly outcome?: Maybe<RunOutcome>;
  readonly message?: Maybe<Scalars['String']['output']>;
};

export type ForkOrigin = {
  readonly run?: Maybe<Run>;
  readonly tree?: Maybe<Tree>;
  readonly step?: Maybe<Step>;
};

export type RunEnvironment = {
  readonly environment: Scalars['String']['output'];
  readonly fingerprint: Scalars['String']['output'];
  readonly renderer?: Maybe<Renderer>;
};

export type Renderer = {
  readonly sha256: Scalars['String']['output'];
  readonly source: Scalars['String']['output'];
};

export type RunKind =
  | 'collect'
  | 'search'
  | 'import'
  | 'evaluate'
  | 'fork'
  | 'external';

export type RunOutcome =
  | 'completed'
  | 'failed'
  | 'cancelled';

export type PublishedMetric = {
  readonly name: Scalars['String']['output'];
  readonly value: Scalars['Float']['output'];
  readonly count: Scalars['SafeInt']['output'];
};

export type RunTotals = {
  readonly trees: Scalars['SafeInt']['output'];
  readonly closedTrees: Scalars['SafeInt']['output'];
  readonly rollouts: Scalars['SafeInt']['output'];
  readonly terminated: Scalars['SafeInt']['output'];
  readonly truncated: Scalars['SafeInt']['output'];
  readonly failed: Scalars['SafeInt']['output'];
  readonly cancelled: Scalars['SafeInt']['output'];
  readonly steps: Scalars['SafeInt']['output'];
  readonly successes: Scalars['SafeInt']['output'];
  readonly successRate?: Maybe<Scalars['Float']['output']>;
  readonly meanReturn?: Maybe<Scalars['Float']['output']>;
  readonly promptTokens: Scalars['SafeInt']['output'];
  readonly completionTokens: Scalars['SafeInt']['output'];
  readonly unclearCalls: Scalars['SafeInt']['output'];
};

export type RunActivity = {
  readonly events: Scalars['SafeInt']['output'];
  readonly lastEventAt?: Maybe<Scalars['DateTime']['output']>;
  readonly eventsPerSecond?: Maybe<Scalars['Float']['output']>;
};

export type FailureReason = {
  readonly reason: Scalars['String']['output'];
  readonly rollouts: Scalars['Int']['output'];
  readonly rolloutId: Scalars['ID']['output'];
  readonly treeId: Scalars['ID']['output'];
};

export type DepthTotals = {
  readonly taskDepth?: Maybe<Scalars['Int']['output']>;
  readonly trees: Scalars['SafeInt']['output'];
  readonly tasks: Scalars['SafeInt']['output'];
  readonly rollouts: Scalars['SafeInt']['output'];
  readonly finished: Scalars['SafeInt']['output'];
  readonly successes: Scalars['SafeInt']['output'];
  readonly successRate?: Maybe<Scalars['Float']['output']>;
  readonly meanReturn?: Maybe<Scalars['Float']['output']>;
  readonly meanSteps?: Maybe<Scalars['Float']['output']>;
  readonly maxSteps?: Maybe<Scalars['Int']['output']>;
};

export type Metric = {
  readonly eventId: Scalars['ID']['output'];
  readonly metric: Scalars['String']['output'];
  readonly value: Scalars['Float']['output'];
  readonly at?: Maybe<Scalars['SafeInt']['output']>;
  readonly weights?: Maybe<Scalars['String']['output']>;
  readonly occurredAt: Scalars['DateTime']['output'];
};

export type RunFilter = {
  readonly experiment?: InputMaybe<Scalars['ID']['input']>;
  readonly kind?: InputMaybe<RunKind>;
  readonly outcome?: InputMaybe<RunOutcome>;
  readonly running?: InputMaybe<Scalars['Boolean']['input']>;
  readonly environment?: InputMaybe<Scalars['String']['input']>;
  readonly policy?: InputMaybe<Scalars['String']['input']>;
  readonly text?: InputMaybe<Scalars['String']['input']>;
  readonly label?: InputMaybe<Scalars['String']['input']>;
  readonly started?: InputMaybe<TimeRange>;
};

export type RunOrder =
  | 'STARTED_ASC'
  | 'STARTED_DESC';

export type Step = {
  readonly id: Scalars['ID']['output'];
  readonly treeId: Scalars['ID']['output'];
  readonly tree?: Maybe<Tree>;
  readonly parentId?: Maybe<Scalars['ID']['output']>;
  readonly parent?: Maybe<Step>;
  readonly children: ReadonlyArray<Step>;
  readonly path: ReadonlyArray<Step>;
  readonly forgotten: Scalars['Boolean']['output'];
  readonly depth: Scalars['Int']['output'];
  readonly logOffset: Scalars['SafeInt']['output'];
  readonly rolloutId?: Maybe<Scalars['ID']['output']>;
  readonly rollout?: Maybe<Rollout>;
  readonly response: Scalars['String']['output'];
  readonly thought: Scalars['String']['output'];
  readonly reply?: Maybe<ReplyStructure>;
  readonly action: Scalars['String']['output'];
  readonly observation: Scalars['String']['output'];
  readonly wellFormatted: Scalars['Boolean']['output'];
  readonly executable: Scalars['Boolean']['output'];
  readonly termination: Termination;
  readonly estimate?: Maybe<StepEstimate>;
  readonly policySpans: ReadonlyArray<PolicySpan>;
  readonly tokens?: Maybe<Tokens>;
  readonly tokenTexts?: Maybe<ReadonlyArray<Scalars['String']['output']>>;
  readonly usage?: Maybe<Usage>;
  readonly finishReason?: Maybe<Scalars['String']['output']>;
  readonly call?: Maybe<ModelCall>;
  readonly captured?: Maybe<CapturedCall>;
  readonly timings: Timings;
  readonly stateHash?: Maybe<Scalars['String']['output']>;
  readonly admissibleActions?: Maybe<ReadonlyArray<Scalars['String']['output']>>;
  readonly occurredAt: Scalars['DateTime']['output'];
  readonly rewards: ReadonlyArray<Reward>;
  readonly statistics?: Maybe<SearchStatistics>;
  readonly toolCalls: ReadonlyArray<ToolCall>;
  readonly pictures: ReadonlyArray<Picture>;
  readonly historyImage?: Maybe<HistoryImage>;
  readonly prompt?: Maybe<Prompt>;
  readonly hasPrompt: Scalars['Boolean']['output'];
  readonly forks: ReadonlyArray<Run>;
  readonly divergences: ReadonlyArray<Divergence>;
  readonly annotations: ReadonlyArray<Annotation>;
  readonly largeTexts: ReadonlyArray<LargeText>;
};


export type StepPathArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['Int']['input']>;
};


export type StepEstimateArgs = {
  rewards?: RewardsOf;
};


export type StepRewardsArgs = {
  component?: InputMaybe<Scalars['String']['input']>;
};


export type StepStatisticsArgs = {
  asOfSimulation?: InputMaybe<Scalars['SafeInt']['input']>;
};

export type Termination =
  | 'none'
  | 'terminated'
  | 'truncated';

export type PolicySpan = {
  readonly from: Scalars['Int']['output'];
  readonly to: Scalars['Int']['output'];
  readonly policyId: Scalars['String']['output'];
  readonly version: Scalars['Int']['output'];
};

export type Tokens = {
  readonly ids: PackedArray;
  readonly logProbs?: Maybe<PackedArray>;
  readonly mask?: Maybe<PackedArray>;
  readonly ends?: Maybe<PackedArray>;
  readonly entropies?: Maybe<PackedArray>;
};

export type PackedArray = {
  readonly dtype: Scalars['String']['output'];
  readonly length: Scalars['Int']['output'];
  readonly base64: Scalars['String']['output'];
};

export type Usage = {
  readonly promptTokens: Scalars['Int']['output'];
  readonly completionTokens: Scalars['Int']['output'];
};

export type ModelCall = {
  readonly responseId?: Maybe<Scalars['String']['output']>;
  readonly model?: Maybe<Scalars['String']['output']>;
  readonly requestHash: Scalars['String']['output'];
  readonly attempts: Scalars['Int']['output'];
  readonly latencyMs: Scalars['Float']['output'];
  readonly usage?: Maybe<Usage>;
  readonly trimmed?: Maybe<Range>;
};

export type Range = {
  readonly from: Scalars['Int']['output'];
  readonly to: Scalars['Int']['output'];
};

export type Timings = {
  readonly policyMs: Scalars['Float']['output'];
  readonly environmentMs: Scalars['Float']['output'];
};

export type SearchStatistics = {
  readonly visits: Scalars['SafeInt']['output'];
  readonly valueSum: Scalars['Float']['output'];
  readonly value: Scalars['Float']['output'];
};

export type ToolCall = {
  readonly id: Scalars['ID']['output'];
  readonly stepId: Scalars['ID']['output'];
  readonly ordinal: Scalars['Int']['output'];
  readonly tool: Scalars['String']['output'];
  readonly arguments: Scalars['String']['output'];
  readonly output: Scalars['String']['output'];
  readonly outcome: ToolOutcome;
  readonly durationMs: Scalars['Float']['output'];
  readonly largeTexts: ReadonlyArray<LargeText>;
};

export type ToolOutcome =
  | 'ok'
  | 'error';

export type TrainedPolicy = {
  readonly id: Scalars['String']['output'];
  readonly estimator: TrainingMethod;
  readonly rules: Scalars['JSON']['output'];
  readonly seed: Scalars['SafeInt']['output'];
  readonly trainer?: Maybe<Scalars['JSON']['output']>;
  readonly declaredAt: Scalars['DateTime']['output'];
  readonly declaration: TrainingDeclaration;
  readonly waiting?: Maybe<TrainingWaiting>;
  readonly newest?: Maybe<PolicyUpdate>;
  readonly replays: ReadonlyArray<Replay>;
  readonly ledger: Ledger;
  readonly staleness: ReadonlyArray<StalenessBin>;
  readonly discarded: ReadonlyArray<DiscardedSamples>;
  readonly versions: PolicyUpdateConnection;
  readonly batches: BatchConnection;
};


export type TrainedPolicyDiscardedArgs = {
  by: DiscardedBy;
  first?: Scalars['Int']['input'];
};


export type TrainedPolicyVersionsArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type TrainedPolicyBatchesArgs = {
  state?: InputMaybe<BatchState>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};

export type TrainingDeclaration = {
  readonly backend?: Maybe<Scalars['String']['output']>;
  readonly preset?: Maybe<Scalars['String']['output']>;
  readonly torch?: Maybe<Scalars['JSON']['output']>;
  readonly estimator: ChosenMethod;
  readonly loss?: Maybe<ChosenMethod>;
  readonly aggregation?: Maybe<Scalars['String']['output']>;
  readonly lossScale?: Maybe<Scalars['Float']['output']>;
  readonly kl?: Maybe<Scalars['JSON']['output']>;
  readonly correction?: Maybe<Scalars['JSON']['output']>;
  readonly mismatch?: Maybe<Scalars['JSON']['output']>;
  readonly processRewards?: Maybe<Scalars['JSON']['output']>;
  readonly critic?: Maybe<Scalars['JSON']['output']>;
  readonly optimiser?: Maybe<Scalars['JSON']['output']>;
  readonly prompt?: Maybe<Scalars['JSON']['output']>;
  readonly groupSize?: Maybe<Scalars['Int']['output']>;
  readonly rules: Scalars['JSON']['output'];
  readonly seed: Scalars['SafeInt']['output'];
  readonly source: Scalars['JSON']['output'];
};

export type ChosenMethod = {
  readonly name: Scalars['String']['output'];
  readonly options: Scalars['JSON']['output'];
};

export type TrainingWaiting = {
  readonly for: WaitingFor;
  readonly next: Scalars['String']['output'];
  readonly openGroups: Scalars['SafeInt']['output'];
  readonly closedGroups: Scalars['SafeInt']['output'];
  readonly readyGroups: Scalars['SafeInt']['output'];
  readonly rejectedGroups: ReadonlyArray<RejectedGroups>;
};

export type RejectedGroups = {
  readonly reason: Scalars['String']['output'];
  readonly groups: Scalars['SafeInt']['output'];
};

export type WaitingFor =
  | 'declaration'
  | 'first_version'
  | 'lease'
  | 'runs'
  | 'planner'
  | 'scores'
  | 'greedy_sibling'
  | 'members'
  | 'groups'
  | 'tasks';

export type TrainingMethod = {
  readonly name: Scalars['String']['output'];
  readonly revision: Scalars['String']['output'];
  readonly mode?: Maybe<Scalars['JSON']['output']>;
};

export type Ledger = {
  readonly produced: Scalars['SafeInt']['output'];
  readonly trained: Scalars['SafeInt']['output'];
  readonly rejected: ReadonlyArray<RejectedSamples>;
  readonly abandoned: Scalars['SafeInt']['output'];
  readonly owed: OwedSamples;
  readonly difference: Scalars['SafeInt']['output'];
  readonly running: Scalars['SafeInt']['output'];
};

export type RejectedSamples = {
  readonly reason: Scalars['String']['output'];
  readonly samples: Scalars['SafeInt']['output'];
};

export type DiscardedBy =
  | 'TASK'
  | 'LENGTH'
  | 'VERSION';

export type DiscardedSamples = {
  readonly task?: Maybe<Task>;
  readonly tree?: Maybe<Tree>;
  readonly length?: Maybe<Range>;
  readonly version?: Maybe<Scalars['Int']['output']>;
  readonly produced: Scalars['SafeInt']['output'];
  readonly discarded: Scalars['SafeInt']['output'];
  readonly groups: Scalars['SafeInt']['output'];
  readonly reasons: ReadonlyArray<RejectedSamples>;
};

export type OwedSamples = {
  readonly group: Scalars['SafeInt']['output'];
  readonly ready: Scalars['SafeInt']['output'];
  readonly planned: Scalars['SafeInt']['output'];
  readonly leased: Scalars['SafeInt']['output'];
};

export type StalenessBin = {
  readonly staleness: Scalars['Int']['output'];
  readonly samples: Scalars['SafeInt']['output'];
};

export type PolicyUpdate = {
  readonly policyId: Scalars['String']['output'];
  readonly version: Scalars['Int']['output'];
  readonly parent?: Maybe<PolicyUpdate>;
  readonly batch?: Maybe<Batch>;
  readonly checkpointId: Scalars['ID']['output'];
  readonly weights: Scalars['String']['output'];
  readonly estimator?: Maybe<TrainingMethod>;
  readonly loss?: Maybe<TrainingMethod>;
  readonly samples: Scalars['SafeInt']['output'];
  readonly metrics: Scalars['JSON']['output'];
  readonly outcome?: Maybe<UpdateOutcome>;
  readonly actedIn: ReadonlyArray<Batch>;
  readonly updatedAt: Scalars['DateTime']['output'];
};


export type PolicyUpdateActedInArgs = {
  first?: Scalars['Int']['input'];
};

export type UpdateOutcome = {
  readonly successRate?: Maybe<Scalars['Float']['output']>;
  readonly meanReturn?: Maybe<Scalars['Float']['output']>;
  readonly staleness?: Maybe<Scalars['Float']['output']>;
  readonly sampledTokens: Scalars['SafeInt']['output'];
  readonly trainedMs?: Maybe<Scalars['Float']['output']>;
  readonly tokensPerSecond?: Maybe<Scalars['Float']['output']>;
};

export type Batch = {
  readonly id: Scalars['ID']['output'];
  readonly ordinal: Scalars['Int']['output'];
  readonly state: BatchState;
  readonly policyId: Scalars['String']['output'];
  readonly base: PolicyVersion;
  readonly update?: Maybe<PolicyUpdate>;
  readonly abandonment?: Maybe<BatchAbandonment>;
  readonly estimator: TrainingMethod;
  readonly rules: Scalars['JSON']['output'];
  readonly seed: Scalars['SafeInt']['output'];
  readonly position: Scalars['String']['output'];
  readonly groupCount: Scalars['Int']['output'];
  readonly sampleCount: Scalars['Int']['output'];
  readonly tokens: Scalars['SafeInt']['output'];
  readonly shards: Scalars['JSON']['output'];
  readonly previousHash?: Maybe<Scalars['String']['output']>;
  readonly manifestHash: Scalars['String']['output'];
  readonly plannedAt: Scalars['DateTime']['output'];
  readonly samples: ReadonlyArray<TrainingSample>;
  readonly leases: ReadonlyArray<BatchLease>;
  readonly staleness: ReadonlyArray<StalenessBin>;
  readonly actors: ReadonlyArray<BatchActor>;
  readonly estimates: BatchEstimates;
};


export type BatchSamplesArgs = {
  from?: Scalars['Int']['input'];
  first?: Scalars['Int']['input'];
};


export type BatchEstimatesArgs = {
  rewards?: RewardsOf;
};

export type BatchState =
  | 'planned'
  | 'leased'
  | 'trained'
  | 'abandoned';

export type BatchAbandonment = {
  readonly by: AbandonedBy;
  readonly reason: Scalars['String']['output'];
  readonly abandonedAt: Scalars['DateTime']['output'];
};

export type AbandonedBy =
  | 'trainer'
  | 'operator';

export type TrainingSample = {
  readonly rollout?: Maybe<Rollout>;
  readonly tree?: Maybe<Tree>;
  readonly state: SampleState;
  readonly reason?: Maybe<Scalars['String']['output']>;
  readonly rule?: Maybe<Scalars['String']['output']>;
  readonly measured?: Maybe<Scalars['Float']['output']>;
  readonly batch?: Maybe<Batch>;
  readonly place?: Maybe<Scalars['Int']['output']>;
  readonly oldestVersion?: Maybe<Scalars['Int']['output']>;
  readonly newestVersion?: Maybe<Scalars['Int']['output']>;
  readonly staleness?: Maybe<Scalars['Int']['output']>;
  readonly sampledTokens: Scalars['SafeInt']['output'];
  readonly contextTokens: Scalars['SafeInt']['output'];
  readonly scores: Scalars['JSON']['output'];
  readonly actors: ReadonlyArray<PolicyVersion>;
  readonly estimate?: Maybe<SampleEstimate>;
};


export type TrainingSampleEstimateArgs = {
  rewards?: RewardsOf;
};

export type SampleState =
  | 'trained'
  | 'rejected'
  | 'abandoned'
  | 'group'
  | 'ready'
  | 'planned'
  | 'leased';

export type BatchLease = {
  readonly id: Scalars['ID']['output'];
  readonly fence: Scalars['SafeInt']['output'];
  readonly consumer: Scalars['String']['output'];
  readonly deadline: Scalars['DateTime']['output'];
  readonly leasedAt: Scalars['DateTime']['output'];
  readonly endedAt?: Maybe<Scalars['DateTime']['output']>;
  readonly endedBy?: Maybe<LeaseEnd>;
  readonly endReason?: Maybe<Scalars['String']['output']>;
};

export type LeaseEnd =
  | 'expired'
  | 'returned'
  | 'acked'
  | 'abandoned';

export type Tree = {
  readonly id: Scalars['ID']['output'];
  readonly runId: Scalars['ID']['output'];
  readonly run?: Maybe<Run>;
  readonly task: Task;
  readonly instruction: Scalars['String']['output'];
  readonly plannedRollouts: Scalars['Int']['output'];
  readonly seed: Scalars['SafeInt']['output'];
  readonly openedAt: Scalars['DateTime']['output'];
  readonly closedAt?: Maybe<Scalars['DateTime']['output']>;
  readonly closeReason?: Maybe<Scalars['String']['output']>;
  readonly forgotten: Scalars['Boolean']['output'];
  readonly rootId: Scalars['ID']['output'];
  readonly root?: Maybe<Step>;
  readonly size: TreeSize;
  readonly returnVariance?: Maybe<Scalars['Float']['output']>;
  readonly steps: ReadonlyArray<Step>;
  readonly outline: TreeOutline;
  readonly leaves: ReadonlyArray<Step>;
  readonly rollouts: ReadonlyArray<Rollout>;
  readonly trajectories: TrajectoryConnection;
  readonly revisions: RevisionConnection;
  readonly judgements: ReadonlyArray<Judgement>;
  readonly calls: CapturedCallConnection;
  readonly simulations: Scalars['SafeInt']['output'];
  readonly divergences: ReadonlyArray<Divergence>;
  readonly annotations: ReadonlyArray<Annotation>;
  readonly largeTexts: ReadonlyArray<LargeText>;
  readonly datasets: DatasetConnection;
};


export type TreeStepsArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['SafeInt']['input']>;
};


export type TreeTrajectoriesArgs = {
  filter?: InputMaybe<TrajectoryFilter>;
  orderBy?: TrajectoryOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type TreeRevisionsArgs = {
  filter?: InputMaybe<RevisionFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type TreeCallsArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type TreeDatasetsArgs = {
  filter?: InputMaybe<DatasetFilter>;
  orderBy?: DatasetOrder;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};

export type Task = {
  readonly id: Scalars['ID']['output'];
  readonly environment: Scalars['String']['output'];
  readonly serverFingerprint: Scalars['String']['output'];
  readonly observationHash: Scalars['String']['output'];
  readonly alias: Scalars['String']['output'];
  readonly goal: Scalars['String']['output'];
  readonly depth?: Maybe<Scalars['Int']['output']>;
  readonly split?: Maybe<Scalars['String']['output']>;
  readonly kind?: Maybe<Scalars['String']['output']>;
  readonly totals: TaskTotals;
};

export type TaskTotals = {
  readonly runs: Scalars['SafeInt']['output'];
  readonly trees: Scalars['SafeInt']['output'];
  readonly rollouts: Scalars['SafeInt']['output'];
  readonly finished: Scalars['SafeInt']['output'];
  readonly successes: Scalars['SafeInt']['output'];
  readonly successRate?: Maybe<Scalars['Float']['output']>;
  readonly meanReturn?: Maybe<Scalars['Float']['output']>;
};

export type TreeSize = {
  readonly steps: Scalars['SafeInt']['output'];
  readonly depth: Scalars['Int']['output'];
  readonly leaves: Scalars['SafeInt']['output'];
};

export type Divergence = {
  readonly id: Scalars['ID']['output'];
  readonly stepId: Scalars['ID']['output'];
  readonly field: Scalars['String']['output'];
  readonly recorded: Scalars['String']['output'];
  readonly replayed: Scalars['String']['output'];
  readonly occurredAt: Scalars['DateTime']['output'];
  readonly largeTexts: ReadonlyArray<LargeText>;
};

export type TreeFilter = {
  readonly run?: InputMaybe<Scalars['ID']['input']>;
  readonly task?: InputMaybe<Scalars['ID']['input']>;
  readonly environment?: InputMaybe<Scalars['String']['input']>;
  readonly split?: InputMaybe<Scalars['String']['input']>;
  readonly taskDepth?: InputMaybe<Scalars['Int']['input']>;
  readonly taskKind?: InputMaybe<Scalars['String']['input']>;
  readonly closed?: InputMaybe<Scalars['Boolean']['input']>;
  readonly opened?: InputMaybe<TimeRange>;
  readonly dataset?: InputMaybe<Scalars['ID']['input']>;
};

export type TreeOrder =
  | 'OPENED_ASC'
  | 'OPENED_DESC'
  | 'RETURN_VARIANCE_DESC';

export type PageInfo = {
  readonly startCursor?: Maybe<Scalars['String']['output']>;
  readonly endCursor?: Maybe<Scalars['String']['output']>;
  readonly hasNextPage: Scalars['Boolean']['output'];
  readonly hasPreviousPage: Scalars['Boolean']['output'];
};

export type TimeRange = {
  readonly from?: InputMaybe<Scalars['DateTime']['input']>;
  readonly until?: InputMaybe<Scalars['DateTime']['input']>;
};

export type FloatRange = {
  readonly from?: InputMaybe<Scalars['Float']['input']>;
  readonly until?: InputMaybe<Scalars['Float']['input']>;
};

export type IntRange = {
  readonly from?: InputMaybe<Scalars['Int']['input']>;
  readonly until?: InputMaybe<Scalars['Int']['input']>;
};

export type PolicyVersion = {
  readonly id: Scalars['String']['output'];
  readonly version: Scalars['Int']['output'];
  readonly update?: Maybe<PolicyUpdate>;
};

export type LargeText = {
  readonly field: Scalars['String']['output'];
  readonly sha256: Scalars['String']['output'];
  readonly size: Scalars['SafeInt']['output'];
  readonly mediaType: Scalars['String']['output'];
  readonly text: Scalars['String']['output'];
};


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
  StepFilter: StepFilter;
  ID: ResolverTypeWrapper<Scalars['ID']['output']>;
  String: ResolverTypeWrapper<Scalars['String']['output']>;
  Int: ResolverTypeWrapper<Scalars['Int']['output']>;
  Boolean: ResolverTypeWrapper<Scalars['Boolean']['output']>;
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
  Float: ResolverTypeWrapper<Scalars['Float']['output']>;
  StepSums: ResolverTypeWrapper<StepSums>;
  ToolSums: ResolverTypeWrapper<ToolSums>;
  ComponentSums: ResolverTypeWrapper<ComponentSums>;
  RunComparison: ResolverTypeWrapper<RunComparisonModel>;
  PairedDifference: ResolverTypeWrapper<PairedComparison>;
  TrajectoryDivergence: ResolverTypeWrapper<TrajectoryDivergenceModel>;
  DivergenceKind: DivergenceKind;
  Mutation: ResolverTypeWrapper<Root>;
  NewAnnotation: NewAnnotation;
  NewFeedback: NewFeedback;
  FeedbackRecorded: ResolverTypeWrapper<FeedbackRecorded>;
  DatasetRow: DatasetRow;
  AnnotationsRecorded: ResolverTypeWrapper<AnnotationsRecordedModel>;
  Annotation: ResolverTypeWrapper<AnnotationRecord>;
  AnnotatedKind: AnnotatedKind;
  AnnotationFilter: AnnotationFilter;
  AnnotatedFilter: AnnotatedFilter;
  AnnotationOrder: AnnotationOrder;
  LabelCount: ResolverTypeWrapper<LabelCount>;
  AnnotationConnection: ResolverTypeWrapper<Connection<AnnotationRecord>>;
  AnnotationEdge: ResolverTypeWrapper<Omit<AnnotationEdge, 'node'> & { node: ResolversTypes['Annotation'] }>;
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
  StepConnection: ResolverTypeWrapper<StepMatches>;
  BoundedCount: ResolverTypeWrapper<BoundedCount>;
  StepEdge: ResolverTypeWrapper<StepMatch>;
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
  ProjectionState: ProjectionState;
  PartitionLag: ResolverTypeWrapper<PartitionLag>;
  Anomaly: ResolverTypeWrapper<AnomalyRecord>;
  AnomalyKind: AnomalyKind;
  QuarantinedRecord: ResolverTypeWrapper<QuarantineRecord>;
  AnomalyFilter: AnomalyFilter;
  QuarantineFilter: QuarantineFilter;
  RequeuedEvent: ResolverTypeWrapper<RequeuedEvent>;
  RequeueOutcome: RequeueOutcome;
  Verification: ResolverTypeWrapper<StoredVerification>;
  VerificationCounts: ResolverTypeWrapper<VerificationCounts>;
  VerificationFault: ResolverTypeWrapper<VerificationFault>;
  VerificationConnection: ResolverTypeWrapper<Connection<StoredVerification>>;
  VerificationEdge: ResolverTypeWrapper<Omit<VerificationEdge, 'node'> & { node: ResolversTypes['Verification'] }>;
  TreeOutline: ResolverTypeWrapper<Outline>;
  OutlineBackUps: ResolverTypeWrapper<OutlineBackUpsModel>;
  Project: ResolverTypeWrapper<Project>;
  Viewer: ResolverTypeWrapper<Viewer>;
  Prompt: ResolverTypeWrapper<PromptModel>;
  PromptAnswer: ResolverTypeWrapper<Omit<PromptAnswer, 'tokens'> & { tokens?: Maybe<ResolversTypes['Tokens']> }>;
  PromptMessage: ResolverTypeWrapper<PromptMessageModel>;
  PromptPart: ResolverTypeWrapper<PromptPartModel>;
  RequestedTool: ResolverTypeWrapper<RequestedToolModel>;
  ReplyStructure: ResolverTypeWrapper<Omit<ReplyStructure, 'toolCalls'> & { toolCalls: ReadonlyArray<ResolversTypes['RequestedTool']> }>;
  PromptTemplate: ResolverTypeWrapper<PromptTemplate>;
  Sampling: ResolverTypeWrapper<Sampling>;
  SamplingParameter: ResolverTypeWrapper<SamplingParameter>;
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
  Recorder: ResolverTypeWrapper<Recorder>;
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
  TrainingWaiting: ResolverTypeWrapper<WaitingReason>;
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
  StepFilter: StepFilter;
  ID: Scalars['ID']['output'];
  String: Scalars['String']['output'];
  Int: Scalars['Int']['output'];
  Boolean: Scalars['Boolean']['output'];
  TextSearch: TextSearch;
  RewardFilter: RewardFilter;
  Highlight: Highlight;
  ToolCallFilter: ToolCallFilter;
  SampleFilter: SampleFilter;
  TaskFilter: TaskFilter;
  AggregateFilter: AggregateFilter;
  Aggregate: AggregateModel;
  RolloutSums: RolloutSums;
  Float: Scalars['Float']['output'];
  StepSums: StepSums;
  ToolSums: ToolSums;
  ComponentSums: ComponentSums;
  RunComparison: RunComparisonModel;
  PairedDifference: PairedComparison;
  TrajectoryDivergence: TrajectoryDivergenceModel;
  Mutation: Root;
  NewAnnotation: NewAnnotation;
  NewFeedback: NewFeedback;
  FeedbackRecorded: FeedbackRecorded;
  DatasetRow: DatasetRow;
  AnnotationsRecorded: AnnotationsRecordedModel;
  Annotation: AnnotationRecord;
  AnnotationFilter: AnnotationFilter;
  AnnotatedFilter: AnnotatedFilter;
  LabelCount: LabelCount;
  AnnotationConnection: Connection<AnnotationRecord>;
  AnnotationEdge: Omit<AnnotationEdge, 'node'> & { node: ResolversParentTypes['Annotation'] };
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
  StepConnection: StepMatches;
  BoundedCount: BoundedCount;
  StepEdge: StepMatch;
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
  RequeuedEvent: RequeuedEvent;
  Verification: StoredVerification;
  VerificationCounts: VerificationCounts;
  VerificationFault: VerificationFault;
  VerificationConnection: Connection<StoredVerification>;
  VerificationEdge: Omit<VerificationEdge, 'node'> & { node: ResolversParentTypes['Verification'] };
  TreeOutline: Outline;
  OutlineBackUps: OutlineBackUpsModel;
  Project: Project;
  Viewer: Viewer;
  Prompt: PromptModel;
  PromptAnswer: Omit<PromptAnswer, 'tokens'> & { tokens?: Maybe<ResolversParentTypes['Tokens']> };
  PromptMessage: PromptMessageModel;
  PromptPart: PromptPartModel;
  RequestedTool: RequestedToolModel;
  ReplyStructure: Omit<ReplyStructure, 'toolCalls'> & { toolCalls: ReadonlyArray<ResolversParentTypes['RequestedTool']> };
  PromptTemplate: PromptTemplate;
  Sampling: Sampling;
  SamplingParameter: SamplingParameter;
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
  Recorder: Recorder;
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
  TrainingWaiting: WaitingReason;
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

export type MutationResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Mutation'] = ResolversParentTypes['Mutation']> = {
  annotate?: Resolver<ResolversTypes['AnnotationsRecorded'], ParentType, ContextType, RequireFields<MutationAnnotateArgs, 'annotations'>>;
  retractAnnotations?: Resolver<ResolversTypes['AnnotationsRecorded'], ParentType, ContextType, RequireFields<MutationRetractAnnotationsArgs, 'ids' | 'reason'>>;
  giveFeedback?: Resolver<ResolversTypes['FeedbackRecorded'], ParentType, ContextType, RequireFields<MutationGiveFeedbackArgs, 'feedback'>>;
  requeue?: Resolver<ReadonlyArray<ResolversTypes['RequeuedEvent']>, ParentType, ContextType, RequireFields<MutationRequeueArgs, 'places' | 'reason'>>;
};

export type FeedbackRecordedResolvers<ContextType = Context, ParentType extends ResolversParentTypes['FeedbackRecorded'] = ResolversParentTypes['FeedbackRecorded']> = {
  ids?: Resolver<ReadonlyArray<ResolversTypes['ID']>, ParentType, ContextType>;
  position?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
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
  namedTokens?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
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
  unshaped?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
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
  unshaped?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
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
  unshaped?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
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
  requeuedAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  requeuedOffset?: Resolver<Maybe<ResolversTypes['SafeInt']>, ParentType, ContextType>;
};

export type RequeuedEventResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RequeuedEvent'] = ResolversParentTypes['RequeuedEvent']> = {
  projection?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  place?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  appended?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  outcome?: Resolver<ResolversTypes['RequeueOutcome'], ParentType, ContextType>;
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
  toolCallId?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  name?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  parts?: Resolver<ReadonlyArray<ResolversTypes['PromptPart']>, ParentType, ContextType>;
};

export type PromptPartResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PromptPart'] = ResolversParentTypes['PromptPart']> = {
  text?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  reasoning?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  toolCall?: Resolver<Maybe<ResolversTypes['RequestedTool']>, ParentType, ContextType>;
  image?: Resolver<Maybe<ResolversTypes['HistoryImage']>, ParentType, ContextType>;
  picture?: Resolver<Maybe<ResolversTypes['Picture']>, ParentType, ContextType>;
};

export type RequestedToolResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RequestedTool'] = ResolversParentTypes['RequestedTool']> = {
  id?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  arguments?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type ReplyStructureResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ReplyStructure'] = ResolversParentTypes['ReplyStructure']> = {
  reasoning?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  toolCalls?: Resolver<ReadonlyArray<ResolversTypes['RequestedTool']>, ParentType, ContextType>;
};

export type PromptTemplateResolvers<ContextType = Context, ParentType extends ResolversParentTypes['PromptTemplate'] = ResolversParentTypes['PromptTemplate']> = {
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  version?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type SamplingResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Sampling'] = ResolversParentTypes['Sampling']> = {
  temperature?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  topP?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  topK?: Resolver<Maybe<ResolversTypes['SafeInt']>, ParentType, ContextType>;
  minP?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  repetitionPenalty?: Resolver<Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  maxTokens?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  stop?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
  seed?: Resolver<Maybe<ResolversTypes['SafeInt']>, ParentType, ContextType>;
  others?: Resolver<ReadonlyArray<ResolversTypes['SamplingParameter']>, ParentType, ContextType>;
};

export type SamplingParameterResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SamplingParameter'] = ResolversParentTypes['SamplingParameter']> = {
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  value?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
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
  requeuedFrom?: Resolver<Maybe<ResolversTypes['SafeInt']>, ParentType, ContextType>;
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
  unclearCalls?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
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
  recorders?: Resolver<ReadonlyArray<ResolversTypes['Recorder']>, ParentType, ContextType>;
  trees?: Resolver<ResolversTypes['TreeConnection'], ParentType, ContextType, RequireFields<RunTreesArgs, 'orderBy'>>;
  rollouts?: Resolver<ResolversTypes['RolloutConnection'], ParentType, ContextType, RequireFields<RunRolloutsArgs, 'orderBy'>>;
  trajectories?: Resolver<ResolversTypes['TrajectoryConnection'], ParentType, ContextType, RequireFields<RunTrajectoriesArgs, 'orderBy'>>;
  revisions?: Resolver<ResolversTypes['RevisionConnection'], ParentType, ContextType, Partial<RunRevisionsArgs>>;
  datasets?: Resolver<ResolversTypes['DatasetConnection'], ParentType, ContextType, RequireFields<RunDatasetsArgs, 'orderBy'>>;
};

export type RecorderResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Recorder'] = ResolversParentTypes['Recorder']> = {
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  joinedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  leftAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  outcome?: Resolver<Maybe<ResolversTypes['RunOutcome']>, ParentType, ContextType>;
  message?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
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
  unclearCalls?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
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
  treeId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
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
  weights?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
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
  reply?: Resolver<Maybe<ResolversTypes['ReplyStructure']>, ParentType, ContextType>;
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
  mismatch?: Resolver<Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
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
  Highlight?: HighlightResolvers<ContextType>;
  Aggregate?: AggregateResolvers<ContextType>;
  RolloutSums?: RolloutSumsResolvers<ContextType>;
  StepSums?: StepSumsResolvers<ContextType>;
  ToolSums?: ToolSumsResolvers<ContextType>;
  ComponentSums?: ComponentSumsResolvers<ContextType>;
  RunComparison?: RunComparisonResolvers<ContextType>;
  PairedDifference?: PairedDifferenceResolvers<ContextType>;
  TrajectoryDivergence?: TrajectoryDivergenceResolvers<ContextType>;
  Mutation?: MutationResolvers<ContextType>;
  FeedbackRecorded?: FeedbackRecordedResolvers<ContextType>;
  AnnotationsRecorded?: AnnotationsRecordedResolvers<ContextType>;
  Annotation?: AnnotationResolvers<ContextType>;
  LabelCount?: LabelCountResolvers<ContextType>;
  AnnotationConnection?: AnnotationConnectionResolvers<ContextType>;
  AnnotationEdge?: AnnotationEdgeResolvers<ContextType>;
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
  RequeuedEvent?: RequeuedEventResolvers<ContextType>;
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
  RequestedTool?: RequestedToolResolvers<ContextType>;
  ReplyStructure?: ReplyStructureResolvers<ContextType>;
  PromptTemplate?: PromptTemplateResolvers<ContextType>;
  Sampling?: SamplingResolvers<ContextType>;
  SamplingParameter?: SamplingParameterResolvers<ContextType>;
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
  Recorder?: RecorderResolvers<ContextType>;
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
