// Written by graphql/codegen-studio.ts from studio/src/**/*.graphql; `npm run codegen` writes it again.
import type { Operation } from '../operation.ts';
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
export type StepFilter = {
  readonly text?: TextSearch | null | undefined;
  readonly run?: string | null | undefined;
  readonly tree?: string | null | undefined;
  readonly task?: string | null | undefined;
  readonly rollout?: string | null | undefined;
  readonly environment?: string | null | undefined;
  readonly split?: string | null | undefined;
  readonly taskDepth?: number | null | undefined;
  readonly taskKind?: string | null | undefined;
  readonly action?: string | null | undefined;
  readonly tool?: string | null | undefined;
  readonly reward?: RewardFilter | null | undefined;
  readonly verdict?: Verdict | null | undefined;
  readonly return?: FloatRange | null | undefined;
  readonly annotated?: AnnotatedFilter | null | undefined;
  readonly sampleState?: SampleState | null | undefined;
  readonly sampleReason?: string | null | undefined;
  readonly policy?: string | null | undefined;
  readonly policyVersion?: number | null | undefined;
  readonly depth?: IntRange | null | undefined;
  readonly termination?: Termination | null | undefined;
  readonly wellFormatted?: boolean | null | undefined;
  readonly executable?: boolean | null | undefined;
};

export type TextSearch = {
  readonly words: string;
  readonly in?: ReadonlyArray<TextField> | null | undefined;
};

export type TextField =
  | 'observation'
  | 'action'
  | 'thought';

export type RewardFilter = {
  readonly component?: string | null | undefined;
  readonly value?: FloatRange | null | undefined;
};

export type DivergenceKind =
  | 'action'
  | 'observation'
  | 'end';

export type NewAnnotation = {
  readonly id?: string | null | undefined;
  readonly step?: string | null | undefined;
  readonly rollout?: string | null | undefined;
  readonly revision?: string | null | undefined;
  readonly tree?: string | null | undefined;
  readonly inTree?: string | null | undefined;
  readonly row?: DatasetRow | null | undefined;
  readonly label?: string | null | undefined;
  readonly score?: number | null | undefined;
  readonly note?: string;
};

export type DatasetRow = {
  readonly dataset: string;
  readonly line: number;
};

export type AnnotatedKind =
  | 'step'
  | 'rollout'
  | 'revision'
  | 'row'
  | 'tree';

export type AnnotationFilter = {
  readonly run?: string | null | undefined;
  readonly tree?: string | null | undefined;
  readonly kind?: AnnotatedKind | null | undefined;
  readonly step?: string | null | undefined;
  readonly rollout?: string | null | undefined;
  readonly revision?: string | null | undefined;
  readonly dataset?: string | null | undefined;
  readonly label?: string | null | undefined;
  readonly by?: string | null | undefined;
  readonly score?: FloatRange | null | undefined;
  readonly retracted?: boolean | null | undefined;
};

export type AnnotatedFilter = {
  readonly has?: boolean;
  readonly label?: string | null | undefined;
  readonly by?: string | null | undefined;
  readonly score?: FloatRange | null | undefined;
};

export type DatasetExampleKind =
  | 'good'
  | 'revision'
  | 'pair';

export type HistoryImageOrder =
  | 'TREE'
  | 'VISION_TOKENS_DESC'
  | 'FACTOR_DESC';

export type HistoryKind =
  | 'segments'
  | 'blank'
  | 'absent';

export type BuildState =
  | 'building'
  | 'kept';

export type ProjectionState =
  | 'running'
  | 'stopped';

export type AnomalyKind =
  | 'duplicate'
  | 'gap'
  | 'reordered'
  | 'superseded';

export type RequeueOutcome =
  | 'requeued'
  | 'refused'
  | 'pending';

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

export type RevisionState =
  | 'composed'
  | 'verified'
  | 'rejected';

export type Verdict =
  | 'good'
  | 'bad'
  | 'uncertain'
  | 'unparsed';

export type RevisionFilter = {
  readonly state?: RevisionState | null | undefined;
  readonly judge?: string | null | undefined;
  readonly dataset?: string | null | undefined;
};

export type RolloutOutcome =
  | 'terminated'
  | 'truncated'
  | 'failed'
  | 'cancelled';

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

export type RunFilter = {
  readonly experiment?: string | null | undefined;
  readonly kind?: RunKind | null | undefined;
  readonly outcome?: RunOutcome | null | undefined;
  readonly running?: boolean | null | undefined;
  readonly environment?: string | null | undefined;
  readonly policy?: string | null | undefined;
  readonly text?: string | null | undefined;
  readonly label?: string | null | undefined;
  readonly started?: TimeRange | null | undefined;
};

export type Termination =
  | 'none'
  | 'terminated'
  | 'truncated';

export type ToolOutcome =
  | 'ok'
  | 'error';

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

export type DiscardedBy =
  | 'TASK'
  | 'LENGTH'
  | 'VERSION';

export type SampleState =
  | 'trained'
  | 'rejected'
  | 'abandoned'
  | 'group'
  | 'ready'
  | 'planned'
  | 'leased';

export type LeaseEnd =
  | 'expired'
  | 'returned'
  | 'acked'
  | 'abandoned';

export type TreeOrder =
  | 'OPENED_ASC'
  | 'OPENED_DESC'
  | 'RETURN_VARIANCE_DESC';

export type TimeRange = {
  readonly from?: string | null | undefined;
  readonly until?: string | null | undefined;
};

export type FloatRange = {
  readonly from?: number | null | undefined;
  readonly until?: number | null | undefined;
};

export type IntRange = {
  readonly from?: number | null | undefined;
  readonly until?: number | null | undefined;
};

export type AnnotationShownFragment = { readonly id: string, readonly treeId: string, readonly kind: AnnotatedKind, readonly label: string | null, readonly score: number | null, readonly note: string, readonly principal: string, readonly author: string | null, readonly addedAt: string };

export type AnnotateMutationVariables = Exact<{
  annotations: ReadonlyArray<NewAnnotation> | NewAnnotation;
}>;


export type AnnotateMutation = { readonly annotate: { readonly ids: ReadonlyArray<string> } };

export type RetractAnnotationsMutationVariables = Exact<{
  ids: ReadonlyArray<string> | string;
  tree?: string | null | undefined;
  reason: string;
}>;


export type RetractAnnotationsMutation = { readonly retractAnnotations: { readonly ids: ReadonlyArray<string> } };

export type ViewerQueryVariables = Exact<{ [key: string]: never; }>;


export type ViewerQuery = { readonly viewer: { readonly principal: string, readonly name: string, readonly scopes: ReadonlyArray<string> } };

export type LabelsQueryVariables = Exact<{ [key: string]: never; }>;


export type LabelsQuery = { readonly annotationLabels: ReadonlyArray<{ readonly label: string, readonly count: number }> };

export type ReviewQueueQueryVariables = Exact<{
  filter: StepFilter;
  first: number;
  after?: string | null | undefined;
}>;


export type ReviewQueueQuery = { readonly steps: { readonly pageInfo: { readonly endCursor: string | null, readonly hasNextPage: boolean }, readonly nodes: ReadonlyArray<{ readonly id: string, readonly treeId: string, readonly depth: number, readonly rolloutId: string | null, readonly thought: string, readonly action: string, readonly response: string, readonly observation: string, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }>, readonly rewards: ReadonlyArray<{ readonly id: string, readonly component: string, readonly value: number }>, readonly rollout: { readonly id: string, readonly return: number | null } | null, readonly annotations: ReadonlyArray<{ readonly id: string, readonly treeId: string, readonly kind: AnnotatedKind, readonly label: string | null, readonly score: number | null, readonly note: string, readonly principal: string, readonly author: string | null, readonly addedAt: string }>, readonly tree: { readonly id: string, readonly task: { readonly alias: string, readonly goal: string } } | null }> } };

export type LatestAnnotationsQueryVariables = Exact<{
  filter: AnnotationFilter;
  first: number;
  after?: string | null | undefined;
}>;


export type LatestAnnotationsQuery = { readonly annotations: { readonly totalCount: number, readonly pageInfo: { readonly endCursor: string | null, readonly hasNextPage: boolean }, readonly nodes: ReadonlyArray<{ readonly treeId: string, readonly stepId: string | null, readonly rolloutId: string | null, readonly revisionId: string | null, readonly datasetId: string | null, readonly line: number | null, readonly id: string, readonly kind: AnnotatedKind, readonly label: string | null, readonly score: number | null, readonly note: string, readonly principal: string, readonly author: string | null, readonly addedAt: string, readonly step: { readonly id: string, readonly depth: number, readonly rolloutId: string | null } | null, readonly tree: { readonly id: string, readonly task: { readonly alias: string, readonly goal: string } } | null }> } };

export type ComparePageQueryVariables = Exact<{
  runs: ReadonlyArray<string> | string;
}>;


export type ComparePageQuery = { readonly compare: ReadonlyArray<{ readonly tasks: number, readonly unpaired: number, readonly run: { readonly id: string, readonly name: string, readonly policy: { readonly id: string, readonly version: number } | null, readonly totals: { readonly successes: number, readonly successRate: number | null, readonly meanReturn: number | null, readonly terminated: number, readonly truncated: number, readonly failed: number, readonly cancelled: number } }, readonly baseline: { readonly id: string, readonly name: string, readonly policy: { readonly id: string, readonly version: number } | null, readonly totals: { readonly successes: number, readonly successRate: number | null, readonly meanReturn: number | null, readonly terminated: number, readonly truncated: number, readonly failed: number, readonly cancelled: number } }, readonly success: { readonly tasks: number, readonly baselineMean: number, readonly mean: number, readonly difference: number, readonly better: number, readonly worse: number, readonly equal: number, readonly interval: { readonly low: number, readonly high: number } } | null, readonly return: { readonly tasks: number, readonly baselineMean: number, readonly mean: number, readonly difference: number, readonly better: number, readonly worse: number, readonly equal: number, readonly interval: { readonly low: number, readonly high: number } } | null }> };

export type DifferenceShownFragment = { readonly tasks: number, readonly baselineMean: number, readonly mean: number, readonly difference: number, readonly better: number, readonly worse: number, readonly equal: number, readonly interval: { readonly low: number, readonly high: number } };

export type RunComparedFragment = { readonly id: string, readonly name: string, readonly policy: { readonly id: string, readonly version: number } | null, readonly totals: { readonly successes: number, readonly successRate: number | null, readonly meanReturn: number | null, readonly terminated: number, readonly truncated: number, readonly failed: number, readonly cancelled: number } };

export type DatasetsQueryVariables = Exact<{
  first: number;
}>;


export type DatasetsQuery = { readonly datasets: { readonly totalCount: number, readonly nodes: ReadonlyArray<{ readonly id: string, readonly name: string, readonly version: number, readonly format: string, readonly counts: unknown, readonly bytes: number, readonly releasedAt: string, readonly withdrawnAt: string | null, readonly withdrawReason: string | null }> } };

export type DatasetPageQueryVariables = Exact<{
  id: string;
  first: number;
  after?: string | null | undefined;
}>;


export type DatasetPageQuery = { readonly dataset: { readonly id: string, readonly name: string, readonly version: number, readonly format: string, readonly formatVersion: number, readonly query: unknown, readonly parameters: unknown, readonly counts: unknown, readonly bytes: number, readonly sha256: string, readonly releasedAt: string, readonly withdrawnAt: string | null, readonly withdrawReason: string | null, readonly runs: ReadonlyArray<{ readonly id: string, readonly name: string }>, readonly policies: ReadonlyArray<{ readonly id: string, readonly version: number }>, readonly examples: { readonly totalCount: number, readonly pageInfo: { readonly endCursor: string | null, readonly hasNextPage: boolean }, readonly nodes: ReadonlyArray<{ readonly line: number, readonly kind: DatasetExampleKind, readonly treeId: string, readonly annotations: ReadonlyArray<{ readonly id: string, readonly treeId: string, readonly kind: AnnotatedKind, readonly label: string | null, readonly score: number | null, readonly note: string, readonly principal: string, readonly author: string | null, readonly addedAt: string }>, readonly tree: { readonly id: string, readonly task: { readonly alias: string, readonly goal: string } } | null, readonly trajectory: { readonly id: string, readonly return: number | null } | null, readonly badTrajectory: { readonly id: string, readonly return: number | null } | null, readonly revision: { readonly id: string, readonly state: RevisionState } | null }> } } | null };

export type DatasetRowQueryVariables = Exact<{
  dataset: string;
  line: number;
  characters: number;
}>;


export type DatasetRowQuery = { readonly dataset: { readonly id: string, readonly examples: { readonly nodes: ReadonlyArray<{ readonly line: number, readonly lines: number, readonly text: { readonly text: string, readonly length: number } | null }> } } | null };

export type DiffSideQueryVariables = Exact<{
  id: string;
  tree?: string | null | undefined;
}>;


export type DiffSideQuery = { readonly rollout: { readonly id: string, readonly treeId: string, readonly ordinal: number, readonly leafId: string | null, readonly outcome: RolloutOutcome | null, readonly success: boolean | null, readonly return: number | null, readonly policy: { readonly id: string, readonly version: number }, readonly run: { readonly id: string, readonly name: string, readonly forkOf: { readonly run: { readonly id: string } | null } | null } | null, readonly tree: { readonly id: string, readonly task: { readonly id: string, readonly alias: string, readonly goal: string } } | null } | null };

export type DiffPathQueryVariables = Exact<{
  leaf: string;
  tree?: string | null | undefined;
}>;


export type DiffPathQuery = { readonly path: ReadonlyArray<{ readonly id: string, readonly depth: number, readonly thought: string, readonly action: string, readonly observation: string, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }>, readonly rewards: ReadonlyArray<{ readonly id: string, readonly component: string, readonly value: number }> }> };

export type StepComparedFragment = { readonly id: string, readonly depth: number, readonly thought: string, readonly action: string, readonly observation: string, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }>, readonly rewards: ReadonlyArray<{ readonly id: string, readonly component: string, readonly value: number }> };

export type DiffCandidatesQueryVariables = Exact<{
  task: string;
  first: number;
}>;


export type DiffCandidatesQuery = { readonly rollouts: { readonly totalCount: number, readonly nodes: ReadonlyArray<{ readonly id: string, readonly ordinal: number, readonly treeId: string, readonly return: number | null, readonly outcome: RolloutOutcome | null, readonly policy: { readonly id: string, readonly version: number }, readonly run: { readonly id: string, readonly name: string, readonly forkOf: { readonly run: { readonly id: string } | null } | null } | null }> } };

export type DiffReplaysQueryVariables = Exact<{
  tree: string;
}>;


export type DiffReplaysQuery = { readonly tree: { readonly id: string, readonly divergences: ReadonlyArray<{ readonly id: string, readonly stepId: string, readonly field: string, readonly recorded: string, readonly replayed: string, readonly occurredAt: string, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }> }>, readonly run: { readonly id: string, readonly replays: ReadonlyArray<{ readonly id: string, readonly mode: ReplayMode, readonly outcome: ReplayOutcome, readonly compared: number, readonly differing: number, readonly finishedAt: string, readonly notes: ReadonlyArray<string>, readonly differences: ReadonlyArray<{ readonly stepId: string | null, readonly field: string, readonly recorded: string, readonly replayed: string }> }> } | null } | null };

export type DivergenceQueryVariables = Exact<{
  a: string;
  b: string;
  aTree?: string | null | undefined;
  bTree?: string | null | undefined;
}>;


export type DivergenceQuery = { readonly divergence: { readonly depth: number, readonly kind: DivergenceKind, readonly a: { readonly id: string, readonly action: string, readonly observation: string } | null, readonly b: { readonly id: string, readonly action: string, readonly observation: string } | null } | null };

export type DiscardedPageQueryVariables = Exact<{
  id: string;
  by: DiscardedBy;
  first: number;
}>;


export type DiscardedPageQuery = { readonly policy: { readonly id: string, readonly ledger: { readonly produced: number, readonly abandoned: number, readonly rejected: ReadonlyArray<{ readonly reason: string, readonly samples: number }> }, readonly discarded: ReadonlyArray<{ readonly version: number | null, readonly produced: number, readonly discarded: number, readonly groups: number, readonly task: { readonly id: string, readonly alias: string, readonly goal: string } | null, readonly tree: { readonly id: string } | null, readonly length: { readonly from: number, readonly to: number } | null, readonly reasons: ReadonlyArray<{ readonly reason: string, readonly samples: number }> }> } | null };

export type DiscardedSamplesQueryVariables = Exact<{
  policy: string;
  state: SampleState;
  reason?: string | null | undefined;
  first: number;
  after?: string | null | undefined;
}>;


export type DiscardedSamplesQuery = { readonly samples: { readonly pageInfo: { readonly endCursor: string | null, readonly hasNextPage: boolean }, readonly nodes: ReadonlyArray<{ readonly reason: string | null, readonly rule: string | null, readonly measured: number | null, readonly oldestVersion: number | null, readonly batch: { readonly ordinal: number, readonly abandonment: { readonly reason: string } | null } | null, readonly rollout: { readonly id: string, readonly treeId: string, readonly ordinal: number, readonly return: number | null, readonly stepCount: number | null } | null, readonly tree: { readonly id: string, readonly task: { readonly alias: string, readonly goal: string } } | null }> } };

export type FindStepsQueryVariables = Exact<{
  filter: StepFilter;
  first: number;
  after?: string | null | undefined;
}>;


export type FindStepsQuery = { readonly steps: { readonly pageInfo: { readonly endCursor: string | null, readonly hasNextPage: boolean }, readonly edges: ReadonlyArray<{ readonly highlights: ReadonlyArray<{ readonly field: TextField, readonly text: string }>, readonly node: { readonly id: string, readonly treeId: string, readonly depth: number, readonly action: string, readonly observation: string, readonly termination: Termination, readonly rolloutId: string | null, readonly rewards: ReadonlyArray<{ readonly id: string, readonly component: string, readonly value: number }>, readonly tree: { readonly id: string, readonly task: { readonly alias: string, readonly goal: string } } | null } }> } };

export type GroupPageQueryVariables = Exact<{
  id: string;
}>;


export type GroupPageQuery = { readonly tree: { readonly id: string, readonly runId: string, readonly closedAt: string | null, readonly closeReason: string | null, readonly plannedRollouts: number, readonly returnVariance: number | null, readonly run: { readonly id: string, readonly name: string } | null, readonly task: { readonly alias: string, readonly goal: string, readonly depth: number | null, readonly split: string | null, readonly environment: string }, readonly rollouts: ReadonlyArray<{ readonly id: string, readonly treeId: string, readonly ordinal: number, readonly outcome: RolloutOutcome | null, readonly success: boolean | null, readonly return: number | null, readonly stepCount: number | null, readonly reason: string | null, readonly finishedAt: string | null, readonly policy: { readonly id: string, readonly version: number }, readonly trajectory: { readonly returns: ReadonlyArray<{ readonly component: string, readonly value: number }> } | null, readonly sample: { readonly state: SampleState, readonly reason: string | null, readonly rule: string | null, readonly measured: number | null, readonly staleness: number | null, readonly batch: { readonly id: string, readonly ordinal: number, readonly policyId: string, readonly update: { readonly version: number } | null, readonly estimator: { readonly name: string } } | null, readonly estimate: { readonly return: number, readonly advantage: number | null } | null } | null }> } | null };

export type PartingQueryVariables = Exact<{
  a: string;
  b: string;
  tree?: string | null | undefined;
}>;


export type PartingQuery = { readonly divergence: { readonly depth: number, readonly kind: DivergenceKind } | null };

export type ImagesPageQueryVariables = Exact<{
  id: string;
}>;


export type ImagesPageQuery = { readonly run: { readonly id: string, readonly name: string, readonly imageTotals: { readonly steps: number, readonly images: number, readonly visionTokens: number, readonly textTokens: number, readonly saved: number, readonly hitRate: number | null, readonly meanFactor: number | null, readonly cutSegments: number } } | null, readonly aggregate: ReadonlyArray<{ readonly key: string, readonly policy: { readonly id: string, readonly version: number } | null, readonly images: { readonly steps: number, readonly visionTokens: number, readonly textTokens: number, readonly saved: number, readonly meanFactor: number | null }, readonly rollouts: { readonly rollouts: number, readonly successRate: number | null } }> };

export type CompressionOfPolicyQueryVariables = Exact<{
  policy: string;
}>;


export type CompressionOfPolicyQuery = { readonly aggregate: ReadonlyArray<{ readonly key: string, readonly policy: { readonly id: string, readonly version: number } | null, readonly images: { readonly steps: number, readonly visionTokens: number, readonly textTokens: number, readonly saved: number, readonly meanFactor: number | null }, readonly rollouts: { readonly rollouts: number, readonly successRate: number | null } }> };

