-- Records that Postgres would compress one by one (their rows are above 2 KB) are kept by eight where one append brings them, in
-- blocks that it compresses whole: what repeats from one to the next is kept once. A row of the log names the block and where in
-- it the record lies. `log_records` is a view of all records, as every reader before it has them.
create table log_blocks (
  partition_id integer not null,
  first_offset bigint  not null,
  value        bytea   not null,
  primary key (partition_id, first_offset)
);

do $$
declare
  found record;
begin
  -- The views before their tables, as readers lock them: the other way round both would wait for each other.
  if to_regclass('public.events') is not null then
    lock table public.events in access exclusive mode;
  end if;
  for found in
    select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '^journal_v[0-9]+(_b[0-9]+)?$' and c.relname = 'events_shown' and c.relkind = 'v' order by 1
  loop
    execute format('lock table %I.events_shown in access exclusive mode', found.nspname);
  end loop;
  alter table log_records rename to log_rows;
  -- Of a record in a block: its first offset, and where the record begins in it, and its length. `value` is null then.
  alter table log_rows alter column value drop not null,
    add column block bigint, add column start integer, add column length integer;
  create view log_records as
  select r.partition_id, r."offset", r.key,
         case when r.block is null then r.value else (
           select substring(b.value from r.start + 1 for r.length) from log_blocks b
           where b.partition_id = r.partition_id and b.first_offset = r.block) end as value,
         r.received_at
  from log_rows r;
  -- A view goes by the table that had the name when it was made.
  for found in
    select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '^journal_v[0-9]+(_b[0-9]+)?$' and c.relname = 'events_shown' and c.relkind = 'v'
  loop
    execute format($view$create or replace view %I.events_shown as
select topic, partition, "offset", event_id, type, stream, position, sequence, producer, correlation_id, occurred_at,
       case when body <> '' then body else (
         select convert_from(r.value, 'UTF8') collate "default" from public.log_records r
         where r.partition_id = e.log_partition and r."offset" = e."offset") end as body,
       received_at, null::integer as log_partition
from %I.events e$view$, found.nspname, found.nspname);
  end loop;
end $$;

-- An append of the release before that waited for this file, and goes on behind it, inserts by the name.
create function log_records_insert() returns trigger language plpgsql as $$
begin
  insert into log_rows (partition_id, "offset", key, value, received_at)
  values (new.partition_id, new."offset", new.key, new.value, new.received_at);
  return new;
end $$;
create trigger log_records_insert instead of insert on log_records for each row execute function log_records_insert();

-- As in 0044-lease-decisions.sql; eight records that follow each other are a block where they have more than 1,800 bytes each on
-- average (they would be compressed one by one) and 64 KB together at most (who reads one of them unpacks the block up to it).
create or replace function log_write(
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
