import type { ColumnType } from 'kysely';
import type { BlobsColumn, Instant, InstantOrNull, Json } from './column-types.ts';
import type {
  DatasetDigestsTable,
  DatasetExamplesTable,
  DatasetsTable,
  HistoryImagesTable,
  RenderSpecsTable,
  RunRenderSpecsTable,
  SegmentsTable,
} from './data-tables.ts';
import type {
  ApiKeysTable,
  CursorsTable,
  LogIdentityTable,
  ProjectionBuildsTable,
  ProjectionsTable,
  QuarantineTable,
} from './keeping-tables.ts';
import type {
  BatchAbandonmentsTable,
  BatchAcksTable,
  BatchesTable,
  BatchSamplesTable,
  CheckpointsTable,
  GroupsTable,
  LeasesTable,
  LineagesTable,
  PolicyVersionsTable,
  SampleRejectionsTable,
  SamplesTable,
  TrainingRunsTable,
} from './training-tables.ts';

export interface EventsTable {
  topic: string;
  partition: number;
  offset: number;
  event_id: string;
  type: string;
  stream: string;
  position: number;
  sequence: number;
  producer: string;
  correlation_id: string;
  occurred_at: Instant;
  body: string;
}
export interface AnomaliesTable {
  topic: string;
  partition: number;
  offset: number;
  event_id: string;
  stream: string;
  kind: 'duplicate' | 'gap' | 'reordered';
  detail: string;
}
export interface QuarantineReleasesTable {
  topic: string;
  partition: number;
  offset: number;
  event_id: string;
  stream: string;
  from_offset: number;
  released_at: Instant;
  reason: string | null;
}
export interface StreamProducersTable {
  stream: string;
  producer: string;
  sequence: number;
}
export interface ExperimentsTable {
  experiment_id: string;
  name: string;
  question: string;
  declared_at: Instant;
}
export interface RunsTable {
  run_id: string;
  experiment_id: string | null;
  name: string;
  kind: string;
  seed: number;
  code_version: string;
  config: Json;
  environments: ColumnType<{ environment: string; fingerprint: string }[], string, string>;
  policy_id: string | null;
  policy_version: number | null;
  started_at: Instant;
  finished_at: InstantOrNull;
  outcome: string | null;
  message: string | null;
}
export interface MetricsTable {
  event_id: string;
  run_id: string;
  metric: string;
  value: number;
  at: number | null;
  occurred_at: Instant;
}
/** References of the fields of a row whose text lies in the blob store. */

