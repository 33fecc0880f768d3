-- Where the body of an event lies in the log: the journals that are built from now on keep no second copy of it. Those that are
-- there go on as they are, until `espalier rebuild journal`.
do $$
declare
  found record;
begin
  -- The view before its table, as readers lock them: the other way round both would wait for each other.
  if to_regclass('public.events') is not null then
    lock table public.events in access exclusive mode;
  end if;
  for found in select nspname from pg_namespace where nspname ~ '^journal_v[0-9]+(_b[0-9]+)?$'
  loop
    execute format('alter table %I.events add column if not exists log_partition integer', found.nspname);
  end loop;
  for found in
    select 'journal_v' || version % 1000000 || case when version >= 1000000 then '_b' || version / 1000000 + 1 else '' end as nspname
    from projections where name = 'journal'
  loop
    execute format('create or replace view public.events as select * from %I.events', found.nspname);
  end loop;
end $$;
