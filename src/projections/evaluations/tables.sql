-- One row per evaluation: a run is evaluated once, and the first result is the fact. Columns are what queries choose by; the rest
-- of the result is `measures`, as it was recorded.
create table evaluations (
  run_id           uuid        not null primary key,
  policy_id        text        not null,
  policy_version   integer     not null,
  tasks            integer     not null,
  mean_return      double precision,
  recovered_run_id uuid,
  trained          jsonb, --: Record<string, unknown>
  measures         jsonb       not null, --: Record<string, unknown>
  finished_at      timestamptz not null
);
create index evaluations_policy on evaluations (policy_id, policy_version);
