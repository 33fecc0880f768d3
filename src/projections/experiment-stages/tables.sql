-- One row per experiment that was declared with stages.
create table experiment_plans (
  experiment_id uuid  not null primary key,
  declaration   jsonb not null, --: Record<string, unknown>
  rerun_of      uuid
);

-- One row per end of a stage: one that failed may end again, and the experiment goes on behind the one that completed.
create table experiment_stages (
  event_id      uuid        not null,
  experiment_id uuid        not null,
  arm           text        not null,
  stage         text        not null,
  kind          text        not null,
  seed          bigint      not null,
  key           text        not null,
  outcome       text        not null, --: 'completed' | 'failed'
  message       text        not null,
  reused_from   uuid,
  output        jsonb, --: Record<string, unknown>
  finished_at   timestamptz not null,
  primary key (experiment_id, event_id)
);
create index experiment_stages_key on experiment_stages (key) where outcome = 'completed';
