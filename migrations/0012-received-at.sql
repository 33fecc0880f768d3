-- When the log took each record: of records written before, nobody knows (null). Monotonic in each partition, whatever the clock does.
alter table log_records add column received_at timestamptz;
alter table log_partitions add column received_at timestamptz;

-- As in 0002-log.sql; the row lock that numbers the records also dates them. To the millisecond, as every reader has it.
create or replace function log_append(
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
  -- Notifies the waiting readers of the partitions that grew; an empty text means any.
  perform pg_notify('espalier_log', case when cardinality(ids) <= 500 then array_to_string(ids, ',') else '' end);
  return firsts;
end $$;

-- The journal keeps it. No log holds a time of the records that are journalled already, so that nulls are what a fold of them makes.
do $$
declare
  found record;
  kept  text;
begin
  foreach kept in array array['events', 'quarantine_releases'] loop
    for found in select nspname from pg_namespace where nspname ~ '^journal_v[0-9]+(_b[0-9]+)?$'
    loop
      execute format('alter table %I.%I add column if not exists received_at timestamptz', found.nspname, kept);
    end loop;
    for found in
      select 'journal_v' || version % 1000000 || case when version >= 1000000 then '_b' || version / 1000000 + 1 else '' end as nspname
      from projections where name = 'journal'
    loop
      execute format('create or replace view public.%I as select * from %I.%I', kept, found.nspname, kept);
    end loop;
  end loop;
end $$;
