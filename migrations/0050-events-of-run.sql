-- The events of a run are found by a hash of its id: a key of 16 bytes in place of 50, of which Postgres fills its pages. The index
-- takes the place of the one with the whole id in the tables of every version and build that is there. A table of more than 256 MB
-- is left to `espalier index`, as in 0029; until then its old index is asked.
do $$
declare
  found record;
begin
  -- The view before its tables, as readers lock them, and the tables at once for good: a fold that has read one and waits to write it
  -- would be waited for by `drop index`.
  if to_regclass('public.events') is not null then
    lock table public.events in access exclusive mode;
  end if;
  for found in
    select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '^journal_v[0-9]+(_b[0-9]+)?$' and c.relname = 'events_shown' and c.relkind = 'v' order by 1
  loop
    execute format('lock table %I.events_shown in access exclusive mode', found.nspname);
  end loop;
  for found in
    select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '^journal_v[0-9]+(_b[0-9]+)?$' and c.relname = 'events' and c.relkind = 'r'
      and pg_table_size(c.oid) <= 256 * 1024 * 1024
  loop
    execute format('lock table %I.events in access exclusive mode', found.nspname);
    execute format('create index if not exists events_of_run on %I.events (uuid_hash(correlation_id), partition, "offset")', found.nspname);
    execute format('drop index if exists %I.events_correlation', found.nspname);
  end loop;
end $$;
