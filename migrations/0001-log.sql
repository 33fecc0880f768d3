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

-- One row per record. One in a block has the block's first offset, its place in it and its length, and no value of its own.
create table log_rows (
  partition_id integer not null,
  "offset"     bigint  not null,
  key          text    not null,
  value        bytea,
  received_at  timestamptz,
  block        bigint,
  start        integer,
  length       integer,
  primary key (partition_id, "offset")
);

-- Records that Postgres would compress one by one are kept by eight where one append brings them, in blocks that it compresses
-- whole: what repeats from one to the next is kept once.
create table log_blocks (
  partition_id integer not null,
  first_offset bigint  not null,
  value        bytea   not null,
  primary key (partition_id, first_offset)
);

-- All records, each with its value.
create view log_records as
select r.partition_id, r."offset", r.key,
       case when r.block is null then r.value else (
         select substring(b.value from r.start + 1 for r.length) from log_blocks b
         where b.partition_id = r.partition_id and b.first_offset = r.block) end as value,
       r.received_at
from log_rows r;

create table log_groups (
  group_id integer not null generated always as identity primary key,
  name     text    not null unique
);

-- Who reads the embedded log: a row per member of a group, renewed by its heartbeat. A member whose row ran out, or whose
-- connection ended, is replaced; it never renews a row that ran out, so one that was found dead stays dead and comes back under
-- another id.
create table log_members (
  member_id     bigint      not null generated always as identity primary key,
  group_id      integer     not null references log_groups,
  topic_ids     integer[]   not null, --: readonly number[]
  -- The connection on which it listens: its end is seen at once, where the heartbeat of a killed process would be missed for
  -- seconds.
  backend_pid   integer     not null,
  backend_start timestamptz not null,
  expires_at    timestamptz not null
) with (fillfactor = 50);
create index log_members_group on log_members (group_id);

-- The next offset to read, and the owner of a partition in a group; null when it is free. The fence grows with every owner: a
-- cursor is written only under it.
create table log_cursors (
  group_id     integer     not null references log_groups,
  partition_id integer     not null references log_partitions,
  next_offset  bigint      not null,
  updated_at   timestamptz not null default now(),
  member_id    bigint,
  fence        bigint      not null default 0,
  primary key (group_id, partition_id)
) with (fillfactor = 50);

-- Volatile, so that it sees members that came after the statement which asks: one that is too new to be seen is not dead.
create function log_member_lives(id bigint) returns boolean language sql volatile as $$
  select exists (
    select from log_members m
    where m.member_id = id and m.expires_at > clock_timestamp()
      and exists (
        -- the start of another role's connection is hidden
        select from pg_stat_get_activity(m.backend_pid) a where a.backend_start is null or a.backend_start = m.backend_start))
$$;

-- Appends records in one statement, which is one transaction and one round trip. Partition i (ids ascending: every append takes
-- the row locks in that order, so no two deadlock) gets counts[i] records; record j goes to partition slots[j] as the ranks[j]-th
-- of this append, its value are the lengths[j] bytes of `bodies` from starts[j]. One packed bytea travels in binary, an array of
-- them would as hex text. The row lock that numbers the records also dates them, to the millisecond, as every reader has it.
-- Returns the first offset per partition.
--
-- Eight records that follow each other are a block where they have more than 1,800 bytes each on average (they would be
-- compressed one by one) and 64 KB together at most (a reader of one of them unpacks the block up to it).
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
  if cardinality(slots) = cardinality(ids) or not 1800 < any (lengths) then
    insert into log_rows (partition_id, "offset", key, value, received_at)
    select ids[r.slot], firsts[r.slot] + r.rank, r.key, substring(bodies from r.start + 1 for r.length), received[r.slot]
    from unnest(slots, ranks, keys, starts, lengths) as r (slot, rank, key, start, length);
    return firsts;
  end if;
  with appended as (
    select r.slot, r.rank, r.rank / 8 as part, r.key, r.start, r.length,
           sum(r.length) over (partition by r.slot, r.rank / 8 order by r.rank) - r.length as start_in_part,
           sum(r.length) over (partition by r.slot, r.rank / 8) as bytes, count(*) over (partition by r.slot, r.rank / 8) as records
    from unnest(slots, ranks, keys, starts, lengths) as r (slot, rank, key, start, length)
  ), placed as (
    select slot, ids[slot] as partition_id, firsts[slot] + rank as "offset", rank, part, key, start, length, start_in_part,
           records > 1 and bytes > 1800 * records and bytes <= 65536 as packed
    from appended
  ), blocks as (
    insert into log_blocks (partition_id, first_offset, value)
    select partition_id, min("offset"), string_agg(substring(bodies from start + 1 for length), ''::bytea order by rank)
    from placed where packed group by partition_id, part
  )
  insert into log_rows (partition_id, "offset", key, value, received_at, block, start, length)
  select partition_id, "offset", key, case when not packed then substring(bodies from start + 1 for length) end, received[slot],
         case when packed then "offset" - rank % 8 end, case when packed then start_in_part end, case when packed then length end
  from placed;
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
create table log_identity (
  singleton boolean not null primary key default true check (singleton),
  identity  text    not null
);

-- The partitions that each topic of the log had at its first start. A key chooses among them, so a topic with another number is
-- refused. `held_since`: when the partition was first seen to hold records; where its first record is much younger, the topic was
-- made again under its name.
create table recorded_partitions (
  topic      text    not null,
  partition  integer not null,
  held_since timestamptz,
  primary key (topic, partition)
);
