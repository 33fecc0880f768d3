-- One row per replay of something of a run.
create table replays (
  run_id       uuid        not null,
  replay_id    uuid        not null,
  mode         text        not null,
  outcome      text        not null,
  compared     bigint      not null,
  differing    bigint      not null,
  differences  jsonb       not null, --: Record<string, unknown>
  notes        jsonb       not null, --: Record<string, unknown>
  parameters   jsonb       not null, --: Record<string, unknown>
  code_version text        not null,
  seconds      integer     not null,
  finished_at  timestamptz not null,
  primary key (run_id, replay_id)
);
create index replays_run on replays (run_id, finished_at, replay_id);
