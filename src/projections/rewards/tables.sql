-- What a tree holds is identified by its id in the tree: keys begin with the id, for look-ups by it alone.
-- Rewards stay facts: `value` is the judgement in force, `assigned_value` the first one, and every later one is a row of
-- reward_revisions.
create table rewards (
  reward_id       uuid             not null,
  tree_id         uuid             not null,
  step_id         uuid,
  rollout_id      uuid,
  component       text             not null,
  value           double precision not null,
  assigned_value  double precision not null,
  scorer          text             not null,
  scorer_revision text             not null,
  raw             jsonb, --: { value: number; scale: number; kind: string }
  revisions       integer          not null,
  assigned_at     timestamptz      not null,
  revised_at      timestamptz,
  primary key (reward_id, tree_id)
);
create index rewards_of_tree on rewards (tree_id) include (step_id, rollout_id, component, value);
create index rewards_step on rewards (step_id);
create index rewards_rollout on rewards (rollout_id);
create index rewards_component on rewards (component, value);

create table reward_revisions (
  event_id        uuid             not null,
  reward_id       uuid             not null,
  tree_id         uuid             not null,
  ordinal         integer          not null,
  value           double precision not null,
  scorer          text             not null,
  scorer_revision text             not null,
  reason          text             not null,
  occurred_at     timestamptz      not null,
  primary key (tree_id, event_id)
);
create unique index reward_revisions_reward on reward_revisions (reward_id, tree_id, ordinal);

-- Parent links, so that a return can be summed along a path inside this projection: another projection's cursor may be elsewhere;
-- and which rollout took a step, whose rewards name no other.
create table reward_edges (
  step_id        uuid not null,
  tree_id        uuid not null,
  parent_step_id uuid,
  rollout_id     uuid,
  depth          integer not null,
  primary key (step_id, tree_id)
);
create index reward_edges_parent on reward_edges (parent_step_id);
create table reward_rollouts (
  rollout_id   uuid    not null,
  tree_id      uuid    not null,
  from_step_id uuid    not null,
  from_depth   integer not null,
  primary key (rollout_id, tree_id)
);
create table reward_trees (
  tree_id uuid not null primary key,
  run_id  uuid not null
);

-- The return of every finished rollout: the rewards of the steps from the root to its leaf, and those on the rollout itself.
create table returns (
  rollout_id   uuid             not null,
  tree_id      uuid             not null,
  run_id       uuid             not null,
  leaf_step_id uuid             not null,
  value        double precision, -- null where there is no reward: unknown, which is not 0
  primary key (rollout_id, tree_id)
);
create index returns_of_tree on returns (tree_id) include (rollout_id, value);
create index returns_leaf on returns (leaf_step_id);
create index returns_value on returns (value, rollout_id, tree_id);
create index returns_value_desc on returns (value desc nulls last, rollout_id desc, tree_id desc);
create index returns_run_value on returns (run_id, value, rollout_id, tree_id);
create index returns_run_value_desc on returns (run_id, value desc nulls last, rollout_id desc, tree_id desc);
create index returns_run_tree on returns (run_id, tree_id, rollout_id) include (value);

-- How many rewarded rollouts a run has and what their returns sum to, by the partition that its trees lie in. The sum is exact, as a decimal: any
-- order of additions and corrections comes to the same.
create table run_returns (
  run_id    uuid    not null,
  partition integer not null,
  returns   bigint  not null,
  total     numeric not null,
  primary key (run_id, partition)
);
