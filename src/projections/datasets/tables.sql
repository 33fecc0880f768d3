-- One row per frozen dataset. A name has versions from 1; equal content under one name is one row.
create table datasets (
  dataset_id      uuid        not null primary key,
  name            text        not null,
  version         integer     not null,
  format          text        not null,
  format_version  integer     not null,
  query           jsonb       not null, --: Record<string, unknown>
  parameters      jsonb       not null, --: Record<string, unknown>
  position        jsonb       not null, --: Record<string, string>
  counts          jsonb       not null, --: Record<string, unknown>
  bytes           bigint      not null,
  sha256          text        not null,
  code_version    text        not null,
  runs            uuid[]      not null,
  released_at     timestamptz not null,
  withdrawn_at    timestamptz,
  withdraw_reason text
);
create index datasets_name on datasets (name, version);
create index datasets_runs on datasets using gin (runs);
