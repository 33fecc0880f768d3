-- The bookkeeping of projections. Their own tables are in `tables.sql` of each, in a schema per version.

-- Which version of each projection is live.
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

-- Records that a projection refused. A requeue from quarantine is a record of the log: the event is appended again, at
-- `requeued_offset` of the same partition, and every fold meets it there.
create table quarantine (
  projection      text        not null,
  topic           text        not null,
  partition       integer     not null,
  "offset"        bigint      not null,
  event_id        uuid,
  type            text,
  stream          text,
  code            text        not null,
  field           text        not null,
  reason          text        not null,
  body            bytea       not null,
  quarantined_at  timestamptz not null default now(),
  requeued_at     timestamptz,
  requeued_offset bigint,
  primary key (projection, topic, partition, "offset")
);
create index quarantine_open on quarantine (quarantined_at) where requeued_at is null;
-- An export asks which events of its trees wait.
create index quarantine_stream on quarantine (stream);

-- Versions of projections next to the live one: still being built, or kept after another took over. Their cursors and what they
-- quarantined go by the name `projection@version`, so that no reader of the live version meets them.
create table projection_builds (
  projection text        not null,
  version    integer     not null,
  state      text        not null check (state in ('building', 'kept')),
  -- Digest of the code that folds it: a build is continued only by the same code.
  digest     text        not null,
  begun_at   timestamptz not null default now(),
  -- Progress: offsets passed, of those that the live version has passed, per second, and when that was.
  done       bigint,
  "of"       bigint,
  rate       double precision,
  told_at    timestamptz,
  primary key (projection, version)
);

-- Where in the log a collector took over a stream: what is behind this place and names a lower epoch has no effect. A function of
-- the log only: every fold of a partition writes the rows that it meets.
create table stream_epochs (
  topic     text    not null,
  partition integer not null,
  "offset"  bigint  not null,
  stream    uuid    not null,
  epoch     bigint  not null,
  primary key (topic, partition, "offset")
);
create index stream_epochs_stream on stream_epochs (stream);

-- Records without effect: a collector appended them after another one had taken over their stream. `body` is the record as it lay
-- in the log.
create table superseded (
  topic     text    not null,
  partition integer not null,
  "offset"  bigint  not null,
  event_id  uuid    not null,
  type      text    not null,
  stream    uuid    not null,
  epoch     bigint  not null,
  by_epoch  bigint  not null,
  body      text    not null,
  primary key (topic, partition, "offset")
);
create index superseded_stream on superseded (stream);
