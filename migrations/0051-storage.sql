-- Digests and ids do not shrink by what Postgres compresses with, and the last block of a partition is written again by each slice:
-- compressing its offsets took longer than all the rest. Blocks that are there stay as they are, and are read as before.
do $$
declare
  found record;
begin
  -- The view before its table, as readers lock them: the other way round both would wait for each other.
  if to_regclass('public.chain_blocks') is not null then
    lock table public.chain_blocks in access exclusive mode;
  end if;
  for found in
    select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '^journal_chain_v[0-9]+(_b[0-9]+)?$' and c.relname = 'chain_blocks' and c.relkind = 'r'
  loop
    execute format('alter table %I.chain_blocks alter column offsets set storage external, alter column event_ids set storage external,
      alter column digests set storage external', found.nspname);
  end loop;
  -- A sample is written when it begins and again when it ends: with room in its page the second time leaves its indexes alone.
  for found in
    select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '^training_pool_v[0-9]+(_b[0-9]+)?$' and c.relname = 'samples' and c.relkind = 'r'
  loop
    execute format('alter table %I.samples set (fillfactor = 50)', found.nspname);
  end loop;
end $$;
