-- Trees as adjacency lists: a tree is read whole by its id and folded in memory. `log_offset` is the offset of the row's event,
-- the order in which a tree grew. Text longer than 64 KiB lies in the blob store: its column is '' and `blobs` holds {field:
-- reference}.
create table trees (
  tree_id            uuid        not null primary key,
  run_id             uuid        not null,
  task_id            uuid        not null,
  environment        text        not null,
  server_fingerprint text        not null,
  observation_hash   text        not null,
  alias              text        not null,
  goal               text        not null,
  task_depth         integer,
  split              text,
  kind               text,
  tools_kwargs       text,
  root_step_id       uuid        not null,
  instruction        text        not null,
  planned_rollouts   integer     not null,
  seed               bigint      not null,
  opened_at          timestamptz not null,
  shared             boolean, -- several programs record its rollouts; null where one does
  closed_at          timestamptz,
  close_reason       text,
  close_fault        text,
  blobs              jsonb --: Blobs
);
create index trees_run on trees (run_id, opened_at, tree_id);
create index trees_opened on trees (opened_at, tree_id);
create index trees_shared on trees (tree_id) where shared and closed_at is null;
create index trees_task on trees (task_id);
create index trees_name on trees (environment, alias, task_id, opened_at, tree_id);
create index trees_kind on trees (kind, environment, alias, task_id, opened_at, tree_id) where kind is not null;

-- A step, a rollout and a call of a tool are identified by their id in their tree: keys begin with the id, for look-ups by it alone.
-- The root is a row of depth 0 with empty response and action: its observation is the task's first. Token arrays lie in
-- `token_bytes` (`token-bytes.ts`), those that do not fit there in `token_json`: one of the two is null.
create table steps (
  step_id           uuid             not null,
  tree_id           uuid             not null,
  parent_step_id    uuid,
  rollout_id        uuid,
  depth             integer          not null,
  log_offset        bigint           not null,
  response          text             not null,
  thought           text             not null,
  reply             jsonb, --: Record<string, unknown>
  action            text             not null,
  observation       text             not null,
  well_formatted    boolean          not null,
  executable        boolean          not null,
  termination       text             not null, --: 'none' | 'terminated' | 'truncated'
  policy_spans      jsonb            not null, --: { from: number; to: number; policyId: string; version: number }[]
  token_bytes       bytea,
  token_json        jsonb, --: Record<string, unknown>
  prompt_tokens     integer,
  completion_tokens integer,
  finish_reason     text,
  call              jsonb, --: Record<string, unknown>
  policy_ms         double precision not null,
  environment_ms    double precision not null,
  state_hash        text,
  admissible        jsonb, --: string[]
  occurred_at       timestamptz      not null,
  blobs             jsonb, --: Blobs
  primary key (step_id, tree_id)
);
-- Numbers do not shrink by what Postgres compresses with, and it takes longer than reading them.
alter table steps alter column token_bytes set storage external;
-- What is summed up of a tree lies in the index: a row of steps is a kilobyte. An index of actions costs who writes a step as
-- much as all three of these: `espalier index --actions` builds it where it is wanted.
create index steps_of_tree on steps (tree_id, log_offset)
  include (step_id, rollout_id, depth, well_formatted, executable, prompt_tokens, completion_tokens, policy_ms, environment_ms);
create index steps_parent on steps (tree_id, parent_step_id);
-- Replies that were cut at their length: few, or found without their rows.
create index steps_cut on steps (tree_id) include (depth, rollout_id, completion_tokens) where finish_reason = 'length';
-- Replies by the ids that model servers gave them: feedback names them.
create index steps_response on steps ((call ->> 'responseId')) where (call ->> 'responseId') is not null;
create index steps_taken on steps (occurred_at, step_id, tree_id);

create table rollouts (
  rollout_id     uuid        not null,
  tree_id        uuid        not null,
  run_id         uuid        not null,
  task_id        uuid        not null,
  environment    text        not null,
  from_step_id   uuid        not null,
  ordinal        integer     not null,
  seed           bigint      not null,
  policy_id      text        not null,
  policy_version integer     not null,
  started_at     timestamptz not null,
  finished_at    timestamptz,
  outcome        text, --: 'terminated' | 'truncated' | 'failed' | 'cancelled'
  success        boolean,
  leaf_step_id   uuid,
  steps          integer,
  reason         text,
  unclear_calls  integer,
  lost_parts     integer,
  primary key (rollout_id, tree_id)
);
create index rollouts_of_tree on rollouts (tree_id, ordinal)
  include (rollout_id, policy_id, policy_version, finished_at, success, steps);