export type CompressionOfVersionFragment = { readonly key: string, readonly policy: { readonly id: string, readonly version: number } | null, readonly images: { readonly steps: number, readonly visionTokens: number, readonly textTokens: number, readonly saved: number, readonly meanFactor: number | null }, readonly rollouts: { readonly rollouts: number, readonly successRate: number | null } };

export type RunImagesQueryVariables = Exact<{
  id: string;
  first: number;
  after?: string | null | undefined;
  orderBy: HistoryImageOrder;
}>;


export type RunImagesQuery = { readonly run: { readonly id: string, readonly historyImages: { readonly totalCount: number, readonly pageInfo: { readonly endCursor: string | null, readonly hasNextPage: boolean }, readonly nodes: ReadonlyArray<{ readonly id: string, readonly url: string, readonly stepId: string, readonly width: number, readonly height: number, readonly factor: number, readonly visionTokens: number, readonly textTokens: number, readonly history: HistoryKind, readonly step: { readonly id: string, readonly treeId: string, readonly depth: number } | null }> } } | null };

export type ImageAtFactorsQueryVariables = Exact<{
  step: string;
  tree?: string | null | undefined;
  factors: ReadonlyArray<number> | number;
}>;


export type ImageAtFactorsQuery = { readonly step: { readonly id: string, readonly depth: number, readonly rolloutId: string | null, readonly treeId: string, readonly historyImage: { readonly id: string, readonly url: string, readonly width: number, readonly height: number, readonly factor: number, readonly textTokens: number, readonly tokenizer: string, readonly visionPreset: string, readonly atFactors: ReadonlyArray<{ readonly factor: number, readonly shown: boolean, readonly url: string, readonly width: number, readonly height: number, readonly visionTokens: number, readonly saved: number, readonly linePixels: number | null, readonly legibility: number | null }> | null } | null } | null };

export type LineageNodeQueryVariables = Exact<{
  id: string;
  tree?: string | null | undefined;
  whole: boolean;
}>;


export type LineageNodeQuery = { readonly trace: { readonly kind: string, readonly id: string, readonly title: string, readonly madeBy?: { readonly total: number, readonly first: ReadonlyArray<{ readonly eventId: string, readonly type: string, readonly place: string }> }, readonly from: ReadonlyArray<{ readonly relation: string, readonly total: number, readonly first: ReadonlyArray<{ readonly id: string, readonly text: string }> }>, readonly usedBy: ReadonlyArray<{ readonly relation: string, readonly total: number, readonly first: ReadonlyArray<{ readonly id: string, readonly text: string }> }>, readonly touched?: { readonly datasetsTotal: number, readonly batchesTotal: number, readonly versionsTotal: number, readonly evaluationsTotal: number, readonly datasets: ReadonlyArray<{ readonly datasetId: string, readonly name: string, readonly version: number }>, readonly batches: ReadonlyArray<{ readonly batchId: string, readonly policyId: string, readonly ordinal: number }>, readonly versions: ReadonlyArray<{ readonly policyId: string, readonly version: number }>, readonly evaluations: ReadonlyArray<{ readonly runId: string, readonly policyId: string, readonly version: number, readonly meanReturn: number | null }> } | null } | null };

export type LineagePageQueryVariables = Exact<{
  id: string;
  tree?: string | null | undefined;
}>;


export type LineagePageQuery = { readonly trace: { readonly kind: string, readonly id: string, readonly title: string, readonly madeBy: { readonly total: number, readonly first: ReadonlyArray<{ readonly eventId: string, readonly type: string, readonly place: string, readonly occurredAt: string, readonly envelope: unknown }> }, readonly from: ReadonlyArray<{ readonly relation: string, readonly total: number, readonly first: ReadonlyArray<{ readonly id: string, readonly text: string }> }>, readonly usedBy: ReadonlyArray<{ readonly relation: string, readonly total: number, readonly first: ReadonlyArray<{ readonly id: string, readonly text: string }> }>, readonly touched: { readonly runsTotal: number, readonly trees: number, readonly rollouts: number, readonly datasetsTotal: number, readonly batchesTotal: number, readonly versionsTotal: number, readonly evaluationsTotal: number, readonly datasets: ReadonlyArray<{ readonly datasetId: string, readonly name: string, readonly version: number, readonly examples: number | null, readonly withdrawn: boolean }>, readonly batches: ReadonlyArray<{ readonly batchId: string, readonly policyId: string, readonly ordinal: number, readonly samples: number, readonly trained: boolean }>, readonly versions: ReadonlyArray<{ readonly policyId: string, readonly version: number, readonly how: string }>, readonly evaluations: ReadonlyArray<{ readonly runId: string, readonly policyId: string, readonly version: number, readonly meanReturn: number | null, readonly how: string }> } | null } | null };

export type LinksShownFragment = { readonly relation: string, readonly total: number, readonly first: ReadonlyArray<{ readonly id: string, readonly text: string }> };

export type OperationsPageQueryVariables = Exact<{ [key: string]: never; }>;


export type OperationsPageQuery = { readonly position: string, readonly lag: ReadonlyArray<{ readonly projection: string, readonly version: number, readonly build: number, readonly state: ProjectionState, readonly reason: string | null, readonly lag: number, readonly partitions: ReadonlyArray<{ readonly topic: string, readonly partition: number, readonly end: number, readonly lag: number }>, readonly builds: ReadonlyArray<{ readonly version: number, readonly build: number, readonly state: BuildState, readonly done: number | null, readonly of: number | null, readonly secondsLeft: number | null }> }>, readonly quarantine: { readonly totalCount: number, readonly nodes: ReadonlyArray<{ readonly projection: string, readonly topic: string, readonly partition: number, readonly offset: number, readonly type: string | null, readonly code: string, readonly field: string, readonly reason: string, readonly quarantinedAt: string, readonly requeuedAt: string | null }> }, readonly anomalies: { readonly totalCount: number, readonly nodes: ReadonlyArray<{ readonly topic: string, readonly partition: number, readonly offset: number, readonly kind: AnomalyKind, readonly detail: string }> } };

export type LeasesQueryVariables = Exact<{ [key: string]: never; }>;


export type LeasesQuery = { readonly policies: ReadonlyArray<{ readonly id: string, readonly batches: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly ordinal: number, readonly sampleCount: number, readonly leases: ReadonlyArray<{ readonly id: string, readonly fence: number, readonly consumer: string, readonly leasedAt: string, readonly deadline: string, readonly endedAt: string | null }> }> } }> };

export type ReplaysQueryVariables = Exact<{
  first: number;
  after?: string | null | undefined;
}>;


export type ReplaysQuery = { readonly replays: { readonly totalCount: number, readonly nodes: ReadonlyArray<{ readonly id: string, readonly mode: ReplayMode, readonly outcome: ReplayOutcome, readonly compared: number, readonly differing: number, readonly notes: ReadonlyArray<string>, readonly parameters: unknown, readonly codeVersion: string, readonly seconds: number, readonly finishedAt: string, readonly runId: string, readonly differences: ReadonlyArray<{ readonly eventId: string | null, readonly stepId: string | null, readonly field: string, readonly recorded: string, readonly replayed: string }>, readonly run: { readonly id: string, readonly name: string } | null }>, readonly pageInfo: { readonly endCursor: string | null, readonly hasNextPage: boolean } } };

export type VerificationsQueryVariables = Exact<{
  first: number;
  after?: string | null | undefined;
}>;


export type VerificationsQuery = { readonly verifications: { readonly totalCount: number, readonly nodes: ReadonlyArray<{ readonly id: string, readonly finishedAt: string, readonly seconds: number, readonly codeVersion: string, readonly intact: boolean, readonly faulty: number, readonly doubtful: number, readonly foreign: number, readonly counts: { readonly events: number, readonly records: number | null, readonly blobs: number, readonly batches: number, readonly checkpoints: number, readonly files: number, readonly prompts: number, readonly anchored: number | null }, readonly faults: ReadonlyArray<{ readonly what: string, readonly kind: string, readonly place: string }> }>, readonly pageInfo: { readonly endCursor: string | null, readonly hasNextPage: boolean } } };

export type RequeueMutationVariables = Exact<{
  places: ReadonlyArray<string> | string;
  reason: string;
}>;


export type RequeueMutation = { readonly requeue: ReadonlyArray<{ readonly projection: string, readonly place: string, readonly appended: string | null, readonly outcome: RequeueOutcome, readonly reason: string | null }> };

export type PageSubjectQueryVariables = Exact<{
  id: string;
  tree?: string | null | undefined;
}>;


export type PageSubjectQuery = { readonly run: { readonly id: string } | null, readonly tree: { readonly id: string } | null, readonly rollout: { readonly id: string, readonly treeId: string } | null };

export type PageStepsQueryVariables = Exact<{
  tree: string;
  first: number;
  after?: number | null | undefined;
}>;


export type PageStepsQuery = { readonly tree: { readonly id: string, readonly steps: ReadonlyArray<{ readonly logOffset: number, readonly treeId: string, readonly id: string, readonly depth: number, readonly parentId: string | null, readonly rolloutId: string | null, readonly thought: string, readonly action: string, readonly response: string, readonly observation: string, readonly wellFormatted: boolean, readonly executable: boolean, readonly termination: Termination, readonly stateHash: string | null, readonly occurredAt: string, readonly hasPrompt: boolean, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }>, readonly reply: { readonly reasoning: boolean, readonly toolCalls: ReadonlyArray<{ readonly id: string | null, readonly name: string, readonly arguments: string | null }> } | null, readonly timings: { readonly policyMs: number, readonly environmentMs: number }, readonly tokens: { readonly ids: { readonly length: number } } | null, readonly annotations: ReadonlyArray<{ readonly id: string, readonly treeId: string, readonly kind: AnnotatedKind, readonly label: string | null, readonly score: number | null, readonly note: string, readonly principal: string, readonly author: string | null, readonly addedAt: string }>, readonly rewards: ReadonlyArray<{ readonly id: string, readonly component: string, readonly value: number, readonly assignedValue: number, readonly revisionCount: number, readonly scorer: { readonly name: string, readonly revision: string } }>, readonly toolCalls: ReadonlyArray<{ readonly id: string, readonly ordinal: number, readonly tool: string, readonly arguments: string, readonly output: string, readonly outcome: ToolOutcome, readonly durationMs: number, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }> }>, readonly pictures: ReadonlyArray<{ readonly id: string, readonly url: string, readonly width: number, readonly height: number }>, readonly historyImage: { readonly id: string, readonly factor: number, readonly visionTokens: number, readonly textTokens: number } | null }> } | null };

export type PageStepsWithPromptsQueryVariables = Exact<{
  tree: string;
  first: number;
  after?: number | null | undefined;
}>;


export type PageStepsWithPromptsQuery = { readonly tree: { readonly id: string, readonly steps: ReadonlyArray<{ readonly logOffset: number, readonly treeId: string, readonly id: string, readonly tokenTexts: ReadonlyArray<string> | null, readonly depth: number, readonly parentId: string | null, readonly rolloutId: string | null, readonly thought: string, readonly action: string, readonly response: string, readonly observation: string, readonly wellFormatted: boolean, readonly executable: boolean, readonly termination: Termination, readonly stateHash: string | null, readonly occurredAt: string, readonly hasPrompt: boolean, readonly prompt: { readonly sha256: string, readonly tools: string | null, readonly model: string | null, readonly server: string | null, readonly template: { readonly name: string, readonly version: number } | null, readonly sampling: { readonly temperature: number | null, readonly topP: number | null, readonly topK: number | null, readonly minP: number | null, readonly repetitionPenalty: number | null, readonly maxTokens: number | null, readonly others: ReadonlyArray<{ readonly name: string, readonly value: string }> }, readonly messages: ReadonlyArray<{ readonly role: string, readonly toolCallId: string | null, readonly name: string | null, readonly parts: ReadonlyArray<{ readonly text: string | null, readonly reasoning: string | null, readonly toolCall: { readonly id: string | null, readonly name: string, readonly arguments: string | null } | null, readonly image: { readonly id: string, readonly url: string, readonly width: number, readonly height: number, readonly factor: number, readonly visionTokens: number, readonly textTokens: number, readonly saved: number, readonly cutLines: number, readonly cutSegments: number, readonly unshaped: number, readonly raw: { readonly width: number, readonly height: number }, readonly resized: { readonly width: number, readonly height: number }, readonly renderSpec: { readonly spec: unknown } | null, readonly segments: ReadonlyArray<{ readonly id: string, readonly place: number, readonly hit: boolean, readonly text: string | null, readonly height: number | null, readonly forgotten: boolean, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }> }> } | null, readonly picture: { readonly id: string, readonly url: string, readonly width: number, readonly height: number } | null }> }> } | null, readonly historyImage: { readonly id: string, readonly factor: number, readonly visionTokens: number, readonly textTokens: number, readonly url: string, readonly width: number, readonly height: number, readonly saved: number, readonly cutLines: number, readonly cutSegments: number, readonly unshaped: number, readonly raw: { readonly width: number, readonly height: number }, readonly resized: { readonly width: number, readonly height: number }, readonly renderSpec: { readonly spec: unknown } | null, readonly segments: ReadonlyArray<{ readonly id: string, readonly place: number, readonly hit: boolean, readonly text: string | null, readonly height: number | null, readonly forgotten: boolean, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }> }> } | null, readonly tokens: { readonly ids: { readonly length: number, readonly dtype: string, readonly base64: string }, readonly logProbs: { readonly dtype: string, readonly length: number, readonly base64: string } | null, readonly mask: { readonly dtype: string, readonly length: number, readonly base64: string } | null, readonly entropies: { readonly dtype: string, readonly length: number, readonly base64: string } | null } | null, readonly policySpans: ReadonlyArray<{ readonly from: number, readonly to: number, readonly policyId: string, readonly version: number }>, readonly estimate: { readonly advantage: number | null, readonly value: number | null, readonly target: number | null, readonly tokenAdvantages: ReadonlyArray<number> | null, readonly newLogProbs: ReadonlyArray<number> | null } | null, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }>, readonly reply: { readonly reasoning: boolean, readonly toolCalls: ReadonlyArray<{ readonly id: string | null, readonly name: string, readonly arguments: string | null }> } | null, readonly timings: { readonly policyMs: number, readonly environmentMs: number }, readonly annotations: ReadonlyArray<{ readonly id: string, readonly treeId: string, readonly kind: AnnotatedKind, readonly label: string | null, readonly score: number | null, readonly note: string, readonly principal: string, readonly author: string | null, readonly addedAt: string }>, readonly rewards: ReadonlyArray<{ readonly id: string, readonly component: string, readonly value: number, readonly assignedValue: number, readonly revisionCount: number, readonly scorer: { readonly name: string, readonly revision: string } }>, readonly toolCalls: ReadonlyArray<{ readonly id: string, readonly ordinal: number, readonly tool: string, readonly arguments: string, readonly output: string, readonly outcome: ToolOutcome, readonly durationMs: number, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }> }>, readonly pictures: ReadonlyArray<{ readonly id: string, readonly url: string, readonly width: number, readonly height: number }> }> } | null };

export type StepInPageFragment = { readonly logOffset: number, readonly treeId: string, readonly id: string, readonly depth: number, readonly parentId: string | null, readonly rolloutId: string | null, readonly thought: string, readonly action: string, readonly response: string, readonly observation: string, readonly wellFormatted: boolean, readonly executable: boolean, readonly termination: Termination, readonly stateHash: string | null, readonly occurredAt: string, readonly hasPrompt: boolean, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }>, readonly reply: { readonly reasoning: boolean, readonly toolCalls: ReadonlyArray<{ readonly id: string | null, readonly name: string, readonly arguments: string | null }> } | null, readonly timings: { readonly policyMs: number, readonly environmentMs: number }, readonly tokens: { readonly ids: { readonly length: number } } | null, readonly annotations: ReadonlyArray<{ readonly id: string, readonly treeId: string, readonly kind: AnnotatedKind, readonly label: string | null, readonly score: number | null, readonly note: string, readonly principal: string, readonly author: string | null, readonly addedAt: string }>, readonly rewards: ReadonlyArray<{ readonly id: string, readonly component: string, readonly value: number, readonly assignedValue: number, readonly revisionCount: number, readonly scorer: { readonly name: string, readonly revision: string } }>, readonly toolCalls: ReadonlyArray<{ readonly id: string, readonly ordinal: number, readonly tool: string, readonly arguments: string, readonly output: string, readonly outcome: ToolOutcome, readonly durationMs: number, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }> }>, readonly pictures: ReadonlyArray<{ readonly id: string, readonly url: string, readonly width: number, readonly height: number }>, readonly historyImage: { readonly id: string, readonly factor: number, readonly visionTokens: number, readonly textTokens: number } | null };

export type TreeNamedFragment = { readonly id: string, readonly task: { readonly alias: string, readonly goal: string } };

export type PageEndsFragment = { readonly endCursor: string | null, readonly hasNextPage: boolean };

export type RenderedTaskQueryVariables = Exact<{
  tree: string;
}>;


export type RenderedTaskQuery = { readonly tree: { readonly id: string, readonly instruction: string, readonly task: { readonly environment: string, readonly alias: string, readonly goal: string }, readonly run: { readonly id: string, readonly environments: ReadonlyArray<{ readonly environment: string, readonly renderer: { readonly sha256: string, readonly source: string } | null }> } | null } | null };

export type RenderedPathQueryVariables = Exact<{
  leaf: string;
  tree?: string | null | undefined;
}>;


export type RenderedPathQuery = { readonly path: ReadonlyArray<{ readonly id: string, readonly depth: number, readonly action: string, readonly thought: string, readonly observation: string, readonly executable: boolean, readonly termination: Termination, readonly stateHash: string | null, readonly rewards: ReadonlyArray<{ readonly id: string, readonly component: string, readonly value: number }>, readonly toolCalls: ReadonlyArray<{ readonly id: string, readonly tool: string, readonly arguments: string, readonly output: string, readonly outcome: ToolOutcome }> }> };

export type GroupLeavesQueryVariables = Exact<{
  id: string;
}>;


export type GroupLeavesQuery = { readonly tree: { readonly id: string, readonly rollouts: ReadonlyArray<{ readonly id: string, readonly ordinal: number, readonly leafId: string | null }> } | null };

export type StepRenderedFragment = { readonly id: string, readonly depth: number, readonly action: string, readonly thought: string, readonly observation: string, readonly executable: boolean, readonly termination: Termination, readonly stateHash: string | null, readonly rewards: ReadonlyArray<{ readonly id: string, readonly component: string, readonly value: number }>, readonly toolCalls: ReadonlyArray<{ readonly id: string, readonly tool: string, readonly arguments: string, readonly output: string, readonly outcome: ToolOutcome }> };

export type RevisionPageQueryVariables = Exact<{
  id: string;
  tree?: string | null | undefined;
}>;


export type RevisionPageQuery = { readonly revision: { readonly id: string, readonly treeId: string, readonly runId: string, readonly cause: string, readonly judged: number, readonly reflection: string, readonly signal: string, readonly alpha: number, readonly beta: number, readonly judge: string, readonly state: RevisionState, readonly reached: number | null, readonly threshold: number | null, readonly reason: string | null, readonly detail: string | null, readonly tree: { readonly id: string, readonly instruction: string, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }>, readonly root: { readonly id: string, readonly observation: string, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }> } | null, readonly task: { readonly alias: string, readonly goal: string }, readonly run: { readonly id: string, readonly name: string } | null } | null, readonly goodLeaf: { readonly id: string, readonly rolloutId: string | null } | null, readonly badLeaf: { readonly id: string, readonly rolloutId: string | null } | null, readonly transition: { readonly id: string, readonly depth: number } | null, readonly rejectedAt: { readonly id: string, readonly depth: number } | null, readonly judgements: ReadonlyArray<{ readonly id: string, readonly stepId: string, readonly verdict: Verdict, readonly reply: string, readonly reusedFrom: string | null, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }>, readonly step: { readonly id: string, readonly depth: number, readonly action: string, readonly observation: string, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }> } | null }>, readonly turns: ReadonlyArray<{ readonly part: string, readonly stepId: string | null, readonly response: string, readonly observation: string, readonly loss: boolean, readonly responseTokens: ReadonlyArray<string> | null, readonly observationTokens: ReadonlyArray<string> | null }> | null, readonly datasets: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly name: string, readonly version: number }> } } | null };

export type RunRevisionsQueryVariables = Exact<{
  id: string;
  first: number;
  filter?: RevisionFilter | null | undefined;
}>;


export type RunRevisionsQuery = { readonly run: { readonly id: string, readonly revisions: { readonly totalCount: number, readonly nodes: ReadonlyArray<{ readonly id: string, readonly treeId: string, readonly cause: string, readonly state: RevisionState, readonly reason: string | null, readonly reached: number | null, readonly threshold: number | null, readonly judge: string, readonly tree: { readonly id: string, readonly task: { readonly alias: string, readonly goal: string } } | null }> } } | null };

export type RunPageQueryVariables = Exact<{
  id: string;
}>;


