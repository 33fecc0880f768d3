-- One row per evaluation: a run is evaluated once, and the first result is the fact.
create table evaluations (
  run_id           uuid             not null primary key,
  policy_id        text             not null,
  policy_version   integer          not null,
  environment      text             not null,
  split            text,
  tasks            integer          not null,
  episodes         integer          not null,
  rewarded         integer, -- episodes that have a return; null where it was not recorded
  mean_return      double precision,
  return_low       double precision,
  return_high      double precision,
  success_rate     double precision not null,
  success_low      double precision not null,
  success_high     double precision not null,
  mean_steps       double precision not null,
  bootstrap        jsonb            not null, --: Record<string, unknown>
  repeated_actions jsonb            not null, --: { length: number; perEpisode: number }[]
  by_depth         jsonb            not null, --: { taskDepth: number | null; episodes: number; successes: number }[]
  recovered_run_id uuid,
  trained          jsonb, --: Record<string, unknown>
  finished_at      timestamptz      not null
);
create index evaluations_policy on evaluations (policy_id, policy_version);