export interface TreesTable {
  tree_id: string;
  run_id: string;
  task_id: string;
  environment: string;
  server_fingerprint: string;
  observation_hash: string;
  alias: string;
  goal: string;
  task_depth: number | null;
  split: string | null;
  root_step_id: string;
  instruction: string;
  planned_rollouts: number;
  seed: number;
  opened_at: Instant;
  closed_at: InstantOrNull;
  close_reason: string | null;
  blobs: BlobsColumn;
}
export interface StepsTable {
  step_id: string;
  tree_id: string;
  parent_step_id: string | null;
  rollout_id: string | null;
  depth: number;
  log_offset: number;
  response: string;
  thought: string;
  action: string;
  observation: string;
  well_formatted: boolean;
  executable: boolean;
  termination: 'none' | 'terminated' | 'truncated';
  policy_spans: ColumnType<{ from: number; to: number; policyId: string; version: number }[], string, string>;
  tokens: ColumnType<Record<string, unknown> | null, string | null, string | null>;
  prompt_tokens: number | null;
  completion_tokens: number | null;
  finish_reason: string | null;
  call: ColumnType<Record<string, unknown> | null, string | null, string | null>;
  policy_ms: number;
  environment_ms: number;
  state_hash: string | null;
  admissible: ColumnType<string[] | null, string | null, string | null>;
  occurred_at: Instant;
  blobs: BlobsColumn;
}
export interface RolloutsTable {
  rollout_id: string;
  tree_id: string;
  run_id: string;
  task_id: string;
  environment: string;
  from_step_id: string;
  ordinal: number;
  seed: number;
  policy_id: string;
  policy_version: number;
  started_at: Instant;
  finished_at: InstantOrNull;
  outcome: 'terminated' | 'truncated' | 'failed' | 'cancelled' | null;
  success: boolean | null;
  leaf_step_id: string | null;
  steps: number | null;
  reason: string | null;
}
export interface ToolCallsTable {
  tool_call_id: string;
  tree_id: string;
  step_id: string;
  ordinal: number;
  tool: string;
  arguments: string;
  output: string;
  outcome: string;
  duration_ms: number;
  blobs: BlobsColumn;
}
export interface DivergencesTable {
  event_id: string;
  tree_id: string;
  step_id: string;
  field: string;
  recorded: string;
  replayed: string;
  occurred_at: Instant;
  blobs: BlobsColumn;
}
export interface RewardsTable {
  reward_id: string;
  tree_id: string;
  step_id: string | null;
  rollout_id: string | null;
  component: string;
  value: number;
  assigned_value: number;
  scorer: string;
  scorer_revision: string;
  raw: ColumnType<{ value: number; scale: number; kind: string } | null, string | null, string | null>;
  revisions: number;
  assigned_at: Instant;
  revised_at: InstantOrNull;
}
export interface RewardRevisionsTable {
  event_id: string;
  reward_id: string;
  tree_id: string;
  ordinal: number;
  value: number;
  scorer: string;
  scorer_revision: string;
  reason: string;
  occurred_at: Instant;
}
export interface ReturnsTable {
  rollout_id: string;
  tree_id: string;
  run_id: string;
  leaf_step_id: string;
  value: number;
}
export interface BackupsTable {
  event_id: string;
  tree_id: string;
  simulation: number;
  leaf_step_id: string;
  value: number;
  path: string[];
  log_offset: number;
}
export interface NodeStatisticsTable {
  step_id: string;
  tree_id: string;
  visits: number;
  value_sum: number;
}
export interface JudgementsTable {
  judgement_id: string;
  tree_id: string;
  run_id: string;
  leaf_step_id: string;
  step_id: string;
  step_index: number;
  judge: string;
  prompt_hash: string;
  verdict: 'good' | 'bad' | 'uncertain' | 'unparsed';
  reply: string;
  reused_from: string | null;
  judged_at: Instant;
  log_offset: number;
  blobs: BlobsColumn;
}
export interface RevisionsTable {
  revision_id: string;
  tree_id: string;
  run_id: string;
  good_leaf_step_id: string;
  bad_leaf_step_id: string;
  branch_step_id: string;
  transition_step_id: string;
  transition_cause: 'bad' | 'none-bad' | 'unparsed' | 'direct';
  judged: number;
  reflection: string;
  signal: 'thought' | 'turn' | 'in-form';
  alpha: number;
  beta: number;
  judge: string;
  content_hash: string;
  state: 'composed' | 'verified' | 'rejected';
  reached: number | null;
  threshold: number | null;
  reason: string | null;
  detail: string | null;
  at_step_id: string | null;
  composed_at: Instant;
  checked_at: InstantOrNull;
  log_offset: number;
}
export interface EvaluationsTable {
  run_id: string;
  policy_id: string;
  policy_version: number;
  environment: string;
  split: string | null;
  tasks: number;
  episodes: number;
  mean_return: number;
  return_low: number;
  return_high: number;
  success_rate: number;
  success_low: number;
  success_high: number;
  mean_steps: number;
  bootstrap: Json;
  repeated_actions: ColumnType<{ length: number; perEpisode: number }[], string, string>;
  by_depth: ColumnType<{ taskDepth: number | null; episodes: number; successes: number }[], string, string>;
  recovered_run_id: string | null;
  trained: ColumnType<Record<string, unknown> | null, string | null, string | null>;
  finished_at: Instant;
}
export interface ReplaysTable {
  replay_id: string;
  run_id: string;
  mode: string;
  outcome: string;
  compared: number;
  differing: number;
  differences: Json;
  notes: Json;
  parameters: Json;
  code_version: string;
  seconds: number;
  finished_at: Instant;
}

/**
 * The tables as kysely sees them. The read models are views in the schema `public` over the live version of each projection
 * (`step_tree_v1.steps` is read as `steps`), so that a rebuilt version takes over by one swap of views.
 */
export interface Tables {
  events: EventsTable;
  anomalies: AnomaliesTable;
  quarantine_releases: QuarantineReleasesTable;
  stream_producers: StreamProducersTable;
  experiments: ExperimentsTable;
  runs: RunsTable;
  metrics: MetricsTable;
  trees: TreesTable;
  steps: StepsTable;
  rollouts: RolloutsTable;
  tool_calls: ToolCallsTable;
  divergences: DivergencesTable;
  rewards: RewardsTable;
  reward_revisions: RewardRevisionsTable;
  returns: ReturnsTable;
  backups: BackupsTable;
  node_statistics: NodeStatisticsTable;
  judgements: JudgementsTable;
  revisions: RevisionsTable;
  evaluations: EvaluationsTable;
  replays: ReplaysTable;
  render_specs: RenderSpecsTable;
  run_render_specs: RunRenderSpecsTable;
  segments: SegmentsTable;
  history_images: HistoryImagesTable;
  datasets: DatasetsTable;
  dataset_digests: DatasetDigestsTable;
  dataset_examples: DatasetExamplesTable;
  training_runs: TrainingRunsTable;
  groups: GroupsTable;
  samples: SamplesTable;
  lineages: LineagesTable;
  batches: BatchesTable;
  batch_samples: BatchSamplesTable;
  sample_rejections: SampleRejectionsTable;
  leases: LeasesTable;
  batch_acks: BatchAcksTable;
  batch_abandonments: BatchAbandonmentsTable;
  checkpoints: CheckpointsTable;
  policy_versions: PolicyVersionsTable;
  projections: ProjectionsTable;
  projection_builds: ProjectionBuildsTable;
  cursors: CursorsTable;
  quarantine: QuarantineTable;
  api_keys: ApiKeysTable;
  log_identity: LogIdentityTable;
}
