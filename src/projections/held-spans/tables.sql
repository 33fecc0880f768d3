-- Spans that describe captured rollouts, by the id of the call that one of a model becomes. One is placed when its call is
-- recorded, one with which a rollout ends when that end is; for others nothing waits.
create table held_spans (
  span_id     uuid        not null,
  tree_id     uuid        not null,
  rollout_id  uuid        not null,
  run         text        not null,
  task        text        not null,
  rollout     text        not null,
  principal   text        not null,
  project     text        not null,
  ends        boolean     not null,
  placed      boolean     not null,
  received_at timestamptz not null,
  primary key (span_id, tree_id)
);
create index held_spans_rollout on held_spans (rollout_id);
create index held_spans_waiting on held_spans (rollout_id) where not placed;
