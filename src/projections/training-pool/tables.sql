-- What is trained, from which rollouts. Runs, trees and training are topics of their own, which arrive in any order: each table
-- holds facts of one topic, no row asks for another, and who reads joins them. A sample belongs to a policy by its group's run.
-- What a tree holds is identified by its id in the tree.

-- runs: the runs whose configuration names a policy to train and a channel, and which runs are over: their open groups stay as
-- they are.
create table training_runs (
  run_id      uuid        not null primary key,
  policy_id   text,
  channel     text, --: 'train' | 'baseline' | 'validation' | 'held-out'
  started_at  timestamptz,
  finished_at timestamptz
);
create index training_runs_policy on training_runs (policy_id, channel);

-- trees: a group is a tree, closed when all its members are terminal. One that was never opened has no run, and belongs to
-- nobody.
create table groups (
  tree_id          uuid        not null primary key,
  run_id           uuid,
  task_id          uuid,
  planned_rollouts integer,
  opened_at        timestamptz,
  closed_at        timestamptz,
  close_reason     text
);
create index groups_run on groups (run_id, closed_at, tree_id);

-- trees: a sample is a rollout, and of use when it is finished. From `taken` on, all is summed from its steps and rewards
-- whenever one of them arrives after its end. Lengths are tokens: `sampled_tokens` of responses; `context_tokens` of the longest
-- prompt with its response; `row_tokens` of all prompts and responses. `scores`: component → sum of the rewards in force;
-- `scored_at`: when it got the first, ms since 1970.
create table samples (
  rollout_id        uuid        not null,
  tree_id           uuid        not null,
  ordinal           integer,
  policy_id         text,
  policy_version    integer,
  started_at        timestamptz,
  finished_at       timestamptz,
  outcome           text, --: 'terminated' | 'truncated' | 'failed' | 'cancelled'
  success           boolean,
  leaf_step_id      uuid,
  taken             integer     not null default 0,
  sampled_tokens    bigint      not null default 0,
  context_tokens    bigint      not null default 0,
  row_tokens        bigint      not null default 0,
  oldest_version    integer,
  newest_version    integer,
  policies          jsonb       not null default '[]', --: string[]
  without_tokens    integer     not null default 0,
  without_log_probs integer     not null default 0,
  without_anchor    integer     not null default 0,
  scores            jsonb       not null default '{}', --: Record<string, number>
  scored_at         jsonb       not null default '{}', --: Record<string, number>
  primary key (rollout_id, tree_id)
) with (fillfactor = 50); -- it is written again when it ends, which leaves its indexes alone where its page has room
create index samples_tree on samples (tree_id, ordinal);

-- Groups that nothing is owed of any more: closed, of a run of the channel `train`, every finished sample of them rejected, or in
-- a batch that was trained or abandoned. They are counted once, by what their samples have in common (`settled-samples.ts`); a
-- group without rows is counted by who reads. `length`: the power of two up to the steps taken; `version`: the oldest one, or −1.
create table settled_samples (
  run_id  uuid    not null,
  tree_id uuid    not null,
  task_id uuid    not null,
  fate    text    not null, --: 'running' | 'trained' | 'abandoned' | string
  length  integer not null,
  version integer not null,
  samples bigint  not null,
  primary key (run_id, tree_id, fate, length, version)
);

create table sample_steps (
  step_id        uuid    not null,
  tree_id        uuid    not null,
  rollout_id     uuid    not null,
  sampled_tokens integer not null,
  context_tokens integer not null,
  oldest_version integer not null,
  newest_version integer not null,
  policies       jsonb   not null, --: string[]
  has_tokens     boolean not null,
  has_log_probs  boolean not null,
  has_anchor     boolean not null,
  primary key (step_id, tree_id)
);
create index sample_steps_rollout on sample_steps (rollout_id);

-- `revised_by` lists the events that changed the value, so that one which is recorded again changes nothing.
create table sample_rewards (
  reward_id   uuid             not null,
  tree_id    uuid             not null,
  rollout_id uuid,
  step_id    uuid,
  component  text             not null,
  value      double precision not null,
  assigned_at timestamptz      not null,
  revised_by jsonb            not null default '[]', --: string[]
  primary key (reward_id, tree_id)
);
create index sample_rewards_rollout on sample_rewards (rollout_id);
create index sample_rewards_step on sample_rewards (step_id) where rollout_id is null;

