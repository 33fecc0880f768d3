-- The keys by which payload is sealed, one in force per stream. A key that is destroyed keeps its row without the key: what it sealed is
-- forgotten, while a key without a row is one that this database lost. `wrapped_by` names the master key that encrypts `secret`; null: none does.
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

-- What a project says of its payload: whether what is appended from now on is sealed, and after how many days it is forgotten. A project without
-- a row, and null, say nothing.
create table payload_policies (
  project           text        not null primary key,
  seal              boolean,
  forget_after_days integer check (forget_after_days > 0),
  changed_at        timestamptz not null default clock_timestamp()
);