create index rollouts_run_finished on rollouts (run_id, finished_at, rollout_id, tree_id);
create index rollouts_finished on rollouts (finished_at, rollout_id, tree_id);
create index rollouts_outcome on rollouts (run_id, outcome, finished_at, rollout_id, tree_id) include (success);

create table tool_calls (
  tool_call_id uuid             not null,
  tree_id      uuid             not null,
  step_id      uuid             not null,
  ordinal      integer          not null,
  tool         text             not null,
  arguments    text             not null,
  output       text             not null,
  outcome      text             not null,
  duration_ms  double precision not null,
  blobs        jsonb, --: Blobs
  primary key (tool_call_id, tree_id)
);
create index tool_calls_of_tree on tool_calls (tree_id) include (step_id, tool, outcome, duration_ms);
create index tool_calls_tool on tool_calls (tool, tree_id, tool_call_id);
create index tool_calls_duration on tool_calls (tool, duration_ms, tool_call_id, tree_id);

create table divergences (
  event_id    uuid        not null,
  tree_id     uuid        not null,
  step_id     uuid        not null,
  field       text        not null,
  recorded    text        not null,
  replayed    text        not null,
  occurred_at timestamptz not null,
  blobs       jsonb, --: Blobs
  primary key (tree_id, event_id)
);

-- What the tables above hold of a run, counted as they are folded, so that a list of runs reads no tree. A tree lies in one
-- partition: folds of other partitions never wait for this row. `judged` are finished rollouts whose success is known.
create table run_counts (
  run_id            uuid    not null,
  partition         integer not null,
  trees             bigint  not null,
  closed_trees      bigint  not null,
  rollouts          bigint  not null,
  terminated        bigint  not null,
  truncated         bigint  not null,
  failed            bigint  not null,
  cancelled         bigint  not null,
  judged            bigint  not null,
  successes         bigint  not null,
  steps             bigint  not null,
  prompt_tokens     bigint  not null,
  completion_tokens bigint  not null,
  unclear_calls     bigint  not null,
  lost_parts        bigint  not null,
  primary key (run_id, partition)
);

-- One row per judgement. A verdict is looked up by what the judge was asked; `run_id` is the run that its tree belongs to.
create table judgements (
  judgement_id uuid        not null,
  tree_id      uuid        not null,
  run_id       uuid        not null,
  leaf_step_id uuid        not null,
  step_id      uuid        not null,
  step_index   integer     not null,
  judge        text        not null,
  prompt_hash  text        not null,
  verdict      text        not null, --: 'good' | 'bad' | 'uncertain' | 'unparsed'
  reply        text        not null,
  reused_from  uuid,
  judged_at    timestamptz not null,
  log_offset   bigint      not null,
  blobs        jsonb, --: Blobs
  primary key (tree_id, judgement_id)
);
create index judgements_verdict on judgements (verdict, step_id);
create index judgements_prompt on judgements (prompt_hash, judge);

-- One row per revision trajectory of a tree. Its turns are made again from the tree by `splice` with these parameters.
create table revisions (
  revision_id        uuid             not null,
  tree_id            uuid             not null,
  run_id             uuid             not null,
  good_leaf_step_id  uuid             not null,
  bad_leaf_step_id   uuid             not null,
  branch_step_id     uuid             not null,
  transition_step_id uuid             not null,
  transition_cause   text             not null, --: 'bad' | 'none-bad' | 'unparsed' | 'direct'
  judged             integer          not null,
  reflection         text             not null,
  signal             text             not null, --: 'thought' | 'turn' | 'in-form'
  alpha              double precision not null,
  beta               double precision not null,
  judge              text             not null,
  content_hash       text             not null,
  state              text             not null, --: 'composed' | 'verified' | 'rejected'
  reached            double precision,
  threshold          double precision,
  reason             text,
  detail             text,
  at_step_id         uuid,
  composed_at        timestamptz      not null,
  checked_at         timestamptz,
  log_offset         bigint           not null,
  primary key (revision_id, tree_id)
);
create index revisions_tree on revisions (tree_id, log_offset);
create index revisions_run on revisions (run_id, composed_at, revision_id, tree_id);
