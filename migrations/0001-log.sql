-- The embedded log: topics cut into partitions, records numbered without a hole in each, and how far every group has read. And
-- what is known of any log, Kafka too: its identity, its partitions, who holds a run.

create table log_topics (
  topic_id   integer not null generated always as identity primary key,
  topic      text    not null unique,
  partitions integer not null check (partitions between 1 and 1000)
);

-- One row per partition; an append holds its lock from taking the offsets to the commit, so offsets become visible in order.
-- `received_at`: when the newest record was taken, monotonic whatever the clock does.
create table log_partitions (
  partition_id integer not null generated always as identity primary key,
  topic_id     integer not null references log_topics,
  partition    integer not null,
  next_offset  bigint  not null default 0,
  received_at  timestamptz,
  unique (topic_id, partition)
) with (fillfactor = 50);

create table log_records (
  partition_id integer     not null,
  "offset"     bigint      not null,
  key          text        not null,
  value        bytea       not null,
  received_at  timestamptz not null,
  primary key (partition_id, "offset")
);

create table log_groups (
  group_id integer not null generated always as identity primary key,
  name     text    not null unique
);

-- The next offset to read. It is written by the connection that holds the advisory lock (group_id, partition_id), the one reader
-- of the partition in its group.
create table log_cursors (
  group_id     integer not null references log_groups,
  partition_id integer not null references log_partitions,
  next_offset  bigint  not null,
  primary key (group_id, partition_id)
) with (fillfactor = 50);

-- Appends records in one statement, which is one transaction and one round trip. Partition i (ids ascending: every append takes
-- the row locks in that order, so no two deadlock) gets counts[i] records; record j goes to partition slots[j] as the ranks[j]-th
-- of this append, its value are the lengths[j] bytes of `bodies` from starts[j]. One packed bytea travels in binary, an array of
-- them would as hex text. The row lock that numbers the records also dates them, to the millisecond, as every reader has it.
-- Returns the first offset per partition.
--
-- Waiting readers are notified afterwards, by the client: a transaction that notifies takes a lock of the whole server until it
-- is durable, so that many appends at once would wait for the disk one after the other.
create function log_write(
  ids integer[], counts integer[], slots integer[], ranks integer[], keys text[], starts integer[], lengths integer[], bodies bytea
) returns bigint[] language plpgsql as $$
declare
  firsts   bigint[] := '{}';
  received timestamptz[] := '{}';
  first    bigint;
  at       timestamptz;
begin
  for i in 1 .. cardinality(ids) loop
    update log_partitions
    set next_offset = next_offset + counts[i], received_at = greatest(received_at, date_trunc('milliseconds', clock_timestamp()))
    where partition_id = ids[i] returning next_offset - counts[i], received_at into strict first, at;
    firsts := firsts || first;
    received := received || at;
  end loop;
  insert into log_records (partition_id, "offset", key, value, received_at)
  select ids[r.slot], firsts[r.slot] + r.rank, r.key, substring(bodies from r.start + 1 for r.length), received[r.slot]
  from unnest(slots, ranks, keys, starts, lengths) as r (slot, rank, key, start, length);
  return firsts;
end $$;

-- Who holds a run, one process at a time. Every taking raises the epoch; `holder` is null once it was given back. A holder that
-- was not heard from for a while is replaced: what it appends to the embedded log afterwards is refused by log_write_fenced.
create table run_epochs (
  run_id   uuid        not null primary key,
  epoch    bigint      not null,
  holder   uuid,
  process  text        not null, -- the process in words: `pid 12 on host`, and what tells it from one that has its number later
  heard_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

-- Appends as log_write does, unless one of the runs was taken over: epochs[i] is that of the collector of runs[i]. Checked after
-- the locks of the partitions are taken: a collector that takes over appends to each stream before it reads it, so that an append
-- is either before that or sees the new epoch.
create function log_write_fenced(
  runs uuid[], epochs bigint[],
  ids integer[], counts integer[], slots integer[], ranks integer[], keys text[], starts integer[], lengths integer[], bodies bytea
) returns bigint[] language plpgsql as $$
declare
  firsts bigint[] := log_write(ids, counts, slots, ranks, keys, starts, lengths, bodies);
  fenced text;
begin
  select string_agg(e.run_id::text, ',') into fenced
  from unnest(runs, epochs) as f (run_id, epoch) join run_epochs e using (run_id) where e.epoch > f.epoch;
  if fenced is not null then
    raise exception 'a later collector took over the run' using errcode = 'ESPFE', detail = fenced;
  end if;
  return firsts;
end $$;

-- The log that the read models of this database are folded from. Cursors are offsets of that log and mean nothing in another.
-- `installation` tells this installation from any other; it is random, so that a dump that is restored elsewhere keeps it.
create table log_identity (
  singleton    boolean not null primary key default true check (singleton),
  identity     text    not null,
  installation uuid    not null default gen_random_uuid()
);

-- The partitions that each topic of the log had at its first start. A key chooses among them, so a topic with another number is
-- refused.
create table recorded_partitions (
  topic      text    not null primary key,
  partitions integer not null
);
