-- The command side of training: who may train which batch, which version a policy stands at, and the events that still have to reach the
-- log. Decided here, in one transaction each; told by the log, through the outbox. The read models of the same facts are folded from the log.

-- One row per policy. Versions are a chain: each batch makes exactly one version, and the next batch is leased only on top of it; so a
-- policy has at most one lease at a time, and that lease lies in the row whose lock decides it.
create table lease_desk (
  lineage_id    uuid        not null primary key,
  policy_id     text        not null unique,
  -- The newest version and the checkpoint that holds it: what the next trainer begins with.
  version       integer     not null check (version >= 0),
  checkpoint_id uuid        not null,
  backend       text        not null,
  weights       text        not null,
  kept          jsonb,
  -- That of version 0: who registers the policy again must mean the same.
  first_checkpoint_id uuid  not null,
  -- The batch to be trained next, and how often it was leased: its last fence.
  next_ordinal  integer     not null default 0 check (next_ordinal >= 0),
  fence         bigint      not null default 0 check (fence >= 0),
  -- The lease that holds it now.
  lease_id      uuid unique,
  batch_id      uuid,
  consumer      text,
  deadline      timestamptz,
  check ((lease_id is null) = (batch_id is null) and (lease_id is null) = (consumer is null) and (lease_id is null) = (deadline is null))
);
create index lease_desk_deadline on lease_desk (deadline) where lease_id is not null;

-- Every lease ever given, so that a late word of an old one is told what became of it.
create table lease_grants (
  lease_id   uuid        not null primary key,
  lineage_id uuid        not null references lease_desk,
  batch_id   uuid        not null,
  ordinal    integer     not null,
  fence      bigint      not null,
  consumer   text        not null,
  granted_at timestamptz not null default clock_timestamp(),
  unique (batch_id, fence)
);

-- What came of each batch, once: a batch has one row, and a version one batch.
create table lease_acks (
  batch_id      uuid        not null primary key,
  lineage_id    uuid        not null references lease_desk,
  ordinal       integer     not null,
  lease_id      uuid        not null references lease_grants,
  version       integer     not null,
  checkpoint_id uuid        not null,
  weights       text        not null,
  acked_at      timestamptz not null default clock_timestamp(),
  unique (lineage_id, ordinal),
  unique (lineage_id, version),
  unique (lineage_id, checkpoint_id)
);

-- Records that were decided together with a change of this database, in the form of the log. The relay appends what has no `relayed_at`
-- yet, in the order of `outbox_id`, and notes where it lies. The counter of a producer in a stream is locked from numbering to commit: there the
-- order of ids is the order of commits.
create table outbox (
  outbox_id     bigint      not null generated always as identity primary key,
  event_id      uuid        not null unique,
  topic         text        not null,
  key           text        not null,
  value         bytea       not null,
  created_at    timestamptz not null default clock_timestamp(),
  relayed_at    timestamptz,
  log_partition integer,
  log_offset    bigint
);
create index outbox_waiting on outbox (outbox_id) where relayed_at is null;
create index outbox_relayed on outbox (relayed_at) where relayed_at is not null;

create table outbox_streams (
  stream        uuid   not null,
  producer      text   not null,
  next_sequence bigint not null,
  primary key (stream, producer)
);