-- training: one stream per policy, in its order. A lease and the end of a batch are of a batch that its lineage planned, a checkpoint is of its lineage: ids of another
-- lineage name nothing of it.
create table lineages (
  lineage_id  uuid        not null primary key,
  policy_id   text        not null unique,
  estimator   jsonb       not null, --: Record<string, unknown>
  rules       jsonb       not null, --: Record<string, unknown>
  seed        bigint      not null,
  trainer     jsonb       not null, --: Record<string, unknown>
  declared_at timestamptz not null
);

create table batches (
  batch_id       uuid        not null primary key,
  lineage_id     uuid        not null,
  policy_id      text        not null,
  ordinal        integer     not null,
  policy_version integer     not null,
  estimator      jsonb       not null, --: { name: string; revision: string; mode: unknown }
  rules          jsonb       not null, --: Record<string, unknown>
  seed           bigint      not null,
  position       text        not null,
  groups         integer     not null,
  samples        integer     not null,
  tokens         bigint      not null,
  shards         jsonb       not null, --: number[][]
  previous_hash  text,
  manifest_hash  text        not null,
  planned_at     timestamptz not null,
  unique (lineage_id, ordinal)
);
create index batches_policy on batches (policy_id, ordinal);

-- The samples of a batch in its order: `place` counts them through all groups, as its shards do. What became of a sample is what the
-- policy says that its run trains: another one may name it, in a batch or a rejection of its own, and changes nothing.
create table batch_samples (
  rollout_id    uuid    not null,
  batch_id      uuid    not null,
  policy_id     text    not null,
  tree_id       uuid    not null,
  group_ordinal integer not null,
  place         integer not null,
  primary key (rollout_id, tree_id, policy_id),
  unique (batch_id, place)
);
create index batch_samples_tree on batch_samples (tree_id);

create table sample_rejections (
  rollout_id  uuid             not null,
  lineage_id  uuid             not null,
  policy_id   text             not null,
  tree_id     uuid             not null,
  reason      text             not null,
  rule        text             not null,
  measured    double precision,
  rejected_at timestamptz      not null,
  primary key (rollout_id, tree_id, policy_id)
);
create index sample_rejections_policy on sample_rejections (policy_id, reason);
create index sample_rejections_reason on sample_rejections (reason, rollout_id);

-- `ended_by`: 'expired', 'returned', 'acked' or 'abandoned' (with its batch); null while the lease holds.
create table leases (
  lease_id   uuid        not null,
  batch_id   uuid        not null,
  lineage_id uuid        not null,
  policy_id  text        not null,
  fence      bigint      not null,
  consumer   text,
  deadline   timestamptz,
  leased_at  timestamptz,
  ended_at   timestamptz,
  ended_by   text, --: 'expired' | 'returned' | 'acked' | 'abandoned'
  end_reason text,
  primary key (lease_id, batch_id)
);
create index leases_batch on leases (batch_id, fence);

-- The end of a batch: once.
create table batch_acks (
  batch_id      uuid        not null primary key,
  lineage_id    uuid        not null,
  policy_id     text        not null,
  lease_id      uuid        not null,
  version       integer     not null,
  checkpoint_id uuid        not null,
  acked_at      timestamptz not null
);

-- The other end of a batch: it is never trained.
create table batch_abandonments (
  batch_id     uuid        not null primary key,
  lineage_id   uuid        not null,
  policy_id    text        not null,
  ordinal      integer     not null,
  abandoned_by text        not null, --: 'trainer' | 'operator'
  reason       text        not null,
  abandoned_at timestamptz not null
);
create index batch_abandonments_lineage on batch_abandonments (lineage_id);

create table checkpoints (
  checkpoint_id uuid        not null,
  lineage_id    uuid        not null,
  policy_id     text        not null,
  version       integer     not null,
  backend       text        not null,
  weights       text        not null,
  kept          jsonb, --: { blob: string; size: number; mediaType: string }
  covers        integer,
  saved_at      timestamptz not null,
  primary key (checkpoint_id, lineage_id)
);

create table policy_versions (
  lineage_id     uuid        not null,
  version        integer     not null,
  policy_id      text        not null,
  parent_version integer,
  batch_id       uuid,
  checkpoint_id  uuid        not null,
  weights        text        not null,
  estimator      jsonb, --: { name: string; revision: string; mode: unknown }
  loss           jsonb, --: { name: string; revision: string; mode: unknown }
  samples        integer     not null,
  metrics        jsonb       not null, --: Record<string, number>
  updated_at     timestamptz not null,
  primary key (lineage_id, version)
);
create index policy_versions_policy on policy_versions (policy_id, version);
