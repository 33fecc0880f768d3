-- The embedded log: topics cut into partitions, records numbered without a hole in each, and how far every group has come.
create table log_topics (
  topic_id   integer not null generated always as identity primary key,
  topic      text    not null unique,
  partitions integer not null check (partitions between 1 and 1000)
);

-- One row per partition; an append holds its lock from taking the offsets to the commit, so offsets become visible in order.
create table log_partitions (
  partition_id integer not null generated always as identity primary key,
  topic_id     integer not null references log_topics,
  partition    integer not null,
  next_offset  bigint  not null default 0,
  unique (topic_id, partition)
) with (fillfactor = 50);

create table log_records (
  partition_id integer not null,
  "offset"     bigint  not null,
  key          text    not null,
  value        bytea   not null,
  primary key (partition_id, "offset")
);

create table log_groups (
  group_id integer not null generated always as identity primary key,
  name     text    not null unique
);

-- The next offset to read. Only the session that holds the partition's advisory lock for the group writes it.
create table log_cursors (
  group_id     integer     not null references log_groups,
  partition_id integer     not null references log_partitions,
  next_offset  bigint      not null,
  updated_at   timestamptz not null default now(),
  primary key (group_id, partition_id)
) with (fillfactor = 50);

-- Appends records in one statement, which is one transaction and one round trip. Partition i (ids ascending: every append takes the row
-- locks in that order, so no two deadlock) gets counts[i] records; record j goes to partition slots[j] as the ranks[j]-th of this append,
-- its value are the lengths[j] bytes of `bodies` from starts[j]. One packed bytea travels in binary, an array of them would as hex text.
-- Gives the first offset per partition.
create function log_append(
  ids integer[], counts integer[], slots integer[], ranks integer[], keys text[], starts integer[], lengths integer[], bodies bytea
) returns bigint[] language plpgsql as $$
declare
  firsts bigint[] := '{}';
  first  bigint;
begin
  for i in 1 .. cardinality(ids) loop
    update log_partitions set next_offset = next_offset + counts[i] where partition_id = ids[i] returning next_offset - counts[i] into strict first;
    firsts := firsts || first;
  end loop;
  insert into log_records (partition_id, "offset", key, value)
  select ids[r.slot], firsts[r.slot] + r.rank, r.key, substring(bodies from r.start + 1 for r.length)
  from unnest(slots, ranks, keys, starts, lengths) as r (slot, rank, key, start, length);
  -- Tells the waiting readers which partitions grew; an empty text says any.
  perform pg_notify('espalier_log', case when cardinality(ids) <= 500 then array_to_string(ids, ',') else '' end);
  return firsts;
end $$;
