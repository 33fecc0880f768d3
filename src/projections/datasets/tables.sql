-- One row per frozen dataset. A name has versions from 1; equal content under one name is one row.
create table datasets (
  dataset_id      uuid        not null primary key,
  name            text        not null,
  version         integer     not null,
  format          text        not null,
  format_version  integer     not null,
  query           jsonb       not null,
  parameters      jsonb       not null,
  position        jsonb       not null,
  counts          jsonb       not null,
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