export type RunPageQuery = { readonly run: { readonly id: string, readonly name: string, readonly kind: RunKind, readonly codeVersion: string, readonly config: unknown, readonly project: string | null, readonly owner: string | null, readonly startedAt: string, readonly finishedAt: string | null, readonly outcome: RunOutcome | null, readonly message: string | null, readonly forgotten: boolean, readonly policy: { readonly id: string, readonly version: number } | null, readonly environments: ReadonlyArray<{ readonly environment: string, readonly fingerprint: string }>, readonly forkOf: { readonly run: { readonly id: string, readonly name: string } | null } | null, readonly forks: ReadonlyArray<{ readonly id: string, readonly name: string }>, readonly totals: { readonly trees: number, readonly closedTrees: number, readonly rollouts: number, readonly terminated: number, readonly truncated: number, readonly failed: number, readonly cancelled: number, readonly steps: number, readonly successes: number, readonly successRate: number | null, readonly meanReturn: number | null, readonly unclearCalls: number, readonly lostParts: number }, readonly successByDepth: ReadonlyArray<{ readonly taskDepth: number | null, readonly tasks: number, readonly finished: number, readonly successes: number, readonly meanReturn: number | null, readonly meanSteps: number | null }>, readonly imageTotals: { readonly steps: number, readonly visionTokens: number, readonly textTokens: number, readonly saved: number, readonly hitRate: number | null, readonly meanFactor: number | null } } | null };

export type RunTreesQueryVariables = Exact<{
  id: string;
  first: number;
  after?: string | null | undefined;
  orderBy: TreeOrder;
}>;


export type RunTreesQuery = { readonly trees: { readonly totalCount: number, readonly pageInfo: { readonly endCursor: string | null, readonly hasNextPage: boolean }, readonly nodes: ReadonlyArray<{ readonly id: string, readonly closedAt: string | null, readonly simulations: number, readonly returnVariance: number | null, readonly size: { readonly steps: number, readonly depth: number }, readonly task: { readonly alias: string, readonly goal: string, readonly depth: number | null }, readonly rollouts: ReadonlyArray<{ readonly id: string, readonly ordinal: number, readonly outcome: RolloutOutcome | null, readonly success: boolean | null, readonly return: number | null, readonly stepCount: number | null, readonly reason: string | null }> }> } };

export type RunComponentsQueryVariables = Exact<{
  ids: ReadonlyArray<string> | string;
}>;


export type RunComponentsQuery = { readonly aggregate: ReadonlyArray<{ readonly key: string, readonly components: ReadonlyArray<{ readonly component: string, readonly rewards: number, readonly mean: number, readonly min: number, readonly max: number }>, readonly steps: { readonly steps: number, readonly wellFormatted: number, readonly executable: number, readonly promptTokens: number, readonly completionTokens: number, readonly policyMs: number, readonly environmentMs: number }, readonly tools: { readonly calls: number, readonly errors: number } }> };

export type RunFailuresQueryVariables = Exact<{
  id: string;
}>;


export type RunFailuresQuery = { readonly succeeded: { readonly totalCount: number, readonly nodes: ReadonlyArray<{ readonly id: string, readonly treeId: string, readonly ordinal: number, readonly tree: { readonly id: string, readonly task: { readonly alias: string, readonly goal: string } } | null }> }, readonly without: { readonly totalCount: number, readonly nodes: ReadonlyArray<{ readonly id: string, readonly treeId: string, readonly ordinal: number, readonly tree: { readonly id: string, readonly task: { readonly alias: string, readonly goal: string } } | null }> }, readonly ended: { readonly totalCount: number }, readonly truncated: { readonly totalCount: number, readonly nodes: ReadonlyArray<{ readonly id: string, readonly treeId: string, readonly ordinal: number, readonly tree: { readonly id: string, readonly task: { readonly alias: string, readonly goal: string } } | null }> }, readonly rollouts: { readonly totalCount: number, readonly nodes: ReadonlyArray<{ readonly id: string, readonly treeId: string, readonly outcome: RolloutOutcome | null, readonly reason: string | null }> } };

export type RunLengthsQueryVariables = Exact<{
  id: string;
  first: number;
}>;


export type RunLengthsQuery = { readonly rollouts: { readonly totalCount: number, readonly nodes: ReadonlyArray<{ readonly id: string, readonly treeId: string, readonly ordinal: number, readonly stepCount: number | null, readonly return: number | null, readonly success: boolean | null, readonly outcome: RolloutOutcome | null, readonly policy: { readonly id: string, readonly version: number } }> } };

export type EndedFragment = { readonly totalCount: number, readonly nodes: ReadonlyArray<{ readonly id: string, readonly treeId: string, readonly ordinal: number, readonly tree: { readonly id: string, readonly task: { readonly alias: string, readonly goal: string } } | null }> };

export type RunsQueryVariables = Exact<{
  filter?: RunFilter | null | undefined;
  first: number;
  after?: string | null | undefined;
}>;


export type RunsQuery = { readonly runs: { readonly pageInfo: { readonly endCursor: string | null, readonly hasNextPage: boolean }, readonly nodes: ReadonlyArray<{ readonly id: string, readonly name: string, readonly kind: RunKind, readonly startedAt: string, readonly finishedAt: string | null, readonly outcome: RunOutcome | null, readonly message: string | null, readonly lastReturns: ReadonlyArray<number>, readonly policy: { readonly id: string, readonly version: number } | null, readonly environments: ReadonlyArray<{ readonly environment: string }>, readonly totals: { readonly trees: number, readonly closedTrees: number, readonly rollouts: number, readonly terminated: number, readonly truncated: number, readonly failed: number, readonly cancelled: number, readonly steps: number, readonly successes: number, readonly successRate: number | null, readonly meanReturn: number | null, readonly promptTokens: number, readonly completionTokens: number }, readonly activity: { readonly events: number, readonly lastEventAt: string | null, readonly eventsPerSecond: number | null }, readonly failures: ReadonlyArray<{ readonly reason: string, readonly rollouts: number, readonly rolloutId: string, readonly treeId: string }> }> } };

export type RunFiltersQueryVariables = Exact<{ [key: string]: never; }>;


export type RunFiltersQuery = { readonly policies: ReadonlyArray<{ readonly id: string }>, readonly annotationLabels: ReadonlyArray<{ readonly label: string }> };

export type BehindTheLogQueryVariables = Exact<{ [key: string]: never; }>;


export type BehindTheLogQuery = { readonly lag: ReadonlyArray<{ readonly projection: string, readonly state: ProjectionState, readonly lag: number }> };

export type LiveSubscriptionVariables = Exact<{
  after?: string | null | undefined;
  run?: string | null | undefined;
}>;


export type LiveSubscription = { readonly events: { readonly position: string, readonly type: string, readonly runId: string } };

export type StateQueryVariables = Exact<{ [key: string]: never; }>;


export type StateQuery = { readonly position: string, readonly viewer: { readonly name: string, readonly scopes: ReadonlyArray<string> }, readonly lag: ReadonlyArray<{ readonly projection: string, readonly state: ProjectionState, readonly lag: number }> };

export type PoliciesQueryVariables = Exact<{ [key: string]: never; }>;


export type PoliciesQuery = { readonly policies: ReadonlyArray<{ readonly id: string, readonly declaredAt: string, readonly estimator: { readonly name: string }, readonly newest: { readonly version: number } | null }> };

export type PolicyPageQueryVariables = Exact<{
  id: string;
  first: number;
}>;


export type PolicyPageQuery = { readonly policy: { readonly id: string, readonly declaredAt: string, readonly estimator: { readonly name: string }, readonly declaration: { readonly backend: string | null, readonly preset: string | null, readonly rules: unknown, readonly kl: unknown, readonly loss: { readonly name: string } | null }, readonly versions: { readonly nodes: ReadonlyArray<{ readonly version: number, readonly samples: number, readonly metrics: unknown, readonly batch: { readonly id: string, readonly ordinal: number } | null }> } } | null };

export type PolicyOutcomesQueryVariables = Exact<{
  id: string;
  first: number;
}>;


export type PolicyOutcomesQuery = { readonly policy: { readonly id: string, readonly versions: { readonly nodes: ReadonlyArray<{ readonly version: number, readonly outcome: { readonly successRate: number | null, readonly meanReturn: number | null, readonly staleness: number | null, readonly tokensPerSecond: number | null } | null }> } } | null };

export type PolicyWaitingQueryVariables = Exact<{
  id: string;
}>;


export type PolicyWaitingQuery = { readonly policy: { readonly id: string, readonly waiting: { readonly for: WaitingFor, readonly next: string, readonly openGroups: number, readonly closedGroups: number, readonly readyGroups: number, readonly rejectedGroups: ReadonlyArray<{ readonly reason: string, readonly groups: number }> } | null } | null };

export type PolicyLedgerQueryVariables = Exact<{
  id: string;
}>;


export type PolicyLedgerQuery = { readonly policy: { readonly id: string, readonly ledger: { readonly produced: number, readonly trained: number, readonly abandoned: number, readonly difference: number, readonly rejected: ReadonlyArray<{ readonly reason: string, readonly samples: number }>, readonly owed: { readonly group: number, readonly ready: number, readonly planned: number, readonly leased: number } } } | null };

export type VersionBatchQueryVariables = Exact<{
  id: string;
}>;


export type VersionBatchQuery = { readonly batch: { readonly id: string, readonly ordinal: number, readonly policyId: string, readonly groupCount: number, readonly sampleCount: number, readonly tokens: number, readonly plannedAt: string, readonly leases: ReadonlyArray<{ readonly id: string, readonly consumer: string, readonly endedBy: LeaseEnd | null }>, readonly samples: ReadonlyArray<{ readonly place: number | null, readonly staleness: number | null, readonly sampledTokens: number, readonly rollout: { readonly id: string, readonly treeId: string, readonly ordinal: number, readonly return: number | null, readonly success: boolean | null, readonly stepCount: number | null } | null, readonly tree: { readonly id: string, readonly task: { readonly alias: string, readonly goal: string } } | null }> } | null };

export type LargeTextsNamedFragment = { readonly field: string, readonly sha256: string, readonly size: number };

export type LargeTextsPartFragment = { readonly field: string, readonly text: string | null };

export type StepTextQueryVariables = Exact<{
  id: string;
  offset: number;
  length: number;
  tree?: string | null | undefined;
}>;


export type StepTextQuery = { readonly step: { readonly id: string, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly text: string | null }> } | null };

export type TreeTextQueryVariables = Exact<{
  id: string;
  offset: number;
  length: number;
}>;


export type TreeTextQuery = { readonly tree: { readonly id: string, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly text: string | null }> } | null };

export type ToolCallTextsQueryVariables = Exact<{
  id: string;
  offset: number;
  length: number;
  tree?: string | null | undefined;
}>;


export type ToolCallTextsQuery = { readonly step: { readonly id: string, readonly toolCalls: ReadonlyArray<{ readonly id: string, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly text: string | null }> }> } | null };

export type SegmentTextsQueryVariables = Exact<{
  id: string;
  offset: number;
  length: number;
  tree?: string | null | undefined;
}>;


export type SegmentTextsQuery = { readonly step: { readonly id: string, readonly historyImage: { readonly id: string, readonly segments: ReadonlyArray<{ readonly id: string, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly text: string | null }> }> } | null } | null };

export type JudgementTextsQueryVariables = Exact<{
  id: string;
  offset: number;
  length: number;
  tree?: string | null | undefined;
}>;


export type JudgementTextsQuery = { readonly revision: { readonly id: string, readonly judgements: ReadonlyArray<{ readonly id: string, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly text: string | null }> }> } | null };

export type TrajectoryPageQueryVariables = Exact<{
  id: string;
  tree?: string | null | undefined;
}>;


export type TrajectoryPageQuery = { readonly rollout: { readonly id: string, readonly treeId: string, readonly ordinal: number, readonly outcome: RolloutOutcome | null, readonly success: boolean | null, readonly reason: string | null, readonly return: number | null, readonly stepCount: number | null, readonly unclearCalls: number | null, readonly lostParts: number | null, readonly leafId: string | null, readonly environment: string, readonly policy: { readonly id: string, readonly version: number }, readonly run: { readonly id: string, readonly name: string, readonly config: unknown } | null, readonly tree: { readonly id: string, readonly instruction: string, readonly forgotten: boolean, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }>, readonly task: { readonly alias: string, readonly goal: string, readonly depth: number | null }, readonly rollouts: ReadonlyArray<{ readonly id: string, readonly ordinal: number, readonly return: number | null }> } | null, readonly annotations: ReadonlyArray<{ readonly id: string, readonly treeId: string, readonly kind: AnnotatedKind, readonly label: string | null, readonly score: number | null, readonly note: string, readonly principal: string, readonly author: string | null, readonly addedAt: string }>, readonly rewards: ReadonlyArray<{ readonly id: string, readonly component: string, readonly value: number, readonly scorer: { readonly name: string, readonly revision: string } }>, readonly sample: { readonly state: SampleState, readonly reason: string | null, readonly batch: { readonly id: string, readonly ordinal: number, readonly policyId: string, readonly update: { readonly version: number } | null } | null } | null } | null };

export type StepShownFragment = { readonly id: string, readonly depth: number, readonly parentId: string | null, readonly rolloutId: string | null, readonly thought: string, readonly action: string, readonly response: string, readonly observation: string, readonly wellFormatted: boolean, readonly executable: boolean, readonly termination: Termination, readonly stateHash: string | null, readonly occurredAt: string, readonly hasPrompt: boolean, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }>, readonly reply: { readonly reasoning: boolean, readonly toolCalls: ReadonlyArray<{ readonly id: string | null, readonly name: string, readonly arguments: string | null }> } | null, readonly timings: { readonly policyMs: number, readonly environmentMs: number }, readonly tokens: { readonly ids: { readonly length: number } } | null, readonly annotations: ReadonlyArray<{ readonly id: string, readonly treeId: string, readonly kind: AnnotatedKind, readonly label: string | null, readonly score: number | null, readonly note: string, readonly principal: string, readonly author: string | null, readonly addedAt: string }>, readonly rewards: ReadonlyArray<{ readonly id: string, readonly component: string, readonly value: number, readonly assignedValue: number, readonly revisionCount: number, readonly scorer: { readonly name: string, readonly revision: string } }>, readonly toolCalls: ReadonlyArray<{ readonly id: string, readonly ordinal: number, readonly tool: string, readonly arguments: string, readonly output: string, readonly outcome: ToolOutcome, readonly durationMs: number, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }> }>, readonly pictures: ReadonlyArray<{ readonly id: string, readonly url: string, readonly width: number, readonly height: number }>, readonly historyImage: { readonly id: string, readonly factor: number, readonly visionTokens: number, readonly textTokens: number } | null };

export type TrajectoryStepsQueryVariables = Exact<{
  rollout: string;
  first: number;
  after?: number | null | undefined;
  tree?: string | null | undefined;
}>;


export type TrajectoryStepsQuery = { readonly trajectory: { readonly id: string, readonly steps: ReadonlyArray<{ readonly id: string, readonly depth: number, readonly parentId: string | null, readonly rolloutId: string | null, readonly thought: string, readonly action: string, readonly response: string, readonly observation: string, readonly wellFormatted: boolean, readonly executable: boolean, readonly termination: Termination, readonly stateHash: string | null, readonly occurredAt: string, readonly hasPrompt: boolean, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }>, readonly reply: { readonly reasoning: boolean, readonly toolCalls: ReadonlyArray<{ readonly id: string | null, readonly name: string, readonly arguments: string | null }> } | null, readonly timings: { readonly policyMs: number, readonly environmentMs: number }, readonly tokens: { readonly ids: { readonly length: number } } | null, readonly annotations: ReadonlyArray<{ readonly id: string, readonly treeId: string, readonly kind: AnnotatedKind, readonly label: string | null, readonly score: number | null, readonly note: string, readonly principal: string, readonly author: string | null, readonly addedAt: string }>, readonly rewards: ReadonlyArray<{ readonly id: string, readonly component: string, readonly value: number, readonly assignedValue: number, readonly revisionCount: number, readonly scorer: { readonly name: string, readonly revision: string } }>, readonly toolCalls: ReadonlyArray<{ readonly id: string, readonly ordinal: number, readonly tool: string, readonly arguments: string, readonly output: string, readonly outcome: ToolOutcome, readonly durationMs: number, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }> }>, readonly pictures: ReadonlyArray<{ readonly id: string, readonly url: string, readonly width: number, readonly height: number }>, readonly historyImage: { readonly id: string, readonly factor: number, readonly visionTokens: number, readonly textTokens: number } | null }> } | null };

export type RolloutStepsQueryVariables = Exact<{
  rollout: string;
  first: number;
  tree?: string | null | undefined;
}>;


export type RolloutStepsQuery = { readonly steps: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly depth: number, readonly parentId: string | null, readonly rolloutId: string | null, readonly thought: string, readonly action: string, readonly response: string, readonly observation: string, readonly wellFormatted: boolean, readonly executable: boolean, readonly termination: Termination, readonly stateHash: string | null, readonly occurredAt: string, readonly hasPrompt: boolean, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }>, readonly reply: { readonly reasoning: boolean, readonly toolCalls: ReadonlyArray<{ readonly id: string | null, readonly name: string, readonly arguments: string | null }> } | null, readonly timings: { readonly policyMs: number, readonly environmentMs: number }, readonly tokens: { readonly ids: { readonly length: number } } | null, readonly annotations: ReadonlyArray<{ readonly id: string, readonly treeId: string, readonly kind: AnnotatedKind, readonly label: string | null, readonly score: number | null, readonly note: string, readonly principal: string, readonly author: string | null, readonly addedAt: string }>, readonly rewards: ReadonlyArray<{ readonly id: string, readonly component: string, readonly value: number, readonly assignedValue: number, readonly revisionCount: number, readonly scorer: { readonly name: string, readonly revision: string } }>, readonly toolCalls: ReadonlyArray<{ readonly id: string, readonly ordinal: number, readonly tool: string, readonly arguments: string, readonly output: string, readonly outcome: ToolOutcome, readonly durationMs: number, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }> }>, readonly pictures: ReadonlyArray<{ readonly id: string, readonly url: string, readonly width: number, readonly height: number }>, readonly historyImage: { readonly id: string, readonly factor: number, readonly visionTokens: number, readonly textTokens: number } | null }> } };

export type StepPromptQueryVariables = Exact<{
  id: string;
  tree?: string | null | undefined;
}>;


export type StepPromptQuery = { readonly step: { readonly id: string, readonly prompt: { readonly sha256: string, readonly tools: string | null, readonly model: string | null, readonly server: string | null, readonly template: { readonly name: string, readonly version: number } | null, readonly sampling: { readonly temperature: number | null, readonly topP: number | null, readonly topK: number | null, readonly minP: number | null, readonly repetitionPenalty: number | null, readonly maxTokens: number | null, readonly others: ReadonlyArray<{ readonly name: string, readonly value: string }> }, readonly messages: ReadonlyArray<{ readonly role: string, readonly toolCallId: string | null, readonly name: string | null, readonly parts: ReadonlyArray<{ readonly text: string | null, readonly reasoning: string | null, readonly toolCall: { readonly id: string | null, readonly name: string, readonly arguments: string | null } | null, readonly image: { readonly id: string, readonly url: string, readonly width: number, readonly height: number, readonly factor: number, readonly visionTokens: number, readonly textTokens: number, readonly saved: number, readonly cutLines: number, readonly cutSegments: number, readonly unshaped: number, readonly raw: { readonly width: number, readonly height: number }, readonly resized: { readonly width: number, readonly height: number }, readonly renderSpec: { readonly spec: unknown } | null, readonly segments: ReadonlyArray<{ readonly id: string, readonly place: number, readonly hit: boolean, readonly text: string | null, readonly height: number | null, readonly forgotten: boolean, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }> }> } | null, readonly picture: { readonly id: string, readonly url: string, readonly width: number, readonly height: number } | null }> }> } | null, readonly historyImage: { readonly id: string, readonly url: string, readonly width: number, readonly height: number, readonly factor: number, readonly visionTokens: number, readonly textTokens: number, readonly saved: number, readonly cutLines: number, readonly cutSegments: number, readonly unshaped: number, readonly raw: { readonly width: number, readonly height: number }, readonly resized: { readonly width: number, readonly height: number }, readonly renderSpec: { readonly spec: unknown } | null, readonly segments: ReadonlyArray<{ readonly id: string, readonly place: number, readonly hit: boolean, readonly text: string | null, readonly height: number | null, readonly forgotten: boolean, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }> }> } | null } | null };

