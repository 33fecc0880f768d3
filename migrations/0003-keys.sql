-- Keys of the API, and keys that seal payload.

-- What a key may do and how much: the projects it sees ('*' all of them), the one it writes unless a request names another, until
-- when, and its quotas per minute; null: no quota of its own.
create table api_keys (
  key_id              uuid        not null primary key,
  name                text        not null,
  hash                bytea       not null unique,
  scopes              text[]      not null,
  created_at          timestamptz not null default now(),
  revoked_at          timestamptz,
  project             text        not null default 'default' check (project ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  projects            text[]      not null default '{default}' check (cardinality(projects) > 0),
  expires_at          timestamptz,
  requests_per_minute integer     check (requests_per_minute > 0),
  bytes_per_minute    bigint      check (bytes_per_minute > 0),
  -- The keys that this one replaces, the first of them first: what they opened belongs to it too.
  replaces            uuid[]      not null default '{}'
);

-- The keys by which payload is sealed, one in force per stream. A key that is destroyed keeps its row without the key: what it
-- sealed is forgotten, while a key without a row is one that this database lost. `wrapped_by` names the master key that encrypts
-- `secret`; null: none does.
create table stream_keys (
  key_id       uuid        not null primary key,
  stream       uuid        not null,
  secret       bytea,
  wrapped_by   text,
  created_at   timestamptz not null default clock_timestamp(),
  destroyed_at timestamptz,
  check ((secret is null) = (destroyed_at is not null))
);
create unique index stream_keys_in_force on stream_keys (stream) where secret is not null;
create index stream_keys_stream on stream_keys (stream);
-- Caches, snapshots and readers ask which keys are destroyed: few of many.
create index stream_keys_destroyed on stream_keys (stream) where secret is null;

-- What a project says of its payload: whether what is appended from now on is sealed, and after how many days it is forgotten. A
-- project without a row, and null, say nothing.
create table payload_policies (
  project           text        not null primary key,
  seal              boolean,
  forget_after_days integer check (forget_after_days > 0),
  changed_at        timestamptz not null default clock_timestamp()
);
