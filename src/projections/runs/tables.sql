create table experiments (
  experiment_id uuid        not null primary key,
  name          text        not null,
  question      text        not null,
  declared_at   timestamptz not null
);

create table runs (
  run_id         uuid        not null primary key,
  experiment_id  uuid,
  name           text        not null,
  kind           text        not null,
  seed           bigint      not null,
  code_version   text        not null,
  config         jsonb       not null, --: Record<string, unknown>
  environments   jsonb       not null, --: { environment: string; fingerprint: string }[]
  policy_id      text,
  policy_version integer,
  started_at     timestamptz not null,
  finished_at    timestamptz,
  outcome        text,
  message        text
);
create index runs_started on runs (started_at, run_id);
create index runs_going on runs (started_at, run_id) where finished_at is null;
create index runs_outcome on runs (outcome, started_at, run_id);
create index runs_kind on runs (kind, started_at, run_id);
create index runs_policy on runs (policy_id, started_at, run_id);
create index runs_experiment on runs (experiment_id, started_at, run_id);
create index runs_environments on runs using gin (environments jsonb_path_ops);
create index runs_words on runs using gin (to_tsvector('simple'::regconfig, regexp_replace(lower(run_id::text || ' ' || name || ' ' || coalesce(message, '')), '[^[:alnum:]]+', ' ', 'g')));

create table run_recorders (
  run_id      uuid        not null,
  recorder_id uuid        not null,
  name        text        not null,
  joined_at   timestamptz not null,
  left_at     timestamptz,
  outcome     text, --: 'completed' | 'failed' | 'cancelled'
  message     text,
  ended_by_opener boolean not null, -- the run
  primary key (run_id, recorder_id)
);

create table metrics (
  event_id    uuid             not null,
  run_id      uuid             not null,
  metric      text             not null,
  value       double precision not null,
  at          bigint,
  weights     text,
  occurred_at timestamptz      not null,
  primary key (run_id, event_id)
);
create index metrics_run on metrics (run_id, metric, at);