export type PromptShownFragment = { readonly id: string, readonly prompt: { readonly sha256: string, readonly tools: string | null, readonly model: string | null, readonly server: string | null, readonly template: { readonly name: string, readonly version: number } | null, readonly sampling: { readonly temperature: number | null, readonly topP: number | null, readonly topK: number | null, readonly minP: number | null, readonly repetitionPenalty: number | null, readonly maxTokens: number | null, readonly others: ReadonlyArray<{ readonly name: string, readonly value: string }> }, readonly messages: ReadonlyArray<{ readonly role: string, readonly toolCallId: string | null, readonly name: string | null, readonly parts: ReadonlyArray<{ readonly text: string | null, readonly reasoning: string | null, readonly toolCall: { readonly id: string | null, readonly name: string, readonly arguments: string | null } | null, readonly image: { readonly id: string, readonly url: string, readonly width: number, readonly height: number, readonly factor: number, readonly visionTokens: number, readonly textTokens: number, readonly saved: number, readonly cutLines: number, readonly cutSegments: number, readonly unshaped: number, readonly raw: { readonly width: number, readonly height: number }, readonly resized: { readonly width: number, readonly height: number }, readonly renderSpec: { readonly spec: unknown } | null, readonly segments: ReadonlyArray<{ readonly id: string, readonly place: number, readonly hit: boolean, readonly text: string | null, readonly height: number | null, readonly forgotten: boolean, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }> }> } | null, readonly picture: { readonly id: string, readonly url: string, readonly width: number, readonly height: number } | null }> }> } | null, readonly historyImage: { readonly id: string, readonly url: string, readonly width: number, readonly height: number, readonly factor: number, readonly visionTokens: number, readonly textTokens: number, readonly saved: number, readonly cutLines: number, readonly cutSegments: number, readonly unshaped: number, readonly raw: { readonly width: number, readonly height: number }, readonly resized: { readonly width: number, readonly height: number }, readonly renderSpec: { readonly spec: unknown } | null, readonly segments: ReadonlyArray<{ readonly id: string, readonly place: number, readonly hit: boolean, readonly text: string | null, readonly height: number | null, readonly forgotten: boolean, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }> }> } | null };

export type ImageShownFragment = { readonly id: string, readonly url: string, readonly width: number, readonly height: number, readonly factor: number, readonly visionTokens: number, readonly textTokens: number, readonly saved: number, readonly cutLines: number, readonly cutSegments: number, readonly unshaped: number, readonly raw: { readonly width: number, readonly height: number }, readonly resized: { readonly width: number, readonly height: number }, readonly renderSpec: { readonly spec: unknown } | null, readonly segments: ReadonlyArray<{ readonly id: string, readonly place: number, readonly hit: boolean, readonly text: string | null, readonly height: number | null, readonly forgotten: boolean, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }> }> };

export type StepTokensQueryVariables = Exact<{
  id: string;
  tree?: string | null | undefined;
}>;


export type StepTokensQuery = { readonly step: { readonly id: string, readonly tokenTexts: ReadonlyArray<string> | null, readonly tokens: { readonly ids: { readonly dtype: string, readonly length: number, readonly base64: string }, readonly logProbs: { readonly dtype: string, readonly length: number, readonly base64: string } | null, readonly mask: { readonly dtype: string, readonly length: number, readonly base64: string } | null, readonly entropies: { readonly dtype: string, readonly length: number, readonly base64: string } | null } | null, readonly policySpans: ReadonlyArray<{ readonly from: number, readonly to: number, readonly policyId: string, readonly version: number }>, readonly estimate: { readonly advantage: number | null, readonly value: number | null, readonly target: number | null, readonly tokenAdvantages: ReadonlyArray<number> | null, readonly newLogProbs: ReadonlyArray<number> | null } | null } | null };

export type TokensShownFragment = { readonly id: string, readonly tokenTexts: ReadonlyArray<string> | null, readonly tokens: { readonly ids: { readonly dtype: string, readonly length: number, readonly base64: string }, readonly logProbs: { readonly dtype: string, readonly length: number, readonly base64: string } | null, readonly mask: { readonly dtype: string, readonly length: number, readonly base64: string } | null, readonly entropies: { readonly dtype: string, readonly length: number, readonly base64: string } | null } | null, readonly policySpans: ReadonlyArray<{ readonly from: number, readonly to: number, readonly policyId: string, readonly version: number }>, readonly estimate: { readonly advantage: number | null, readonly value: number | null, readonly target: number | null, readonly tokenAdvantages: ReadonlyArray<number> | null, readonly newLogProbs: ReadonlyArray<number> | null } | null };

export type StepReadAgainQueryVariables = Exact<{
  id: string;
  tree?: string | null | undefined;
}>;


export type StepReadAgainQuery = { readonly step: { readonly id: string, readonly estimate: { readonly readAgain: { readonly before: { readonly logProb: number, readonly entropy: number } | null, readonly after: { readonly logProb: number, readonly entropy: number } | null } | null } | null, readonly rollout: { readonly id: string, readonly sample: { readonly state: SampleState, readonly batch: { readonly id: string, readonly base: { readonly version: number }, readonly update: { readonly version: number } | null } | null } | null } | null } | null };

export type StepEventsQueryVariables = Exact<{
  id: string;
  tree?: string | null | undefined;
}>;


export type StepEventsQuery = { readonly trace: { readonly title: string, readonly madeBy: { readonly total: number, readonly first: ReadonlyArray<{ readonly eventId: string, readonly type: string, readonly place: string, readonly occurredAt: string, readonly envelope: unknown }> }, readonly from: ReadonlyArray<{ readonly relation: string, readonly total: number, readonly first: ReadonlyArray<{ readonly id: string, readonly text: string }> }>, readonly usedBy: ReadonlyArray<{ readonly relation: string, readonly total: number, readonly first: ReadonlyArray<{ readonly id: string, readonly text: string }> }> } | null };

export type TreePageQueryVariables = Exact<{
  id: string;
}>;


export type TreePageQuery = { readonly tree: { readonly id: string, readonly runId: string, readonly rootId: string, readonly closedAt: string | null, readonly closeReason: string | null, readonly simulations: number, readonly run: { readonly id: string, readonly name: string, readonly config: unknown } | null, readonly size: { readonly steps: number, readonly depth: number, readonly leaves: number }, readonly task: { readonly alias: string, readonly goal: string, readonly depth: number | null }, readonly rollouts: ReadonlyArray<{ readonly id: string, readonly ordinal: number, readonly leafId: string | null, readonly success: boolean | null, readonly return: number | null, readonly outcome: RolloutOutcome | null }> } | null };

export type TreeOutlineQueryVariables = Exact<{
  id: string;
}>;


export type TreeOutlineQuery = { readonly tree: { readonly id: string, readonly outline: { readonly ids: ReadonlyArray<string>, readonly actions: ReadonlyArray<string>, readonly parents: { readonly dtype: string, readonly length: number, readonly base64: string }, readonly executable: { readonly dtype: string, readonly length: number, readonly base64: string }, readonly terminations: { readonly dtype: string, readonly length: number, readonly base64: string }, readonly rewards: { readonly dtype: string, readonly length: number, readonly base64: string }, readonly backUps: { readonly length: number, readonly values: { readonly dtype: string, readonly length: number, readonly base64: string }, readonly lengths: { readonly dtype: string, readonly length: number, readonly base64: string }, readonly paths: { readonly dtype: string, readonly length: number, readonly base64: string } } } } | null };

export type PackedNumbersFragment = { readonly dtype: string, readonly length: number, readonly base64: string };

export type TreeNodeQueryVariables = Exact<{
  id: string;
  tree?: string | null | undefined;
}>;


export type TreeNodeQuery = { readonly step: { readonly id: string, readonly depth: number, readonly action: string, readonly thought: string, readonly observation: string, readonly executable: boolean, readonly termination: Termination, readonly rolloutId: string | null, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }>, readonly rewards: ReadonlyArray<{ readonly id: string, readonly component: string, readonly value: number }> } | null };

export type NodeShownFragment = { readonly id: string, readonly depth: number, readonly action: string, readonly thought: string, readonly observation: string, readonly executable: boolean, readonly termination: Termination, readonly rolloutId: string | null, readonly largeTexts: ReadonlyArray<{ readonly field: string, readonly sha256: string, readonly size: number }>, readonly rewards: ReadonlyArray<{ readonly id: string, readonly component: string, readonly value: number }> };

