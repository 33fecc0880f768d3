-- A release from quarantine is a record of the log: the event is appended again, and every fold meets it there. `released_offset` is that place; a row with
-- `released_at` and without it was released by a version that kept releases in this table alone (`espalier verify` names those).
alter table quarantine add column released_offset bigint;

-- The journal keeps those places. No log holds one yet, so that an empty table is what a fold of any journal would make.
do $$
declare
  found record;
begin
  for found in select nspname from pg_namespace where nspname ~ '^journal_v[0-9]+(_b[0-9]+)?$'
  loop
    execute format('create table if not exists %I.quarantine_releases (
      topic text not null, partition integer not null, "offset" bigint not null, event_id uuid not null, stream uuid not null,
      from_offset bigint not null, released_at timestamptz not null, reason text, primary key (topic, partition, "offset"))', found.nspname);
    execute format('create index if not exists quarantine_releases_stream on %I.quarantine_releases (stream)', found.nspname);
  end loop;
  for found in
    select 'journal_v' || version % 1000000 || case when version >= 1000000 then '_b' || version / 1000000 + 1 else '' end as nspname
    from projections where name = 'journal'
  loop
    execute format('create or replace view public.quarantine_releases as select * from %I.quarantine_releases', found.nspname);
  end loop;
end $$;
