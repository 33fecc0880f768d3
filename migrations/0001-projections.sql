-- What the projection runner keeps: which version of each projection is live, its cursor per partition, its quarantine, the API keys.
create table projections (
  name    text    not null primary key,
  version integer not null,
  state   text    not null default 'running' check (state in ('running', 'stopped')),
  reason  text
);

create table cursors (
  projection  text    not null,
  version     integer not null,
  topic       text    not null,
  partition   integer not null,
  next_offset bigint  not null,
  updated_at  timestamptz not null default now(),
  primary key (projection, version, topic, partition)
);

create table quarantine (
  projection     text        not null,
  topic          text        not null,
  partition      integer     not null,
  "offset"       bigint      not null,
  event_id       uuid,
  type           text,
  stream         text,
  code           text        not null,
  field          text        not null,
  reason         text        not null,
  body           bytea       not null,
  quarantined_at timestamptz not null default now(),
  released_at    timestamptz,
  primary key (projection, topic, partition, "offset")
);
create index quarantine_open on quarantine (quarantined_at) where released_at is null;

create table api_keys (
  key_id     uuid        not null primary key,
  name       text        not null,
  hash       bytea       not null unique,
  scopes     text[]      not null,
  created_at timestamptz not null default now(),
  revoked_at timestamptz
);