export const annotate: Operation<AnnotateMutation, AnnotateMutationVariables> = {"name":"Annotate","text":"mutation Annotate($annotations: [NewAnnotation!]!) {\n  annotate(annotations: $annotations) {\n    ids\n  }\n}","asOf":null};
export const retractAnnotations: Operation<RetractAnnotationsMutation, RetractAnnotationsMutationVariables> = {"name":"RetractAnnotations","text":"mutation RetractAnnotations($ids: [ID!]!, $tree: ID, $reason: String!) {\n  retractAnnotations(ids: $ids, tree: $tree, reason: $reason) {\n    ids\n  }\n}","asOf":null};
export const viewer: Operation<ViewerQuery, ViewerQueryVariables> = {"name":"Viewer","text":"query Viewer {\n  viewer {\n    principal\n    name\n    scopes\n  }\n}","asOf":"query Viewer($atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    viewer {\n      principal\n      name\n      scopes\n    }\n  }\n}"};
export const labels: Operation<LabelsQuery, LabelsQueryVariables> = {"name":"Labels","text":"query Labels {\n  annotationLabels {\n    label\n    count\n  }\n}","asOf":"query Labels($atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    annotationLabels {\n      label\n      count\n    }\n  }\n}"};
export const reviewQueue: Operation<ReviewQueueQuery, ReviewQueueQueryVariables> = {"name":"ReviewQueue","text":"query ReviewQueue($filter: StepFilter!, $first: Int!, $after: String) {\n  steps(filter: $filter, first: $first, after: $after) {\n    pageInfo {\n      ...PageEnds\n    }\n    nodes {\n      id\n      treeId\n      depth\n      rolloutId\n      thought\n      action\n      response\n      observation\n      largeTexts {\n        ...LargeTextsNamed\n      }\n      rewards {\n        id\n        component\n        value\n      }\n      rollout {\n        id\n        return\n      }\n      annotations {\n        ...AnnotationShown\n      }\n      tree {\n        ...TreeNamed\n      }\n    }\n  }\n}\nfragment AnnotationShown on Annotation {\n  id\n  treeId\n  kind\n  label\n  score\n  note\n  principal\n  author\n  addedAt\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}\nfragment PageEnds on PageInfo {\n  endCursor\n  hasNextPage\n}\nfragment TreeNamed on Tree {\n  id\n  task {\n    alias\n    goal\n  }\n}","asOf":"query ReviewQueue($filter: StepFilter!, $first: Int!, $after: String, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    steps(filter: $filter, first: $first, after: $after) {\n      pageInfo {\n        ...PageEnds\n      }\n      nodes {\n        id\n        treeId\n        depth\n        rolloutId\n        thought\n        action\n        response\n        observation\n        largeTexts {\n          ...LargeTextsNamed\n        }\n        rewards {\n          id\n          component\n          value\n        }\n        rollout {\n          id\n          return\n        }\n        annotations {\n          ...AnnotationShown\n        }\n        tree {\n          ...TreeNamed\n        }\n      }\n    }\n  }\n}\nfragment AnnotationShown on Annotation {\n  id\n  treeId\n  kind\n  label\n  score\n  note\n  principal\n  author\n  addedAt\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}\nfragment PageEnds on PageInfo {\n  endCursor\n  hasNextPage\n}\nfragment TreeNamed on Tree {\n  id\n  task {\n    alias\n    goal\n  }\n}"};
export const latestAnnotations: Operation<LatestAnnotationsQuery, LatestAnnotationsQueryVariables> = {"name":"LatestAnnotations","text":"query LatestAnnotations($filter: AnnotationFilter!, $first: Int!, $after: String) {\n  annotations(filter: $filter, first: $first, after: $after) {\n    totalCount\n    pageInfo {\n      ...PageEnds\n    }\n    nodes {\n      ...AnnotationShown\n      treeId\n      stepId\n      rolloutId\n      revisionId\n      datasetId\n      line\n      step {\n        id\n        depth\n        rolloutId\n      }\n      tree {\n        ...TreeNamed\n      }\n    }\n  }\n}\nfragment AnnotationShown on Annotation {\n  id\n  treeId\n  kind\n  label\n  score\n  note\n  principal\n  author\n  addedAt\n}\nfragment PageEnds on PageInfo {\n  endCursor\n  hasNextPage\n}\nfragment TreeNamed on Tree {\n  id\n  task {\n    alias\n    goal\n  }\n}","asOf":"query LatestAnnotations($filter: AnnotationFilter!, $first: Int!, $after: String, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    annotations(filter: $filter, first: $first, after: $after) {\n      totalCount\n      pageInfo {\n        ...PageEnds\n      }\n      nodes {\n        ...AnnotationShown\n        treeId\n        stepId\n        rolloutId\n        revisionId\n        datasetId\n        line\n        step {\n          id\n          depth\n          rolloutId\n        }\n        tree {\n          ...TreeNamed\n        }\n      }\n    }\n  }\n}\nfragment AnnotationShown on Annotation {\n  id\n  treeId\n  kind\n  label\n  score\n  note\n  principal\n  author\n  addedAt\n}\nfragment PageEnds on PageInfo {\n  endCursor\n  hasNextPage\n}\nfragment TreeNamed on Tree {\n  id\n  task {\n    alias\n    goal\n  }\n}"};
export const comparePage: Operation<ComparePageQuery, ComparePageQueryVariables> = {"name":"ComparePage","text":"query ComparePage($runs: [ID!]!) {\n  compare(runs: $runs) {\n    tasks\n    unpaired\n    run {\n      ...RunCompared\n    }\n    baseline {\n      ...RunCompared\n    }\n    success {\n      ...DifferenceShown\n    }\n    return {\n      ...DifferenceShown\n    }\n  }\n}\nfragment DifferenceShown on PairedDifference {\n  tasks\n  baselineMean\n  mean\n  difference\n  better\n  worse\n  equal\n  interval {\n    low\n    high\n  }\n}\nfragment RunCompared on Run {\n  id\n  name\n  policy {\n    id\n    version\n  }\n  totals {\n    successes\n    successRate\n    meanReturn\n    terminated\n    truncated\n    failed\n    cancelled\n  }\n}","asOf":"query ComparePage($runs: [ID!]!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    compare(runs: $runs) {\n      tasks\n      unpaired\n      run {\n        ...RunCompared\n      }\n      baseline {\n        ...RunCompared\n      }\n      success {\n        ...DifferenceShown\n      }\n      return {\n        ...DifferenceShown\n      }\n    }\n  }\n}\nfragment DifferenceShown on PairedDifference {\n  tasks\n  baselineMean\n  mean\n  difference\n  better\n  worse\n  equal\n  interval {\n    low\n    high\n  }\n}\nfragment RunCompared on Run {\n  id\n  name\n  policy {\n    id\n    version\n  }\n  totals {\n    successes\n    successRate\n    meanReturn\n    terminated\n    truncated\n    failed\n    cancelled\n  }\n}"};
export const datasets: Operation<DatasetsQuery, DatasetsQueryVariables> = {"name":"Datasets","text":"query Datasets($first: Int!) {\n  datasets(first: $first) {\n    totalCount\n    nodes {\n      id\n      name\n      version\n      format\n      counts\n      bytes\n      releasedAt\n      withdrawnAt\n      withdrawReason\n    }\n  }\n}","asOf":"query Datasets($first: Int!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    datasets(first: $first) {\n      totalCount\n      nodes {\n        id\n        name\n        version\n        format\n        counts\n        bytes\n        releasedAt\n        withdrawnAt\n        withdrawReason\n      }\n    }\n  }\n}"};
export const datasetPage: Operation<DatasetPageQuery, DatasetPageQueryVariables> = {"name":"DatasetPage","text":"query DatasetPage($id: ID!, $first: Int!, $after: String) {\n  dataset(id: $id) {\n    id\n    name\n    version\n    format\n    formatVersion\n    query\n    parameters\n    counts\n    bytes\n    sha256\n    releasedAt\n    withdrawnAt\n    withdrawReason\n    runs {\n      id\n      name\n    }\n    policies {\n      id\n      version\n    }\n    examples(first: $first, after: $after) {\n      totalCount\n      pageInfo {\n        ...PageEnds\n      }\n      nodes {\n        line\n        kind\n        treeId\n        annotations {\n          ...AnnotationShown\n        }\n        tree {\n          ...TreeNamed\n        }\n        trajectory {\n          id\n          return\n        }\n        badTrajectory {\n          id\n          return\n        }\n        revision {\n          id\n          state\n        }\n      }\n    }\n  }\n}\nfragment AnnotationShown on Annotation {\n  id\n  treeId\n  kind\n  label\n  score\n  note\n  principal\n  author\n  addedAt\n}\nfragment PageEnds on PageInfo {\n  endCursor\n  hasNextPage\n}\nfragment TreeNamed on Tree {\n  id\n  task {\n    alias\n    goal\n  }\n}","asOf":"query DatasetPage($id: ID!, $first: Int!, $after: String, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    dataset(id: $id) {\n      id\n      name\n      version\n      format\n      formatVersion\n      query\n      parameters\n      counts\n      bytes\n      sha256\n      releasedAt\n      withdrawnAt\n      withdrawReason\n      runs {\n        id\n        name\n      }\n      policies {\n        id\n        version\n      }\n      examples(first: $first, after: $after) {\n        totalCount\n        pageInfo {\n          ...PageEnds\n        }\n        nodes {\n          line\n          kind\n          treeId\n          annotations {\n            ...AnnotationShown\n          }\n          tree {\n            ...TreeNamed\n          }\n          trajectory {\n            id\n            return\n          }\n          badTrajectory {\n            id\n            return\n          }\n          revision {\n            id\n            state\n          }\n        }\n      }\n    }\n  }\n}\nfragment AnnotationShown on Annotation {\n  id\n  treeId\n  kind\n  label\n  score\n  note\n  principal\n  author\n  addedAt\n}\nfragment PageEnds on PageInfo {\n  endCursor\n  hasNextPage\n}\nfragment TreeNamed on Tree {\n  id\n  task {\n    alias\n    goal\n  }\n}"};
export const datasetRow: Operation<DatasetRowQuery, DatasetRowQueryVariables> = {"name":"DatasetRow","text":"query DatasetRow($dataset: ID!, $line: Int!, $characters: Int!) {\n  dataset(id: $dataset) {\n    id\n    examples(filter: {line: $line}, first: 1) {\n      nodes {\n        line\n        lines\n        text(characters: $characters) {\n          text\n          length\n        }\n      }\n    }\n  }\n}","asOf":"query DatasetRow($dataset: ID!, $line: Int!, $characters: Int!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    dataset(id: $dataset) {\n      id\n      examples(filter: {line: $line}, first: 1) {\n        nodes {\n          line\n          lines\n          text(characters: $characters) {\n            text\n            length\n          }\n        }\n      }\n    }\n  }\n}"};
export const diffSide: Operation<DiffSideQuery, DiffSideQueryVariables> = {"name":"DiffSide","text":"query DiffSide($id: ID!, $tree: ID) {\n  rollout(id: $id, tree: $tree) {\n    id\n    treeId\n    ordinal\n    leafId\n    outcome\n    success\n    return\n    policy {\n      id\n      version\n    }\n    run {\n      id\n      name\n      forkOf {\n        run {\n          id\n        }\n      }\n    }\n    tree {\n      id\n      task {\n        id\n        alias\n        goal\n      }\n    }\n  }\n}","asOf":"query DiffSide($id: ID!, $tree: ID, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    rollout(id: $id, tree: $tree) {\n      id\n      treeId\n      ordinal\n      leafId\n      outcome\n      success\n      return\n      policy {\n        id\n        version\n      }\n      run {\n        id\n        name\n        forkOf {\n          run {\n            id\n          }\n        }\n      }\n      tree {\n        id\n        task {\n          id\n          alias\n          goal\n        }\n      }\n    }\n  }\n}"};
export const diffPath: Operation<DiffPathQuery, DiffPathQueryVariables> = {"name":"DiffPath","text":"query DiffPath($leaf: ID!, $tree: ID) {\n  path(leaf: $leaf, tree: $tree, first: 2000) {\n    ...StepCompared\n  }\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}\nfragment StepCompared on Step {\n  id\n  depth\n  thought\n  action\n  observation\n  largeTexts {\n    ...LargeTextsNamed\n  }\n  rewards {\n    id\n    component\n    value\n  }\n}","asOf":"query DiffPath($leaf: ID!, $tree: ID, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    path(leaf: $leaf, tree: $tree, first: 2000) {\n      ...StepCompared\n    }\n  }\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}\nfragment StepCompared on Step {\n  id\n  depth\n  thought\n  action\n  observation\n  largeTexts {\n    ...LargeTextsNamed\n  }\n  rewards {\n    id\n    component\n    value\n  }\n}"};
export const diffCandidates: Operation<DiffCandidatesQuery, DiffCandidatesQueryVariables> = {"name":"DiffCandidates","text":"query DiffCandidates($task: ID!, $first: Int!) {\n  rollouts(filter: {task: $task, finished: true}, first: $first) {\n    totalCount\n    nodes {\n      id\n      ordinal\n      treeId\n      return\n      outcome\n      policy {\n        id\n        version\n      }\n      run {\n        id\n        name\n        forkOf {\n          run {\n            id\n          }\n        }\n      }\n    }\n  }\n}","asOf":"query DiffCandidates($task: ID!, $first: Int!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    rollouts(filter: {task: $task, finished: true}, first: $first) {\n      totalCount\n      nodes {\n        id\n        ordinal\n        treeId\n        return\n        outcome\n        policy {\n          id\n          version\n        }\n        run {\n          id\n          name\n          forkOf {\n            run {\n              id\n            }\n          }\n        }\n      }\n    }\n  }\n}"};
export const diffReplays: Operation<DiffReplaysQuery, DiffReplaysQueryVariables> = {"name":"DiffReplays","text":"query DiffReplays($tree: ID!) {\n  tree(id: $tree) {\n    id\n    divergences {\n      id\n      stepId\n      field\n      recorded\n      replayed\n      occurredAt\n      largeTexts {\n        ...LargeTextsNamed\n      }\n    }\n    run {\n      id\n      replays {\n        id\n        mode\n        outcome\n        compared\n        differing\n        finishedAt\n        notes\n        differences {\n          stepId\n          field\n          recorded\n          replayed\n        }\n      }\n    }\n  }\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}","asOf":"query DiffReplays($tree: ID!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    tree(id: $tree) {\n      id\n      divergences {\n        id\n        stepId\n        field\n        recorded\n        replayed\n        occurredAt\n        largeTexts {\n          ...LargeTextsNamed\n        }\n      }\n      run {\n        id\n        replays {\n          id\n          mode\n          outcome\n          compared\n          differing\n          finishedAt\n          notes\n          differences {\n            stepId\n            field\n            recorded\n            replayed\n          }\n        }\n      }\n    }\n  }\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}"};
export const divergence: Operation<DivergenceQuery, DivergenceQueryVariables> = {"name":"Divergence","text":"query Divergence($a: ID!, $b: ID!, $aTree: ID, $bTree: ID) {\n  divergence(a: $a, b: $b, aTree: $aTree, bTree: $bTree) {\n    depth\n    kind\n    a {\n      id\n      action\n      observation\n    }\n    b {\n      id\n      action\n      observation\n    }\n  }\n}","asOf":"query Divergence($a: ID!, $b: ID!, $aTree: ID, $bTree: ID, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    divergence(a: $a, b: $b, aTree: $aTree, bTree: $bTree) {\n      depth\n      kind\n      a {\n        id\n        action\n        observation\n      }\n      b {\n        id\n        action\n        observation\n      }\n    }\n  }\n}"};
export const discardedPage: Operation<DiscardedPageQuery, DiscardedPageQueryVariables> = {"name":"DiscardedPage","text":"query DiscardedPage($id: String!, $by: DiscardedBy!, $first: Int!) {\n  policy(id: $id) {\n    id\n    ledger {\n      produced\n      abandoned\n      rejected {\n        reason\n        samples\n      }\n    }\n    discarded(by: $by, first: $first) {\n      task {\n        id\n        alias\n        goal\n      }\n      tree {\n        id\n      }\n      length {\n        from\n        to\n      }\n      version\n      produced\n      discarded\n      groups\n      reasons {\n        reason\n        samples\n      }\n    }\n  }\n}","asOf":"query DiscardedPage($id: String!, $by: DiscardedBy!, $first: Int!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    policy(id: $id) {\n      id\n      ledger {\n        produced\n        abandoned\n        rejected {\n          reason\n          samples\n        }\n      }\n      discarded(by: $by, first: $first) {\n        task {\n          id\n          alias\n          goal\n        }\n        tree {\n          id\n        }\n        length {\n          from\n          to\n        }\n        version\n        produced\n        discarded\n        groups\n        reasons {\n          reason\n          samples\n        }\n      }\n    }\n  }\n}"};
export const discardedSamples: Operation<DiscardedSamplesQuery, DiscardedSamplesQueryVariables> = {"name":"DiscardedSamples","text":"query DiscardedSamples($policy: String!, $state: SampleState!, $reason: String, $first: Int!, $after: String) {\n  samples(\n    filter: {policy: $policy, state: $state, reason: $reason}\n    first: $first\n    after: $after\n  ) {\n    pageInfo {\n      ...PageEnds\n    }\n    nodes {\n      reason\n      rule\n      measured\n      oldestVersion\n      batch {\n        ordinal\n        abandonment {\n          reason\n        }\n      }\n      rollout {\n        id\n        treeId\n        ordinal\n        return\n        stepCount\n      }\n      tree {\n        ...TreeNamed\n      }\n    }\n  }\n}\nfragment PageEnds on PageInfo {\n  endCursor\n  hasNextPage\n}\nfragment TreeNamed on Tree {\n  id\n  task {\n    alias\n    goal\n  }\n}","asOf":"query DiscardedSamples($policy: String!, $state: SampleState!, $reason: String, $first: Int!, $after: String, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    samples(\n      filter: {policy: $policy, state: $state, reason: $reason}\n      first: $first\n      after: $after\n    ) {\n      pageInfo {\n        ...PageEnds\n      }\n      nodes {\n        reason\n        rule\n        measured\n        oldestVersion\n        batch {\n          ordinal\n          abandonment {\n            reason\n          }\n        }\n        rollout {\n          id\n          treeId\n          ordinal\n          return\n          stepCount\n        }\n        tree {\n          ...TreeNamed\n        }\n      }\n    }\n  }\n}\nfragment PageEnds on PageInfo {\n  endCursor\n  hasNextPage\n}\nfragment TreeNamed on Tree {\n  id\n  task {\n    alias\n    goal\n  }\n}"};
export const findSteps: Operation<FindStepsQuery, FindStepsQueryVariables> = {"name":"FindSteps","text":"query FindSteps($filter: StepFilter!, $first: Int!, $after: String) {\n  steps(filter: $filter, first: $first, after: $after) {\n    pageInfo {\n      ...PageEnds\n    }\n    edges {\n      highlights {\n        field\n        text\n      }\n      node {\n        id\n        treeId\n        depth\n        action\n        observation\n        termination\n        rolloutId\n        rewards {\n          id\n          component\n          value\n        }\n        tree {\n          ...TreeNamed\n        }\n      }\n    }\n  }\n}\nfragment PageEnds on PageInfo {\n  endCursor\n  hasNextPage\n}\nfragment TreeNamed on Tree {\n  id\n  task {\n    alias\n    goal\n  }\n}","asOf":"query FindSteps($filter: StepFilter!, $first: Int!, $after: String, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    steps(filter: $filter, first: $first, after: $after) {\n      pageInfo {\n        ...PageEnds\n      }\n      edges {\n        highlights {\n          field\n          text\n        }\n        node {\n          id\n          treeId\n          depth\n          action\n          observation\n          termination\n          rolloutId\n          rewards {\n            id\n            component\n            value\n          }\n          tree {\n            ...TreeNamed\n          }\n        }\n      }\n    }\n  }\n}\nfragment PageEnds on PageInfo {\n  endCursor\n  hasNextPage\n}\nfragment TreeNamed on Tree {\n  id\n  task {\n    alias\n    goal\n  }\n}"};
export const groupPage: Operation<GroupPageQuery, GroupPageQueryVariables> = {"name":"GroupPage","text":"query GroupPage($id: ID!) {\n  tree(id: $id) {\n    id\n    runId\n    closedAt\n    closeReason\n    plannedRollouts\n    returnVariance\n    run {\n      id\n      name\n    }\n    task {\n      alias\n      goal\n      depth\n      split\n      environment\n    }\n    rollouts {\n      id\n      treeId\n      ordinal\n      outcome\n      success\n      return\n      stepCount\n      reason\n      finishedAt\n      policy {\n        id\n        version\n      }\n      trajectory {\n        returns {\n          component\n          value\n        }\n      }\n      sample {\n        state\n        reason\n        rule\n        measured\n        staleness\n        batch {\n          id\n          ordinal\n          policyId\n          update {\n            version\n          }\n          estimator {\n            name\n          }\n        }\n        estimate {\n          return\n          advantage\n        }\n      }\n    }\n  }\n}","asOf":"query GroupPage($id: ID!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    tree(id: $id) {\n      id\n      runId\n      closedAt\n      closeReason\n      plannedRollouts\n      returnVariance\n      run {\n        id\n        name\n      }\n      task {\n        alias\n        goal\n        depth\n        split\n        environment\n      }\n      rollouts {\n        id\n        treeId\n        ordinal\n        outcome\n        success\n        return\n        stepCount\n        reason\n        finishedAt\n        policy {\n          id\n          version\n        }\n        trajectory {\n          returns {\n            component\n            value\n          }\n        }\n        sample {\n          state\n          reason\n          rule\n          measured\n          staleness\n          batch {\n            id\n            ordinal\n            policyId\n            update {\n              version\n            }\n            estimator {\n              name\n            }\n          }\n          estimate {\n            return\n            advantage\n          }\n        }\n      }\n    }\n  }\n}"};
export const parting: Operation<PartingQuery, PartingQueryVariables> = {"name":"Parting","text":"query Parting($a: ID!, $b: ID!, $tree: ID) {\n  divergence(a: $a, b: $b, aTree: $tree, bTree: $tree) {\n    depth\n    kind\n  }\n}","asOf":"query Parting($a: ID!, $b: ID!, $tree: ID, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    divergence(a: $a, b: $b, aTree: $tree, bTree: $tree) {\n      depth\n      kind\n    }\n  }\n}"};
export const imagesPage: Operation<ImagesPageQuery, ImagesPageQueryVariables> = {"name":"ImagesPage","text":"query ImagesPage($id: ID!) {\n  run(id: $id) {\n    id\n    name\n    imageTotals {\n      steps\n      images\n      visionTokens\n      textTokens\n      saved\n      hitRate\n      meanFactor\n      cutSegments\n    }\n  }\n  aggregate(by: POLICY_VERSION, filter: {runs: [$id]}, first: 500) {\n    ...CompressionOfVersion\n  }\n}\nfragment CompressionOfVersion on Aggregate {\n  key\n  policy {\n    id\n    version\n  }\n  images {\n    steps\n    visionTokens\n    textTokens\n    saved\n    meanFactor\n  }\n  rollouts {\n    rollouts\n    successRate\n  }\n}","asOf":"query ImagesPage($id: ID!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    run(id: $id) {\n      id\n      name\n      imageTotals {\n        steps\n        images\n        visionTokens\n        textTokens\n        saved\n        hitRate\n        meanFactor\n        cutSegments\n      }\n    }\n    aggregate(by: POLICY_VERSION, filter: {runs: [$id]}, first: 500) {\n      ...CompressionOfVersion\n    }\n  }\n}\nfragment CompressionOfVersion on Aggregate {\n  key\n  policy {\n    id\n    version\n  }\n  images {\n    steps\n    visionTokens\n    textTokens\n    saved\n    meanFactor\n  }\n  rollouts {\n    rollouts\n    successRate\n  }\n}"};
export const compressionOfPolicy: Operation<CompressionOfPolicyQuery, CompressionOfPolicyQueryVariables> = {"name":"CompressionOfPolicy","text":"query CompressionOfPolicy($policy: String!) {\n  aggregate(by: POLICY_VERSION, filter: {policy: $policy}, first: 500) {\n    ...CompressionOfVersion\n  }\n}\nfragment CompressionOfVersion on Aggregate {\n  key\n  policy {\n    id\n    version\n  }\n  images {\n    steps\n    visionTokens\n    textTokens\n    saved\n    meanFactor\n  }\n  rollouts {\n    rollouts\n    successRate\n  }\n}","asOf":"query CompressionOfPolicy($policy: String!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    aggregate(by: POLICY_VERSION, filter: {policy: $policy}, first: 500) {\n      ...CompressionOfVersion\n    }\n  }\n}\nfragment CompressionOfVersion on Aggregate {\n  key\n  policy {\n    id\n    version\n  }\n  images {\n    steps\n    visionTokens\n    textTokens\n    saved\n    meanFactor\n  }\n  rollouts {\n    rollouts\n    successRate\n  }\n}"};
export const runImages: Operation<RunImagesQuery, RunImagesQueryVariables> = {"name":"RunImages","text":"query RunImages($id: ID!, $first: Int!, $after: String, $orderBy: HistoryImageOrder!) {\n  run(id: $id) {\n    id\n    historyImages(first: $first, after: $after, orderBy: $orderBy) {\n      totalCount\n      pageInfo {\n        ...PageEnds\n      }\n      nodes {\n        id\n        url\n        stepId\n        width\n        height\n        factor\n        visionTokens\n        textTokens\n        history\n        step {\n          id\n          treeId\n          depth\n        }\n      }\n    }\n  }\n}\nfragment PageEnds on PageInfo {\n  endCursor\n  hasNextPage\n}","asOf":"query RunImages($id: ID!, $first: Int!, $after: String, $orderBy: HistoryImageOrder!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    run(id: $id) {\n      id\n      historyImages(first: $first, after: $after, orderBy: $orderBy) {\n        totalCount\n        pageInfo {\n          ...PageEnds\n        }\n        nodes {\n          id\n          url\n          stepId\n          width\n          height\n          factor\n          visionTokens\n          textTokens\n          history\n          step {\n            id\n            treeId\n            depth\n          }\n        }\n      }\n    }\n  }\n}\nfragment PageEnds on PageInfo {\n  endCursor\n  hasNextPage\n}"};
export const imageAtFactors: Operation<ImageAtFactorsQuery, ImageAtFactorsQueryVariables> = {"name":"ImageAtFactors","text":"query ImageAtFactors($step: ID!, $tree: ID, $factors: [Float!]!) {\n  step(id: $step, tree: $tree) {\n    id\n    depth\n    rolloutId\n    treeId\n    historyImage {\n      id\n      url\n      width\n      height\n      factor\n      textTokens\n      tokenizer\n      visionPreset\n      atFactors(factors: $factors) {\n        factor\n        shown\n        url\n        width\n        height\n        visionTokens\n        saved\n        linePixels\n        legibility\n      }\n    }\n  }\n}","asOf":"query ImageAtFactors($step: ID!, $tree: ID, $factors: [Float!]!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    step(id: $step, tree: $tree) {\n      id\n      depth\n      rolloutId\n      treeId\n      historyImage {\n        id\n        url\n        width\n        height\n        factor\n        textTokens\n        tokenizer\n        visionPreset\n        atFactors(factors: $factors) {\n          factor\n          shown\n          url\n          width\n          height\n          visionTokens\n          saved\n          linePixels\n          legibility\n        }\n      }\n    }\n  }\n}"};
export const lineageNode: Operation<LineageNodeQuery, LineageNodeQueryVariables> = {"name":"LineageNode","text":"query LineageNode($id: String!, $tree: ID, $whole: Boolean!) {\n  trace(id: $id, tree: $tree) {\n    kind\n    id\n    title\n    madeBy @include(if: $whole) {\n      total\n      first {\n        eventId\n        type\n        place\n      }\n    }\n    from {\n      ...LinksShown\n    }\n    usedBy {\n      ...LinksShown\n    }\n    touched @include(if: $whole) {\n      datasetsTotal\n      batchesTotal\n      versionsTotal\n      evaluationsTotal\n      datasets(first: 10) {\n        datasetId\n        name\n        version\n      }\n      batches(first: 10) {\n        batchId\n        policyId\n        ordinal\n      }\n      versions(first: 10) {\n        policyId\n        version\n      }\n      evaluations(first: 10) {\n        runId\n        policyId\n        version\n        meanReturn\n      }\n    }\n  }\n}\nfragment LinksShown on TraceLinks {\n  relation\n  total\n  first {\n    id\n    text\n  }\n}","asOf":"query LineageNode($id: String!, $tree: ID, $whole: Boolean!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    trace(id: $id, tree: $tree) {\n      kind\n      id\n      title\n      madeBy @include(if: $whole) {\n        total\n        first {\n          eventId\n          type\n          place\n        }\n      }\n      from {\n        ...LinksShown\n      }\n      usedBy {\n        ...LinksShown\n      }\n      touched @include(if: $whole) {\n        datasetsTotal\n        batchesTotal\n        versionsTotal\n        evaluationsTotal\n        datasets(first: 10) {\n          datasetId\n          name\n          version\n        }\n        batches(first: 10) {\n          batchId\n          policyId\n          ordinal\n        }\n        versions(first: 10) {\n          policyId\n          version\n        }\n        evaluations(first: 10) {\n          runId\n          policyId\n          version\n          meanReturn\n        }\n      }\n    }\n  }\n}\nfragment LinksShown on TraceLinks {\n  relation\n  total\n  first {\n    id\n    text\n  }\n}"};
export const lineagePage: Operation<LineagePageQuery, LineagePageQueryVariables> = {"name":"LineagePage","text":"query LineagePage($id: String!, $tree: ID) {\n  trace(id: $id, tree: $tree) {\n    kind\n    id\n    title\n    madeBy {\n      total\n      first {\n        eventId\n        type\n        place\n        occurredAt\n        envelope\n      }\n    }\n    from {\n      ...LinksShown\n    }\n    usedBy {\n      ...LinksShown\n    }\n    touched {\n      runsTotal\n      trees\n      rollouts\n      datasetsTotal\n      batchesTotal\n      versionsTotal\n      evaluationsTotal\n      datasets(first: 20) {\n        datasetId\n        name\n        version\n        examples\n        withdrawn\n      }\n      batches(first: 20) {\n        batchId\n        policyId\n        ordinal\n        samples\n        trained\n      }\n      versions(first: 20) {\n        policyId\n        version\n        how\n      }\n      evaluations(first: 20) {\n        runId\n        policyId\n        version\n        meanReturn\n        how\n      }\n    }\n  }\n}\nfragment LinksShown on TraceLinks {\n  relation\n  total\n  first {\n    id\n    text\n  }\n}","asOf":"query LineagePage($id: String!, $tree: ID, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    trace(id: $id, tree: $tree) {\n      kind\n      id\n      title\n      madeBy {\n        total\n        first {\n          eventId\n          type\n          place\n          occurredAt\n          envelope\n        }\n      }\n      from {\n        ...LinksShown\n      }\n      usedBy {\n        ...LinksShown\n      }\n      touched {\n        runsTotal\n        trees\n        rollouts\n        datasetsTotal\n        batchesTotal\n        versionsTotal\n        evaluationsTotal\n        datasets(first: 20) {\n          datasetId\n          name\n          version\n          examples\n          withdrawn\n        }\n        batches(first: 20) {\n          batchId\n          policyId\n          ordinal\n          samples\n          trained\n        }\n        versions(first: 20) {\n          policyId\n          version\n          how\n        }\n        evaluations(first: 20) {\n          runId\n          policyId\n          version\n          meanReturn\n          how\n        }\n      }\n    }\n  }\n}\nfragment LinksShown on TraceLinks {\n  relation\n  total\n  first {\n    id\n    text\n  }\n}"};
export const operationsPage: Operation<OperationsPageQuery, OperationsPageQueryVariables> = {"name":"OperationsPage","text":"query OperationsPage {\n  position\n  lag {\n    projection\n    version\n    build\n    state\n    reason\n    lag\n    partitions {\n      topic\n      partition\n      end\n      lag\n    }\n    builds {\n      version\n      build\n      state\n      done\n      of\n      secondsLeft\n    }\n  }\n  quarantine(first: 50) {\n    totalCount\n    nodes {\n      projection\n      topic\n      partition\n      offset\n      type\n      code\n      field\n      reason\n      quarantinedAt\n      requeuedAt\n    }\n  }\n  anomalies(first: 20) {\n    totalCount\n    nodes {\n      topic\n      partition\n      offset\n      kind\n      detail\n    }\n  }\n}","asOf":"query OperationsPage($atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    position\n    lag {\n      projection\n      version\n      build\n      state\n      reason\n      lag\n      partitions {\n        topic\n        partition\n        end\n        lag\n      }\n      builds {\n        version\n        build\n        state\n        done\n        of\n        secondsLeft\n      }\n    }\n    quarantine(first: 50) {\n      totalCount\n      nodes {\n        projection\n        topic\n        partition\n        offset\n        type\n        code\n        field\n        reason\n        quarantinedAt\n        requeuedAt\n      }\n    }\n    anomalies(first: 20) {\n      totalCount\n      nodes {\n        topic\n        partition\n        offset\n        kind\n        detail\n      }\n    }\n  }\n}"};
export const leases: Operation<LeasesQuery, LeasesQueryVariables> = {"name":"Leases","text":"query Leases {\n  policies {\n    id\n    batches(state: leased, first: 20) {\n      nodes {\n        id\n        ordinal\n        sampleCount\n        leases {\n          id\n          fence\n          consumer\n          leasedAt\n          deadline\n          endedAt\n        }\n      }\n    }\n  }\n}","asOf":"query Leases($atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    policies {\n      id\n      batches(state: leased, first: 20) {\n        nodes {\n          id\n          ordinal\n          sampleCount\n          leases {\n            id\n            fence\n            consumer\n            leasedAt\n            deadline\n            endedAt\n          }\n        }\n      }\n    }\n  }\n}"};
export const replays: Operation<ReplaysQuery, ReplaysQueryVariables> = {"name":"Replays","text":"query Replays($first: Int!, $after: String) {\n  replays(first: $first, after: $after) {\n    totalCount\n    nodes {\n      id\n      mode\n      outcome\n      compared\n      differing\n      differences {\n        eventId\n        stepId\n        field\n        recorded\n        replayed\n      }\n      notes\n      parameters\n      codeVersion\n      seconds\n      finishedAt\n      runId\n      run {\n        id\n        name\n      }\n    }\n    pageInfo {\n      ...PageEnds\n    }\n  }\n}\nfragment PageEnds on PageInfo {\n  endCursor\n  hasNextPage\n}","asOf":"query Replays($first: Int!, $after: String, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    replays(first: $first, after: $after) {\n      totalCount\n      nodes {\n        id\n        mode\n        outcome\n        compared\n        differing\n        differences {\n          eventId\n          stepId\n          field\n          recorded\n          replayed\n        }\n        notes\n        parameters\n        codeVersion\n        seconds\n        finishedAt\n        runId\n        run {\n          id\n          name\n        }\n      }\n      pageInfo {\n        ...PageEnds\n      }\n    }\n  }\n}\nfragment PageEnds on PageInfo {\n  endCursor\n  hasNextPage\n}"};
export const verifications: Operation<VerificationsQuery, VerificationsQueryVariables> = {"name":"Verifications","text":"query Verifications($first: Int!, $after: String) {\n  verifications(first: $first, after: $after) {\n    totalCount\n    nodes {\n      id\n      finishedAt\n      seconds\n      codeVersion\n      intact\n      faulty\n      doubtful\n      foreign\n      counts {\n        events\n        records\n        blobs\n        batches\n        checkpoints\n        files\n        prompts\n        anchored\n      }\n      faults {\n        what\n        kind\n        place\n      }\n    }\n    pageInfo {\n      ...PageEnds\n    }\n  }\n}\nfragment PageEnds on PageInfo {\n  endCursor\n  hasNextPage\n}","asOf":"query Verifications($first: Int!, $after: String, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    verifications(first: $first, after: $after) {\n      totalCount\n      nodes {\n        id\n        finishedAt\n        seconds\n        codeVersion\n        intact\n        faulty\n        doubtful\n        foreign\n        counts {\n          events\n          records\n          blobs\n          batches\n          checkpoints\n          files\n          prompts\n          anchored\n        }\n        faults {\n          what\n          kind\n          place\n        }\n      }\n      pageInfo {\n        ...PageEnds\n      }\n    }\n  }\n}\nfragment PageEnds on PageInfo {\n  endCursor\n  hasNextPage\n}"};
export const requeue: Operation<RequeueMutation, RequeueMutationVariables> = {"name":"Requeue","text":"mutation Requeue($places: [String!]!, $reason: String!) {\n  requeue(places: $places, reason: $reason) {\n    projection\n    place\n    appended\n    outcome\n    reason\n  }\n}","asOf":null};
export const pageSubject: Operation<PageSubjectQuery, PageSubjectQueryVariables> = {"name":"PageSubject","text":"query PageSubject($id: ID!, $tree: ID) {\n  run(id: $id) {\n    id\n  }\n  tree(id: $id) {\n    id\n  }\n  rollout(id: $id, tree: $tree) {\n    id\n    treeId\n  }\n}","asOf":"query PageSubject($id: ID!, $tree: ID, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    run(id: $id) {\n      id\n    }\n    tree(id: $id) {\n      id\n    }\n    rollout(id: $id, tree: $tree) {\n      id\n      treeId\n    }\n  }\n}"};
export const pageSteps: Operation<PageStepsQuery, PageStepsQueryVariables> = {"name":"PageSteps","text":"query PageSteps($tree: ID!, $first: Int!, $after: SafeInt) {\n  tree(id: $tree) {\n    id\n    steps(first: $first, after: $after) {\n      ...StepInPage\n    }\n  }\n}\nfragment AnnotationShown on Annotation {\n  id\n  treeId\n  kind\n  label\n  score\n  note\n  principal\n  author\n  addedAt\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}\nfragment NodeShown on Step {\n  id\n  largeTexts {\n    ...LargeTextsNamed\n  }\n  depth\n  action\n  thought\n  observation\n  executable\n  termination\n  rolloutId\n  rewards {\n    id\n    component\n    value\n  }\n}\nfragment StepCompared on Step {\n  id\n  depth\n  thought\n  action\n  observation\n  largeTexts {\n    ...LargeTextsNamed\n  }\n  rewards {\n    id\n    component\n    value\n  }\n}\nfragment StepInPage on Step {\n  logOffset\n  treeId\n  ...StepShown\n  ...NodeShown\n  ...StepCompared\n  ...StepRendered\n}\nfragment StepRendered on Step {\n  id\n  depth\n  action\n  thought\n  observation\n  executable\n  termination\n  stateHash\n  rewards {\n    id\n    component\n    value\n  }\n  toolCalls {\n    id\n    tool\n    arguments\n    output\n    outcome\n  }\n}\nfragment StepShown on Step {\n  id\n  largeTexts {\n    ...LargeTextsNamed\n  }\n  depth\n  parentId\n  rolloutId\n  thought\n  reply {\n    reasoning\n    toolCalls {\n      id\n      name\n      arguments\n    }\n  }\n  action\n  response\n  observation\n  wellFormatted\n  executable\n  termination\n  stateHash\n  occurredAt\n  timings {\n    policyMs\n    environmentMs\n  }\n  tokens {\n    ids {\n      length\n    }\n  }\n  annotations {\n    ...AnnotationShown\n  }\n  rewards {\n    id\n    component\n    value\n    assignedValue\n    revisionCount\n    scorer {\n      name\n      revision\n    }\n  }\n  toolCalls {\n    id\n    ordinal\n    tool\n    arguments\n    output\n    outcome\n    durationMs\n    largeTexts {\n      ...LargeTextsNamed\n    }\n  }\n  pictures {\n    id\n    url\n    width\n    height\n  }\n  hasPrompt\n  historyImage {\n    id\n    factor\n    visionTokens\n    textTokens\n  }\n}","asOf":"query PageSteps($tree: ID!, $first: Int!, $after: SafeInt, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    tree(id: $tree) {\n      id\n      steps(first: $first, after: $after) {\n        ...StepInPage\n      }\n    }\n  }\n}\nfragment AnnotationShown on Annotation {\n  id\n  treeId\n  kind\n  label\n  score\n  note\n  principal\n  author\n  addedAt\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}\nfragment NodeShown on Step {\n  id\n  largeTexts {\n    ...LargeTextsNamed\n  }\n  depth\n  action\n  thought\n  observation\n  executable\n  termination\n  rolloutId\n  rewards {\n    id\n    component\n    value\n  }\n}\nfragment StepCompared on Step {\n  id\n  depth\n  thought\n  action\n  observation\n  largeTexts {\n    ...LargeTextsNamed\n  }\n  rewards {\n    id\n    component\n    value\n  }\n}\nfragment StepInPage on Step {\n  logOffset\n  treeId\n  ...StepShown\n  ...NodeShown\n  ...StepCompared\n  ...StepRendered\n}\nfragment StepRendered on Step {\n  id\n  depth\n  action\n  thought\n  observation\n  executable\n  termination\n  stateHash\n  rewards {\n    id\n    component\n    value\n  }\n  toolCalls {\n    id\n    tool\n    arguments\n    output\n    outcome\n  }\n}\nfragment StepShown on Step {\n  id\n  largeTexts {\n    ...LargeTextsNamed\n  }\n  depth\n  parentId\n  rolloutId\n  thought\n  reply {\n    reasoning\n    toolCalls {\n      id\n      name\n      arguments\n    }\n  }\n  action\n  response\n  observation\n  wellFormatted\n  executable\n  termination\n  stateHash\n  occurredAt\n  timings {\n    policyMs\n    environmentMs\n  }\n  tokens {\n    ids {\n      length\n    }\n  }\n  annotations {\n    ...AnnotationShown\n  }\n  rewards {\n    id\n    component\n    value\n    assignedValue\n    revisionCount\n    scorer {\n      name\n      revision\n    }\n  }\n  toolCalls {\n    id\n    ordinal\n    tool\n    arguments\n    output\n    outcome\n    durationMs\n    largeTexts {\n      ...LargeTextsNamed\n    }\n  }\n  pictures {\n    id\n    url\n    width\n    height\n  }\n  hasPrompt\n  historyImage {\n    id\n    factor\n    visionTokens\n    textTokens\n  }\n}"};
export const pageStepsWithPrompts: Operation<PageStepsWithPromptsQuery, PageStepsWithPromptsQueryVariables> = {"name":"PageStepsWithPrompts","text":"query PageStepsWithPrompts($tree: ID!, $first: Int!, $after: SafeInt) {\n  tree(id: $tree) {\n    id\n    steps(first: $first, after: $after) {\n      ...StepInPage\n      ...PromptShown\n      ...TokensShown\n    }\n  }\n}\nfragment AnnotationShown on Annotation {\n  id\n  treeId\n  kind\n  label\n  score\n  note\n  principal\n  author\n  addedAt\n}\nfragment ImageShown on HistoryImage {\n  id\n  url\n  width\n  height\n  factor\n  visionTokens\n  textTokens\n  saved\n  cutLines\n  cutSegments\n  unshaped\n  raw {\n    width\n    height\n  }\n  resized {\n    width\n    height\n  }\n  renderSpec {\n    spec\n  }\n  segments {\n    id\n    place\n    hit\n    text\n    height\n    forgotten\n    largeTexts {\n      ...LargeTextsNamed\n    }\n  }\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}\nfragment NodeShown on Step {\n  id\n  largeTexts {\n    ...LargeTextsNamed\n  }\n  depth\n  action\n  thought\n  observation\n  executable\n  termination\n  rolloutId\n  rewards {\n    id\n    component\n    value\n  }\n}\nfragment PackedNumbers on PackedArray {\n  dtype\n  length\n  base64\n}\nfragment PromptShown on Step {\n  id\n  prompt {\n    sha256\n    tools\n    model\n    server\n    template {\n      name\n      version\n    }\n    sampling {\n      temperature\n      topP\n      topK\n      minP\n      repetitionPenalty\n      maxTokens\n      others {\n        name\n        value\n      }\n    }\n    messages {\n      role\n      toolCallId\n      name\n      parts {\n        text\n        reasoning\n        toolCall {\n          id\n          name\n          arguments\n        }\n        image {\n          ...ImageShown\n        }\n        picture {\n          id\n          url\n          width\n          height\n        }\n      }\n    }\n  }\n  historyImage {\n    ...ImageShown\n  }\n}\nfragment StepCompared on Step {\n  id\n  depth\n  thought\n  action\n  observation\n  largeTexts {\n    ...LargeTextsNamed\n  }\n  rewards {\n    id\n    component\n    value\n  }\n}\nfragment StepInPage on Step {\n  logOffset\n  treeId\n  ...StepShown\n  ...NodeShown\n  ...StepCompared\n  ...StepRendered\n}\nfragment StepRendered on Step {\n  id\n  depth\n  action\n  thought\n  observation\n  executable\n  termination\n  stateHash\n  rewards {\n    id\n    component\n    value\n  }\n  toolCalls {\n    id\n    tool\n    arguments\n    output\n    outcome\n  }\n}\nfragment StepShown on Step {\n  id\n  largeTexts {\n    ...LargeTextsNamed\n  }\n  depth\n  parentId\n  rolloutId\n  thought\n  reply {\n    reasoning\n    toolCalls {\n      id\n      name\n      arguments\n    }\n  }\n  action\n  response\n  observation\n  wellFormatted\n  executable\n  termination\n  stateHash\n  occurredAt\n  timings {\n    policyMs\n    environmentMs\n  }\n  tokens {\n    ids {\n      length\n    }\n  }\n  annotations {\n    ...AnnotationShown\n  }\n  rewards {\n    id\n    component\n    value\n    assignedValue\n    revisionCount\n    scorer {\n      name\n      revision\n    }\n  }\n  toolCalls {\n    id\n    ordinal\n    tool\n    arguments\n    output\n    outcome\n    durationMs\n    largeTexts {\n      ...LargeTextsNamed\n    }\n  }\n  pictures {\n    id\n    url\n    width\n    height\n  }\n  hasPrompt\n  historyImage {\n    id\n    factor\n    visionTokens\n    textTokens\n  }\n}\nfragment TokensShown on Step {\n  id\n  tokenTexts\n  tokens {\n    ids {\n      ...PackedNumbers\n    }\n    logProbs {\n      ...PackedNumbers\n    }\n    mask {\n      ...PackedNumbers\n    }\n    entropies {\n      ...PackedNumbers\n    }\n  }\n  policySpans {\n    from\n    to\n    policyId\n    version\n  }\n  estimate {\n    advantage\n    value\n    target\n    tokenAdvantages\n    newLogProbs\n  }\n}","asOf":"query PageStepsWithPrompts($tree: ID!, $first: Int!, $after: SafeInt, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    tree(id: $tree) {\n      id\n      steps(first: $first, after: $after) {\n        ...StepInPage\n        ...PromptShown\n        ...TokensShown\n      }\n    }\n  }\n}\nfragment AnnotationShown on Annotation {\n  id\n  treeId\n  kind\n  label\n  score\n  note\n  principal\n  author\n  addedAt\n}\nfragment ImageShown on HistoryImage {\n  id\n  url\n  width\n  height\n  factor\n  visionTokens\n  textTokens\n  saved\n  cutLines\n  cutSegments\n  unshaped\n  raw {\n    width\n    height\n  }\n  resized {\n    width\n    height\n  }\n  renderSpec {\n    spec\n  }\n  segments {\n    id\n    place\n    hit\n    text\n    height\n    forgotten\n    largeTexts {\n      ...LargeTextsNamed\n    }\n  }\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}\nfragment NodeShown on Step {\n  id\n  largeTexts {\n    ...LargeTextsNamed\n  }\n  depth\n  action\n  thought\n  observation\n  executable\n  termination\n  rolloutId\n  rewards {\n    id\n    component\n    value\n  }\n}\nfragment PackedNumbers on PackedArray {\n  dtype\n  length\n  base64\n}\nfragment PromptShown on Step {\n  id\n  prompt {\n    sha256\n    tools\n    model\n    server\n    template {\n      name\n      version\n    }\n    sampling {\n      temperature\n      topP\n      topK\n      minP\n      repetitionPenalty\n      maxTokens\n      others {\n        name\n        value\n      }\n    }\n    messages {\n      role\n      toolCallId\n      name\n      parts {\n        text\n        reasoning\n        toolCall {\n          id\n          name\n          arguments\n        }\n        image {\n          ...ImageShown\n        }\n        picture {\n          id\n          url\n          width\n          height\n        }\n      }\n    }\n  }\n  historyImage {\n    ...ImageShown\n  }\n}\nfragment StepCompared on Step {\n  id\n  depth\n  thought\n  action\n  observation\n  largeTexts {\n    ...LargeTextsNamed\n  }\n  rewards {\n    id\n    component\n    value\n  }\n}\nfragment StepInPage on Step {\n  logOffset\n  treeId\n  ...StepShown\n  ...NodeShown\n  ...StepCompared\n  ...StepRendered\n}\nfragment StepRendered on Step {\n  id\n  depth\n  action\n  thought\n  observation\n  executable\n  termination\n  stateHash\n  rewards {\n    id\n    component\n    value\n  }\n  toolCalls {\n    id\n    tool\n    arguments\n    output\n    outcome\n  }\n}\nfragment StepShown on Step {\n  id\n  largeTexts {\n    ...LargeTextsNamed\n  }\n  depth\n  parentId\n  rolloutId\n  thought\n  reply {\n    reasoning\n    toolCalls {\n      id\n      name\n      arguments\n    }\n  }\n  action\n  response\n  observation\n  wellFormatted\n  executable\n  termination\n  stateHash\n  occurredAt\n  timings {\n    policyMs\n    environmentMs\n  }\n  tokens {\n    ids {\n      length\n    }\n  }\n  annotations {\n    ...AnnotationShown\n  }\n  rewards {\n    id\n    component\n    value\n    assignedValue\n    revisionCount\n    scorer {\n      name\n      revision\n    }\n  }\n  toolCalls {\n    id\n    ordinal\n    tool\n    arguments\n    output\n    outcome\n    durationMs\n    largeTexts {\n      ...LargeTextsNamed\n    }\n  }\n  pictures {\n    id\n    url\n    width\n    height\n  }\n  hasPrompt\n  historyImage {\n    id\n    factor\n    visionTokens\n    textTokens\n  }\n}\nfragment TokensShown on Step {\n  id\n  tokenTexts\n  tokens {\n    ids {\n      ...PackedNumbers\n    }\n    logProbs {\n      ...PackedNumbers\n    }\n    mask {\n      ...PackedNumbers\n    }\n    entropies {\n      ...PackedNumbers\n    }\n  }\n  policySpans {\n    from\n    to\n    policyId\n    version\n  }\n  estimate {\n    advantage\n    value\n    target\n    tokenAdvantages\n    newLogProbs\n  }\n}"};
export const renderedTask: Operation<RenderedTaskQuery, RenderedTaskQueryVariables> = {"name":"RenderedTask","text":"query RenderedTask($tree: ID!) {\n  tree(id: $tree) {\n    id\n    instruction\n    task {\n      environment\n      alias\n      goal\n    }\n    run {\n      id\n      environments {\n        environment\n        renderer {\n          sha256\n          source\n        }\n      }\n    }\n  }\n}","asOf":"query RenderedTask($tree: ID!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    tree(id: $tree) {\n      id\n      instruction\n      task {\n        environment\n        alias\n        goal\n      }\n      run {\n        id\n        environments {\n          environment\n          renderer {\n            sha256\n            source\n          }\n        }\n      }\n    }\n  }\n}"};
export const renderedPath: Operation<RenderedPathQuery, RenderedPathQueryVariables> = {"name":"RenderedPath","text":"query RenderedPath($leaf: ID!, $tree: ID) {\n  path(leaf: $leaf, tree: $tree, first: 2000) {\n    ...StepRendered\n  }\n}\nfragment StepRendered on Step {\n  id\n  depth\n  action\n  thought\n  observation\n  executable\n  termination\n  stateHash\n  rewards {\n    id\n    component\n    value\n  }\n  toolCalls {\n    id\n    tool\n    arguments\n    output\n    outcome\n  }\n}","asOf":"query RenderedPath($leaf: ID!, $tree: ID, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    path(leaf: $leaf, tree: $tree, first: 2000) {\n      ...StepRendered\n    }\n  }\n}\nfragment StepRendered on Step {\n  id\n  depth\n  action\n  thought\n  observation\n  executable\n  termination\n  stateHash\n  rewards {\n    id\n    component\n    value\n  }\n  toolCalls {\n    id\n    tool\n    arguments\n    output\n    outcome\n  }\n}"};
export const groupLeaves: Operation<GroupLeavesQuery, GroupLeavesQueryVariables> = {"name":"GroupLeaves","text":"query GroupLeaves($id: ID!) {\n  tree(id: $id) {\n    id\n    rollouts {\n      id\n      ordinal\n      leafId\n    }\n  }\n}","asOf":"query GroupLeaves($id: ID!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    tree(id: $id) {\n      id\n      rollouts {\n        id\n        ordinal\n        leafId\n      }\n    }\n  }\n}"};
export const revisionPage: Operation<RevisionPageQuery, RevisionPageQueryVariables> = {"name":"RevisionPage","text":"query RevisionPage($id: ID!, $tree: ID) {\n  revision(id: $id, tree: $tree) {\n    id\n    treeId\n    runId\n    cause\n    judged\n    reflection\n    signal\n    alpha\n    beta\n    judge\n    state\n    reached\n    threshold\n    reason\n    detail\n    tree {\n      id\n      instruction\n      largeTexts {\n        ...LargeTextsNamed\n      }\n      root {\n        id\n        observation\n        largeTexts {\n          ...LargeTextsNamed\n        }\n      }\n      task {\n        alias\n        goal\n      }\n      run {\n        id\n        name\n      }\n    }\n    goodLeaf {\n      id\n      rolloutId\n    }\n    badLeaf {\n      id\n      rolloutId\n    }\n    transition {\n      id\n      depth\n    }\n    rejectedAt {\n      id\n      depth\n    }\n    judgements {\n      id\n      stepId\n      verdict\n      reply\n      reusedFrom\n      largeTexts {\n        ...LargeTextsNamed\n      }\n      step {\n        id\n        depth\n        action\n        observation\n        largeTexts {\n          ...LargeTextsNamed\n        }\n      }\n    }\n    turns {\n      part\n      stepId\n      response\n      observation\n      loss\n      responseTokens\n      observationTokens\n    }\n    datasets(first: 20) {\n      nodes {\n        id\n        name\n        version\n      }\n    }\n  }\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}","asOf":"query RevisionPage($id: ID!, $tree: ID, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    revision(id: $id, tree: $tree) {\n      id\n      treeId\n      runId\n      cause\n      judged\n      reflection\n      signal\n      alpha\n      beta\n      judge\n      state\n      reached\n      threshold\n      reason\n      detail\n      tree {\n        id\n        instruction\n        largeTexts {\n          ...LargeTextsNamed\n        }\n        root {\n          id\n          observation\n          largeTexts {\n            ...LargeTextsNamed\n          }\n        }\n        task {\n          alias\n          goal\n        }\n        run {\n          id\n          name\n        }\n      }\n      goodLeaf {\n        id\n        rolloutId\n      }\n      badLeaf {\n        id\n        rolloutId\n      }\n      transition {\n        id\n        depth\n      }\n      rejectedAt {\n        id\n        depth\n      }\n      judgements {\n        id\n        stepId\n        verdict\n        reply\n        reusedFrom\n        largeTexts {\n          ...LargeTextsNamed\n        }\n        step {\n          id\n          depth\n          action\n          observation\n          largeTexts {\n            ...LargeTextsNamed\n          }\n        }\n      }\n      turns {\n        part\n        stepId\n        response\n        observation\n        loss\n        responseTokens\n        observationTokens\n      }\n      datasets(first: 20) {\n        nodes {\n          id\n          name\n          version\n        }\n      }\n    }\n  }\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}"};
export const runRevisions: Operation<RunRevisionsQuery, RunRevisionsQueryVariables> = {"name":"RunRevisions","text":"query RunRevisions($id: ID!, $first: Int!, $filter: RevisionFilter) {\n  run(id: $id) {\n    id\n    revisions(first: $first, filter: $filter) {\n      totalCount\n      nodes {\n        id\n        treeId\n        cause\n        state\n        reason\n        reached\n        threshold\n        judge\n        tree {\n          ...TreeNamed\n        }\n      }\n    }\n  }\n}\nfragment TreeNamed on Tree {\n  id\n  task {\n    alias\n    goal\n  }\n}","asOf":"query RunRevisions($id: ID!, $first: Int!, $filter: RevisionFilter, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    run(id: $id) {\n      id\n      revisions(first: $first, filter: $filter) {\n        totalCount\n        nodes {\n          id\n          treeId\n          cause\n          state\n          reason\n          reached\n          threshold\n          judge\n          tree {\n            ...TreeNamed\n          }\n        }\n      }\n    }\n  }\n}\nfragment TreeNamed on Tree {\n  id\n  task {\n    alias\n    goal\n  }\n}"};
export const runPage: Operation<RunPageQuery, RunPageQueryVariables> = {"name":"RunPage","text":"query RunPage($id: ID!) {\n  run(id: $id) {\n    id\n    name\n    kind\n    codeVersion\n    config\n    project\n    owner\n    startedAt\n    finishedAt\n    outcome\n    message\n    forgotten\n    policy {\n      id\n      version\n    }\n    environments {\n      environment\n      fingerprint\n    }\n    forkOf {\n      run {\n        id\n        name\n      }\n    }\n    forks {\n      id\n      name\n    }\n    totals {\n      trees\n      closedTrees\n      rollouts\n      terminated\n      truncated\n      failed\n      cancelled\n      steps\n      successes\n      successRate\n      meanReturn\n      unclearCalls\n      lostParts\n    }\n    successByDepth {\n      taskDepth\n      tasks\n      finished\n      successes\n      meanReturn\n      meanSteps\n    }\n    imageTotals {\n      steps\n      visionTokens\n      textTokens\n      saved\n      hitRate\n      meanFactor\n    }\n  }\n}","asOf":"query RunPage($id: ID!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    run(id: $id) {\n      id\n      name\n      kind\n      codeVersion\n      config\n      project\n      owner\n      startedAt\n      finishedAt\n      outcome\n      message\n      forgotten\n      policy {\n        id\n        version\n      }\n      environments {\n        environment\n        fingerprint\n      }\n      forkOf {\n        run {\n          id\n          name\n        }\n      }\n      forks {\n        id\n        name\n      }\n      totals {\n        trees\n        closedTrees\n        rollouts\n        terminated\n        truncated\n        failed\n        cancelled\n        steps\n        successes\n        successRate\n        meanReturn\n        unclearCalls\n        lostParts\n      }\n      successByDepth {\n        taskDepth\n        tasks\n        finished\n        successes\n        meanReturn\n        meanSteps\n      }\n      imageTotals {\n        steps\n        visionTokens\n        textTokens\n        saved\n        hitRate\n        meanFactor\n      }\n    }\n  }\n}"};
export const runTrees: Operation<RunTreesQuery, RunTreesQueryVariables> = {"name":"RunTrees","text":"query RunTrees($id: ID!, $first: Int!, $after: String, $orderBy: TreeOrder!) {\n  trees(filter: {run: $id}, first: $first, after: $after, orderBy: $orderBy) {\n    totalCount\n    pageInfo {\n      ...PageEnds\n    }\n    nodes {\n      id\n      closedAt\n      simulations\n      returnVariance\n      size {\n        steps\n        depth\n      }\n      task {\n        alias\n        goal\n        depth\n      }\n      rollouts {\n        id\n        ordinal\n        outcome\n        success\n        return\n        stepCount\n        reason\n      }\n    }\n  }\n}\nfragment PageEnds on PageInfo {\n  endCursor\n  hasNextPage\n}","asOf":"query RunTrees($id: ID!, $first: Int!, $after: String, $orderBy: TreeOrder!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    trees(filter: {run: $id}, first: $first, after: $after, orderBy: $orderBy) {\n      totalCount\n      pageInfo {\n        ...PageEnds\n      }\n      nodes {\n        id\n        closedAt\n        simulations\n        returnVariance\n        size {\n          steps\n          depth\n        }\n        task {\n          alias\n          goal\n          depth\n        }\n        rollouts {\n          id\n          ordinal\n          outcome\n          success\n          return\n          stepCount\n          reason\n        }\n      }\n    }\n  }\n}\nfragment PageEnds on PageInfo {\n  endCursor\n  hasNextPage\n}"};
export const runComponents: Operation<RunComponentsQuery, RunComponentsQueryVariables> = {"name":"RunComponents","text":"query RunComponents($ids: [ID!]!) {\n  aggregate(by: RUN, filter: {runs: $ids}) {\n    key\n    components {\n      component\n      rewards\n      mean\n      min\n      max\n    }\n    steps {\n      steps\n      wellFormatted\n      executable\n      promptTokens\n      completionTokens\n      policyMs\n      environmentMs\n    }\n    tools {\n      calls\n      errors\n    }\n  }\n}","asOf":"query RunComponents($ids: [ID!]!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    aggregate(by: RUN, filter: {runs: $ids}) {\n      key\n      components {\n        component\n        rewards\n        mean\n        min\n        max\n      }\n      steps {\n        steps\n        wellFormatted\n        executable\n        promptTokens\n        completionTokens\n        policyMs\n        environmentMs\n      }\n      tools {\n        calls\n        errors\n      }\n    }\n  }\n}"};
export const runFailures: Operation<RunFailuresQuery, RunFailuresQueryVariables> = {"name":"RunFailures","text":"query RunFailures($id: ID!) {\n  succeeded: rollouts(\n    filter: {run: $id, outcomes: [terminated], success: true}\n    first: 20\n  ) {\n    ...Ended\n  }\n  without: rollouts(\n    filter: {run: $id, outcomes: [terminated], success: false}\n    first: 20\n  ) {\n    ...Ended\n  }\n  ended: rollouts(filter: {run: $id, outcomes: [terminated]}, first: 1) {\n    totalCount\n  }\n  truncated: rollouts(filter: {run: $id, outcomes: [truncated]}, first: 20) {\n    ...Ended\n  }\n  rollouts(filter: {run: $id, outcomes: [failed, cancelled]}, first: 200) {\n    totalCount\n    nodes {\n      id\n      treeId\n      outcome\n      reason\n    }\n  }\n}\nfragment Ended on RolloutConnection {\n  totalCount\n  nodes {\n    id\n    treeId\n    ordinal\n    tree {\n      ...TreeNamed\n    }\n  }\n}\nfragment TreeNamed on Tree {\n  id\n  task {\n    alias\n    goal\n  }\n}","asOf":"query RunFailures($id: ID!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    succeeded: rollouts(\n      filter: {run: $id, outcomes: [terminated], success: true}\n      first: 20\n    ) {\n      ...Ended\n    }\n    without: rollouts(\n      filter: {run: $id, outcomes: [terminated], success: false}\n      first: 20\n    ) {\n      ...Ended\n    }\n    ended: rollouts(filter: {run: $id, outcomes: [terminated]}, first: 1) {\n      totalCount\n    }\n    truncated: rollouts(filter: {run: $id, outcomes: [truncated]}, first: 20) {\n      ...Ended\n    }\n    rollouts(filter: {run: $id, outcomes: [failed, cancelled]}, first: 200) {\n      totalCount\n      nodes {\n        id\n        treeId\n        outcome\n        reason\n      }\n    }\n  }\n}\nfragment Ended on RolloutConnection {\n  totalCount\n  nodes {\n    id\n    treeId\n    ordinal\n    tree {\n      ...TreeNamed\n    }\n  }\n}\nfragment TreeNamed on Tree {\n  id\n  task {\n    alias\n    goal\n  }\n}"};
export const runLengths: Operation<RunLengthsQuery, RunLengthsQueryVariables> = {"name":"RunLengths","text":"query RunLengths($id: ID!, $first: Int!) {\n  rollouts(filter: {run: $id, finished: true}, first: $first) {\n    totalCount\n    nodes {\n      id\n      treeId\n      ordinal\n      stepCount\n      return\n      success\n      outcome\n      policy {\n        id\n        version\n      }\n    }\n  }\n}","asOf":"query RunLengths($id: ID!, $first: Int!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    rollouts(filter: {run: $id, finished: true}, first: $first) {\n      totalCount\n      nodes {\n        id\n        treeId\n        ordinal\n        stepCount\n        return\n        success\n        outcome\n        policy {\n          id\n          version\n        }\n      }\n    }\n  }\n}"};
export const runs: Operation<RunsQuery, RunsQueryVariables> = {"name":"Runs","text":"query Runs($filter: RunFilter, $first: Int!, $after: String) {\n  runs(filter: $filter, first: $first, after: $after) {\n    pageInfo {\n      ...PageEnds\n    }\n    nodes {\n      id\n      name\n      kind\n      startedAt\n      finishedAt\n      outcome\n      message\n      policy {\n        id\n        version\n      }\n      environments {\n        environment\n      }\n      totals {\n        trees\n        closedTrees\n        rollouts\n        terminated\n        truncated\n        failed\n        cancelled\n        steps\n        successes\n        successRate\n        meanReturn\n        promptTokens\n        completionTokens\n      }\n      activity {\n        events\n        lastEventAt\n        eventsPerSecond\n      }\n      failures(first: 2) {\n        reason\n        rollouts\n        rolloutId\n        treeId\n      }\n      lastReturns(last: 30)\n    }\n  }\n}\nfragment PageEnds on PageInfo {\n  endCursor\n  hasNextPage\n}","asOf":"query Runs($filter: RunFilter, $first: Int!, $after: String, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    runs(filter: $filter, first: $first, after: $after) {\n      pageInfo {\n        ...PageEnds\n      }\n      nodes {\n        id\n        name\n        kind\n        startedAt\n        finishedAt\n        outcome\n        message\n        policy {\n          id\n          version\n        }\n        environments {\n          environment\n        }\n        totals {\n          trees\n          closedTrees\n          rollouts\n          terminated\n          truncated\n          failed\n          cancelled\n          steps\n          successes\n          successRate\n          meanReturn\n          promptTokens\n          completionTokens\n        }\n        activity {\n          events\n          lastEventAt\n          eventsPerSecond\n        }\n        failures(first: 2) {\n          reason\n          rollouts\n          rolloutId\n          treeId\n        }\n        lastReturns(last: 30)\n      }\n    }\n  }\n}\nfragment PageEnds on PageInfo {\n  endCursor\n  hasNextPage\n}"};
export const runFilters: Operation<RunFiltersQuery, RunFiltersQueryVariables> = {"name":"RunFilters","text":"query RunFilters {\n  policies {\n    id\n  }\n  annotationLabels {\n    label\n  }\n}","asOf":"query RunFilters($atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    policies {\n      id\n    }\n    annotationLabels {\n      label\n    }\n  }\n}"};
export const behindTheLog: Operation<BehindTheLogQuery, BehindTheLogQueryVariables> = {"name":"BehindTheLog","text":"query BehindTheLog {\n  lag {\n    projection\n    state\n    lag\n  }\n}","asOf":"query BehindTheLog($atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    lag {\n      projection\n      state\n      lag\n    }\n  }\n}"};
export const live: Operation<LiveSubscription, LiveSubscriptionVariables> = {"name":"Live","text":"subscription Live($after: String, $run: ID) {\n  events(after: $after, run: $run) {\n    position\n    type\n    runId\n  }\n}","asOf":null};
export const state: Operation<StateQuery, StateQueryVariables> = {"name":"State","text":"query State {\n  viewer {\n    name\n    scopes\n  }\n  position\n  lag {\n    projection\n    state\n    lag\n  }\n}","asOf":"query State($atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    viewer {\n      name\n      scopes\n    }\n    position\n    lag {\n      projection\n      state\n      lag\n    }\n  }\n}"};
export const policies: Operation<PoliciesQuery, PoliciesQueryVariables> = {"name":"Policies","text":"query Policies {\n  policies {\n    id\n    declaredAt\n    estimator {\n      name\n    }\n    newest {\n      version\n    }\n  }\n}","asOf":"query Policies($atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    policies {\n      id\n      declaredAt\n      estimator {\n        name\n      }\n      newest {\n        version\n      }\n    }\n  }\n}"};
export const policyPage: Operation<PolicyPageQuery, PolicyPageQueryVariables> = {"name":"PolicyPage","text":"query PolicyPage($id: String!, $first: Int!) {\n  policy(id: $id) {\n    id\n    declaredAt\n    estimator {\n      name\n    }\n    declaration {\n      backend\n      preset\n      rules\n      loss {\n        name\n      }\n      kl\n    }\n    versions(first: $first) {\n      nodes {\n        version\n        samples\n        metrics\n        batch {\n          id\n          ordinal\n        }\n      }\n    }\n  }\n}","asOf":"query PolicyPage($id: String!, $first: Int!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    policy(id: $id) {\n      id\n      declaredAt\n      estimator {\n        name\n      }\n      declaration {\n        backend\n        preset\n        rules\n        loss {\n          name\n        }\n        kl\n      }\n      versions(first: $first) {\n        nodes {\n          version\n          samples\n          metrics\n          batch {\n            id\n            ordinal\n          }\n        }\n      }\n    }\n  }\n}"};
export const policyOutcomes: Operation<PolicyOutcomesQuery, PolicyOutcomesQueryVariables> = {"name":"PolicyOutcomes","text":"query PolicyOutcomes($id: String!, $first: Int!) {\n  policy(id: $id) {\n    id\n    versions(first: $first) {\n      nodes {\n        version\n        outcome {\n          successRate\n          meanReturn\n          staleness\n          tokensPerSecond\n        }\n      }\n    }\n  }\n}","asOf":"query PolicyOutcomes($id: String!, $first: Int!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    policy(id: $id) {\n      id\n      versions(first: $first) {\n        nodes {\n          version\n          outcome {\n            successRate\n            meanReturn\n            staleness\n            tokensPerSecond\n          }\n        }\n      }\n    }\n  }\n}"};
export const policyWaiting: Operation<PolicyWaitingQuery, PolicyWaitingQueryVariables> = {"name":"PolicyWaiting","text":"query PolicyWaiting($id: String!) {\n  policy(id: $id) {\n    id\n    waiting {\n      for\n      next\n      openGroups\n      closedGroups\n      readyGroups\n      rejectedGroups {\n        reason\n        groups\n      }\n    }\n  }\n}","asOf":"query PolicyWaiting($id: String!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    policy(id: $id) {\n      id\n      waiting {\n        for\n        next\n        openGroups\n        closedGroups\n        readyGroups\n        rejectedGroups {\n          reason\n          groups\n        }\n      }\n    }\n  }\n}"};
export const policyLedger: Operation<PolicyLedgerQuery, PolicyLedgerQueryVariables> = {"name":"PolicyLedger","text":"query PolicyLedger($id: String!) {\n  policy(id: $id) {\n    id\n    ledger {\n      produced\n      trained\n      abandoned\n      difference\n      rejected {\n        reason\n        samples\n      }\n      owed {\n        group\n        ready\n        planned\n        leased\n      }\n    }\n  }\n}","asOf":"query PolicyLedger($id: String!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    policy(id: $id) {\n      id\n      ledger {\n        produced\n        trained\n        abandoned\n        difference\n        rejected {\n          reason\n          samples\n        }\n        owed {\n          group\n          ready\n          planned\n          leased\n        }\n      }\n    }\n  }\n}"};
export const versionBatch: Operation<VersionBatchQuery, VersionBatchQueryVariables> = {"name":"VersionBatch","text":"query VersionBatch($id: ID!) {\n  batch(id: $id) {\n    id\n    ordinal\n    policyId\n    groupCount\n    sampleCount\n    tokens\n    plannedAt\n    leases {\n      id\n      consumer\n      endedBy\n    }\n    samples(first: 100) {\n      place\n      staleness\n      sampledTokens\n      rollout {\n        id\n        treeId\n        ordinal\n        return\n        success\n        stepCount\n      }\n      tree {\n        ...TreeNamed\n      }\n    }\n  }\n}\nfragment TreeNamed on Tree {\n  id\n  task {\n    alias\n    goal\n  }\n}","asOf":"query VersionBatch($id: ID!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    batch(id: $id) {\n      id\n      ordinal\n      policyId\n      groupCount\n      sampleCount\n      tokens\n      plannedAt\n      leases {\n        id\n        consumer\n        endedBy\n      }\n      samples(first: 100) {\n        place\n        staleness\n        sampledTokens\n        rollout {\n          id\n          treeId\n          ordinal\n          return\n          success\n          stepCount\n        }\n        tree {\n          ...TreeNamed\n        }\n      }\n    }\n  }\n}\nfragment TreeNamed on Tree {\n  id\n  task {\n    alias\n    goal\n  }\n}"};
export const stepText: Operation<StepTextQuery, StepTextQueryVariables> = {"name":"StepText","text":"query StepText($id: ID!, $offset: Int!, $length: Int!, $tree: ID) {\n  step(id: $id, tree: $tree) {\n    id\n    largeTexts {\n      ...LargeTextsPart\n    }\n  }\n}\nfragment LargeTextsPart on LargeText {\n  field\n  text(offset: $offset, length: $length)\n}","asOf":"query StepText($id: ID!, $offset: Int!, $length: Int!, $tree: ID, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    step(id: $id, tree: $tree) {\n      id\n      largeTexts {\n        ...LargeTextsPart\n      }\n    }\n  }\n}\nfragment LargeTextsPart on LargeText {\n  field\n  text(offset: $offset, length: $length)\n}"};
export const treeText: Operation<TreeTextQuery, TreeTextQueryVariables> = {"name":"TreeText","text":"query TreeText($id: ID!, $offset: Int!, $length: Int!) {\n  tree(id: $id) {\n    id\n    largeTexts {\n      ...LargeTextsPart\n    }\n  }\n}\nfragment LargeTextsPart on LargeText {\n  field\n  text(offset: $offset, length: $length)\n}","asOf":"query TreeText($id: ID!, $offset: Int!, $length: Int!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    tree(id: $id) {\n      id\n      largeTexts {\n        ...LargeTextsPart\n      }\n    }\n  }\n}\nfragment LargeTextsPart on LargeText {\n  field\n  text(offset: $offset, length: $length)\n}"};
export const toolCallTexts: Operation<ToolCallTextsQuery, ToolCallTextsQueryVariables> = {"name":"ToolCallTexts","text":"query ToolCallTexts($id: ID!, $offset: Int!, $length: Int!, $tree: ID) {\n  step(id: $id, tree: $tree) {\n    id\n    toolCalls {\n      id\n      largeTexts {\n        ...LargeTextsPart\n      }\n    }\n  }\n}\nfragment LargeTextsPart on LargeText {\n  field\n  text(offset: $offset, length: $length)\n}","asOf":"query ToolCallTexts($id: ID!, $offset: Int!, $length: Int!, $tree: ID, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    step(id: $id, tree: $tree) {\n      id\n      toolCalls {\n        id\n        largeTexts {\n          ...LargeTextsPart\n        }\n      }\n    }\n  }\n}\nfragment LargeTextsPart on LargeText {\n  field\n  text(offset: $offset, length: $length)\n}"};
export const segmentTexts: Operation<SegmentTextsQuery, SegmentTextsQueryVariables> = {"name":"SegmentTexts","text":"query SegmentTexts($id: ID!, $offset: Int!, $length: Int!, $tree: ID) {\n  step(id: $id, tree: $tree) {\n    id\n    historyImage {\n      id\n      segments {\n        id\n        largeTexts {\n          ...LargeTextsPart\n        }\n      }\n    }\n  }\n}\nfragment LargeTextsPart on LargeText {\n  field\n  text(offset: $offset, length: $length)\n}","asOf":"query SegmentTexts($id: ID!, $offset: Int!, $length: Int!, $tree: ID, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    step(id: $id, tree: $tree) {\n      id\n      historyImage {\n        id\n        segments {\n          id\n          largeTexts {\n            ...LargeTextsPart\n          }\n        }\n      }\n    }\n  }\n}\nfragment LargeTextsPart on LargeText {\n  field\n  text(offset: $offset, length: $length)\n}"};
export const judgementTexts: Operation<JudgementTextsQuery, JudgementTextsQueryVariables> = {"name":"JudgementTexts","text":"query JudgementTexts($id: ID!, $offset: Int!, $length: Int!, $tree: ID) {\n  revision(id: $id, tree: $tree) {\n    id\n    judgements {\n      id\n      largeTexts {\n        ...LargeTextsPart\n      }\n    }\n  }\n}\nfragment LargeTextsPart on LargeText {\n  field\n  text(offset: $offset, length: $length)\n}","asOf":"query JudgementTexts($id: ID!, $offset: Int!, $length: Int!, $tree: ID, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    revision(id: $id, tree: $tree) {\n      id\n      judgements {\n        id\n        largeTexts {\n          ...LargeTextsPart\n        }\n      }\n    }\n  }\n}\nfragment LargeTextsPart on LargeText {\n  field\n  text(offset: $offset, length: $length)\n}"};
export const trajectoryPage: Operation<TrajectoryPageQuery, TrajectoryPageQueryVariables> = {"name":"TrajectoryPage","text":"query TrajectoryPage($id: ID!, $tree: ID) {\n  rollout(id: $id, tree: $tree) {\n    id\n    treeId\n    ordinal\n    outcome\n    success\n    reason\n    return\n    stepCount\n    unclearCalls\n    lostParts\n    leafId\n    environment\n    policy {\n      id\n      version\n    }\n    run {\n      id\n      name\n      config\n    }\n    tree {\n      id\n      instruction\n      largeTexts {\n        ...LargeTextsNamed\n      }\n      forgotten\n      task {\n        alias\n        goal\n        depth\n      }\n      rollouts {\n        id\n        ordinal\n        return\n      }\n    }\n    annotations {\n      ...AnnotationShown\n    }\n    rewards {\n      id\n      component\n      value\n      scorer {\n        name\n        revision\n      }\n    }\n    sample {\n      state\n      reason\n      batch {\n        id\n        ordinal\n        policyId\n        update {\n          version\n        }\n      }\n    }\n  }\n}\nfragment AnnotationShown on Annotation {\n  id\n  treeId\n  kind\n  label\n  score\n  note\n  principal\n  author\n  addedAt\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}","asOf":"query TrajectoryPage($id: ID!, $tree: ID, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    rollout(id: $id, tree: $tree) {\n      id\n      treeId\n      ordinal\n      outcome\n      success\n      reason\n      return\n      stepCount\n      unclearCalls\n      lostParts\n      leafId\n      environment\n      policy {\n        id\n        version\n      }\n      run {\n        id\n        name\n        config\n      }\n      tree {\n        id\n        instruction\n        largeTexts {\n          ...LargeTextsNamed\n        }\n        forgotten\n        task {\n          alias\n          goal\n          depth\n        }\n        rollouts {\n          id\n          ordinal\n          return\n        }\n      }\n      annotations {\n        ...AnnotationShown\n      }\n      rewards {\n        id\n        component\n        value\n        scorer {\n          name\n          revision\n        }\n      }\n      sample {\n        state\n        reason\n        batch {\n          id\n          ordinal\n          policyId\n          update {\n            version\n          }\n        }\n      }\n    }\n  }\n}\nfragment AnnotationShown on Annotation {\n  id\n  treeId\n  kind\n  label\n  score\n  note\n  principal\n  author\n  addedAt\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}"};
export const trajectorySteps: Operation<TrajectoryStepsQuery, TrajectoryStepsQueryVariables> = {"name":"TrajectorySteps","text":"query TrajectorySteps($rollout: ID!, $first: Int!, $after: Int, $tree: ID) {\n  trajectory(rollout: $rollout, tree: $tree) {\n    id\n    steps(first: $first, after: $after) {\n      ...StepShown\n    }\n  }\n}\nfragment AnnotationShown on Annotation {\n  id\n  treeId\n  kind\n  label\n  score\n  note\n  principal\n  author\n  addedAt\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}\nfragment StepShown on Step {\n  id\n  largeTexts {\n    ...LargeTextsNamed\n  }\n  depth\n  parentId\n  rolloutId\n  thought\n  reply {\n    reasoning\n    toolCalls {\n      id\n      name\n      arguments\n    }\n  }\n  action\n  response\n  observation\n  wellFormatted\n  executable\n  termination\n  stateHash\n  occurredAt\n  timings {\n    policyMs\n    environmentMs\n  }\n  tokens {\n    ids {\n      length\n    }\n  }\n  annotations {\n    ...AnnotationShown\n  }\n  rewards {\n    id\n    component\n    value\n    assignedValue\n    revisionCount\n    scorer {\n      name\n      revision\n    }\n  }\n  toolCalls {\n    id\n    ordinal\n    tool\n    arguments\n    output\n    outcome\n    durationMs\n    largeTexts {\n      ...LargeTextsNamed\n    }\n  }\n  pictures {\n    id\n    url\n    width\n    height\n  }\n  hasPrompt\n  historyImage {\n    id\n    factor\n    visionTokens\n    textTokens\n  }\n}","asOf":"query TrajectorySteps($rollout: ID!, $first: Int!, $after: Int, $tree: ID, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    trajectory(rollout: $rollout, tree: $tree) {\n      id\n      steps(first: $first, after: $after) {\n        ...StepShown\n      }\n    }\n  }\n}\nfragment AnnotationShown on Annotation {\n  id\n  treeId\n  kind\n  label\n  score\n  note\n  principal\n  author\n  addedAt\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}\nfragment StepShown on Step {\n  id\n  largeTexts {\n    ...LargeTextsNamed\n  }\n  depth\n  parentId\n  rolloutId\n  thought\n  reply {\n    reasoning\n    toolCalls {\n      id\n      name\n      arguments\n    }\n  }\n  action\n  response\n  observation\n  wellFormatted\n  executable\n  termination\n  stateHash\n  occurredAt\n  timings {\n    policyMs\n    environmentMs\n  }\n  tokens {\n    ids {\n      length\n    }\n  }\n  annotations {\n    ...AnnotationShown\n  }\n  rewards {\n    id\n    component\n    value\n    assignedValue\n    revisionCount\n    scorer {\n      name\n      revision\n    }\n  }\n  toolCalls {\n    id\n    ordinal\n    tool\n    arguments\n    output\n    outcome\n    durationMs\n    largeTexts {\n      ...LargeTextsNamed\n    }\n  }\n  pictures {\n    id\n    url\n    width\n    height\n  }\n  hasPrompt\n  historyImage {\n    id\n    factor\n    visionTokens\n    textTokens\n  }\n}"};
export const rolloutSteps: Operation<RolloutStepsQuery, RolloutStepsQueryVariables> = {"name":"RolloutSteps","text":"query RolloutSteps($rollout: ID!, $first: Int!, $tree: ID) {\n  steps(filter: {rollout: $rollout, tree: $tree}, first: $first) {\n    nodes {\n      ...StepShown\n    }\n  }\n}\nfragment AnnotationShown on Annotation {\n  id\n  treeId\n  kind\n  label\n  score\n  note\n  principal\n  author\n  addedAt\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}\nfragment StepShown on Step {\n  id\n  largeTexts {\n    ...LargeTextsNamed\n  }\n  depth\n  parentId\n  rolloutId\n  thought\n  reply {\n    reasoning\n    toolCalls {\n      id\n      name\n      arguments\n    }\n  }\n  action\n  response\n  observation\n  wellFormatted\n  executable\n  termination\n  stateHash\n  occurredAt\n  timings {\n    policyMs\n    environmentMs\n  }\n  tokens {\n    ids {\n      length\n    }\n  }\n  annotations {\n    ...AnnotationShown\n  }\n  rewards {\n    id\n    component\n    value\n    assignedValue\n    revisionCount\n    scorer {\n      name\n      revision\n    }\n  }\n  toolCalls {\n    id\n    ordinal\n    tool\n    arguments\n    output\n    outcome\n    durationMs\n    largeTexts {\n      ...LargeTextsNamed\n    }\n  }\n  pictures {\n    id\n    url\n    width\n    height\n  }\n  hasPrompt\n  historyImage {\n    id\n    factor\n    visionTokens\n    textTokens\n  }\n}","asOf":"query RolloutSteps($rollout: ID!, $first: Int!, $tree: ID, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    steps(filter: {rollout: $rollout, tree: $tree}, first: $first) {\n      nodes {\n        ...StepShown\n      }\n    }\n  }\n}\nfragment AnnotationShown on Annotation {\n  id\n  treeId\n  kind\n  label\n  score\n  note\n  principal\n  author\n  addedAt\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}\nfragment StepShown on Step {\n  id\n  largeTexts {\n    ...LargeTextsNamed\n  }\n  depth\n  parentId\n  rolloutId\n  thought\n  reply {\n    reasoning\n    toolCalls {\n      id\n      name\n      arguments\n    }\n  }\n  action\n  response\n  observation\n  wellFormatted\n  executable\n  termination\n  stateHash\n  occurredAt\n  timings {\n    policyMs\n    environmentMs\n  }\n  tokens {\n    ids {\n      length\n    }\n  }\n  annotations {\n    ...AnnotationShown\n  }\n  rewards {\n    id\n    component\n    value\n    assignedValue\n    revisionCount\n    scorer {\n      name\n      revision\n    }\n  }\n  toolCalls {\n    id\n    ordinal\n    tool\n    arguments\n    output\n    outcome\n    durationMs\n    largeTexts {\n      ...LargeTextsNamed\n    }\n  }\n  pictures {\n    id\n    url\n    width\n    height\n  }\n  hasPrompt\n  historyImage {\n    id\n    factor\n    visionTokens\n    textTokens\n  }\n}"};
export const stepPrompt: Operation<StepPromptQuery, StepPromptQueryVariables> = {"name":"StepPrompt","text":"query StepPrompt($id: ID!, $tree: ID) {\n  step(id: $id, tree: $tree) {\n    ...PromptShown\n  }\n}\nfragment ImageShown on HistoryImage {\n  id\n  url\n  width\n  height\n  factor\n  visionTokens\n  textTokens\n  saved\n  cutLines\n  cutSegments\n  unshaped\n  raw {\n    width\n    height\n  }\n  resized {\n    width\n    height\n  }\n  renderSpec {\n    spec\n  }\n  segments {\n    id\n    place\n    hit\n    text\n    height\n    forgotten\n    largeTexts {\n      ...LargeTextsNamed\n    }\n  }\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}\nfragment PromptShown on Step {\n  id\n  prompt {\n    sha256\n    tools\n    model\n    server\n    template {\n      name\n      version\n    }\n    sampling {\n      temperature\n      topP\n      topK\n      minP\n      repetitionPenalty\n      maxTokens\n      others {\n        name\n        value\n      }\n    }\n    messages {\n      role\n      toolCallId\n      name\n      parts {\n        text\n        reasoning\n        toolCall {\n          id\n          name\n          arguments\n        }\n        image {\n          ...ImageShown\n        }\n        picture {\n          id\n          url\n          width\n          height\n        }\n      }\n    }\n  }\n  historyImage {\n    ...ImageShown\n  }\n}","asOf":"query StepPrompt($id: ID!, $tree: ID, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    step(id: $id, tree: $tree) {\n      ...PromptShown\n    }\n  }\n}\nfragment ImageShown on HistoryImage {\n  id\n  url\n  width\n  height\n  factor\n  visionTokens\n  textTokens\n  saved\n  cutLines\n  cutSegments\n  unshaped\n  raw {\n    width\n    height\n  }\n  resized {\n    width\n    height\n  }\n  renderSpec {\n    spec\n  }\n  segments {\n    id\n    place\n    hit\n    text\n    height\n    forgotten\n    largeTexts {\n      ...LargeTextsNamed\n    }\n  }\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}\nfragment PromptShown on Step {\n  id\n  prompt {\n    sha256\n    tools\n    model\n    server\n    template {\n      name\n      version\n    }\n    sampling {\n      temperature\n      topP\n      topK\n      minP\n      repetitionPenalty\n      maxTokens\n      others {\n        name\n        value\n      }\n    }\n    messages {\n      role\n      toolCallId\n      name\n      parts {\n        text\n        reasoning\n        toolCall {\n          id\n          name\n          arguments\n        }\n        image {\n          ...ImageShown\n        }\n        picture {\n          id\n          url\n          width\n          height\n        }\n      }\n    }\n  }\n  historyImage {\n    ...ImageShown\n  }\n}"};
export const stepTokens: Operation<StepTokensQuery, StepTokensQueryVariables> = {"name":"StepTokens","text":"query StepTokens($id: ID!, $tree: ID) {\n  step(id: $id, tree: $tree) {\n    ...TokensShown\n  }\n}\nfragment PackedNumbers on PackedArray {\n  dtype\n  length\n  base64\n}\nfragment TokensShown on Step {\n  id\n  tokenTexts\n  tokens {\n    ids {\n      ...PackedNumbers\n    }\n    logProbs {\n      ...PackedNumbers\n    }\n    mask {\n      ...PackedNumbers\n    }\n    entropies {\n      ...PackedNumbers\n    }\n  }\n  policySpans {\n    from\n    to\n    policyId\n    version\n  }\n  estimate {\n    advantage\n    value\n    target\n    tokenAdvantages\n    newLogProbs\n  }\n}","asOf":"query StepTokens($id: ID!, $tree: ID, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    step(id: $id, tree: $tree) {\n      ...TokensShown\n    }\n  }\n}\nfragment PackedNumbers on PackedArray {\n  dtype\n  length\n  base64\n}\nfragment TokensShown on Step {\n  id\n  tokenTexts\n  tokens {\n    ids {\n      ...PackedNumbers\n    }\n    logProbs {\n      ...PackedNumbers\n    }\n    mask {\n      ...PackedNumbers\n    }\n    entropies {\n      ...PackedNumbers\n    }\n  }\n  policySpans {\n    from\n    to\n    policyId\n    version\n  }\n  estimate {\n    advantage\n    value\n    target\n    tokenAdvantages\n    newLogProbs\n  }\n}"};
export const stepReadAgain: Operation<StepReadAgainQuery, StepReadAgainQueryVariables> = {"name":"StepReadAgain","text":"query StepReadAgain($id: ID!, $tree: ID) {\n  step(id: $id, tree: $tree) {\n    id\n    estimate {\n      readAgain {\n        before {\n          logProb\n          entropy\n        }\n        after {\n          logProb\n          entropy\n        }\n      }\n    }\n    rollout {\n      id\n      sample {\n        state\n        batch {\n          id\n          base {\n            version\n          }\n          update {\n            version\n          }\n        }\n      }\n    }\n  }\n}","asOf":"query StepReadAgain($id: ID!, $tree: ID, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    step(id: $id, tree: $tree) {\n      id\n      estimate {\n        readAgain {\n          before {\n            logProb\n            entropy\n          }\n          after {\n            logProb\n            entropy\n          }\n        }\n      }\n      rollout {\n        id\n        sample {\n          state\n          batch {\n            id\n            base {\n              version\n            }\n            update {\n              version\n            }\n          }\n        }\n      }\n    }\n  }\n}"};
export const stepEvents: Operation<StepEventsQuery, StepEventsQueryVariables> = {"name":"StepEvents","text":"query StepEvents($id: String!, $tree: ID) {\n  trace(id: $id, tree: $tree) {\n    title\n    madeBy {\n      total\n      first {\n        eventId\n        type\n        place\n        occurredAt\n        envelope\n      }\n    }\n    from {\n      relation\n      total\n      first {\n        id\n        text\n      }\n    }\n    usedBy {\n      relation\n      total\n      first {\n        id\n        text\n      }\n    }\n  }\n}","asOf":"query StepEvents($id: String!, $tree: ID, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    trace(id: $id, tree: $tree) {\n      title\n      madeBy {\n        total\n        first {\n          eventId\n          type\n          place\n          occurredAt\n          envelope\n        }\n      }\n      from {\n        relation\n        total\n        first {\n          id\n          text\n        }\n      }\n      usedBy {\n        relation\n        total\n        first {\n          id\n          text\n        }\n      }\n    }\n  }\n}"};
export const treePage: Operation<TreePageQuery, TreePageQueryVariables> = {"name":"TreePage","text":"query TreePage($id: ID!) {\n  tree(id: $id) {\n    id\n    runId\n    rootId\n    closedAt\n    closeReason\n    simulations\n    run {\n      id\n      name\n      config\n    }\n    size {\n      steps\n      depth\n      leaves\n    }\n    task {\n      alias\n      goal\n      depth\n    }\n    rollouts {\n      id\n      ordinal\n      leafId\n      success\n      return\n      outcome\n    }\n  }\n}","asOf":"query TreePage($id: ID!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    tree(id: $id) {\n      id\n      runId\n      rootId\n      closedAt\n      closeReason\n      simulations\n      run {\n        id\n        name\n        config\n      }\n      size {\n        steps\n        depth\n        leaves\n      }\n      task {\n        alias\n        goal\n        depth\n      }\n      rollouts {\n        id\n        ordinal\n        leafId\n        success\n        return\n        outcome\n      }\n    }\n  }\n}"};
export const treeOutline: Operation<TreeOutlineQuery, TreeOutlineQueryVariables> = {"name":"TreeOutline","text":"query TreeOutline($id: ID!) {\n  tree(id: $id) {\n    id\n    outline {\n      ids\n      actions\n      parents {\n        ...PackedNumbers\n      }\n      executable {\n        ...PackedNumbers\n      }\n      terminations {\n        ...PackedNumbers\n      }\n      rewards {\n        ...PackedNumbers\n      }\n      backUps {\n        length\n        values {\n          ...PackedNumbers\n        }\n        lengths {\n          ...PackedNumbers\n        }\n        paths {\n          ...PackedNumbers\n        }\n      }\n    }\n  }\n}\nfragment PackedNumbers on PackedArray {\n  dtype\n  length\n  base64\n}","asOf":"query TreeOutline($id: ID!, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    tree(id: $id) {\n      id\n      outline {\n        ids\n        actions\n        parents {\n          ...PackedNumbers\n        }\n        executable {\n          ...PackedNumbers\n        }\n        terminations {\n          ...PackedNumbers\n        }\n        rewards {\n          ...PackedNumbers\n        }\n        backUps {\n          length\n          values {\n            ...PackedNumbers\n          }\n          lengths {\n            ...PackedNumbers\n          }\n          paths {\n            ...PackedNumbers\n          }\n        }\n      }\n    }\n  }\n}\nfragment PackedNumbers on PackedArray {\n  dtype\n  length\n  base64\n}"};
export const treeNode: Operation<TreeNodeQuery, TreeNodeQueryVariables> = {"name":"TreeNode","text":"query TreeNode($id: ID!, $tree: ID) {\n  step(id: $id, tree: $tree) {\n    ...NodeShown\n  }\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}\nfragment NodeShown on Step {\n  id\n  largeTexts {\n    ...LargeTextsNamed\n  }\n  depth\n  action\n  thought\n  observation\n  executable\n  termination\n  rolloutId\n  rewards {\n    id\n    component\n    value\n  }\n}","asOf":"query TreeNode($id: ID!, $tree: ID, $atPosition: String, $atTime: DateTime) {\n  asOf(position: $atPosition, time: $atTime) {\n    step(id: $id, tree: $tree) {\n      ...NodeShown\n    }\n  }\n}\nfragment LargeTextsNamed on LargeText {\n  field\n  sha256\n  size\n}\nfragment NodeShown on Step {\n  id\n  largeTexts {\n    ...LargeTextsNamed\n  }\n  depth\n  action\n  thought\n  observation\n  executable\n  termination\n  rolloutId\n  rewards {\n    id\n    component\n    value\n  }\n}"};
