-- Replies that were cut at their length are counted from an index of their own, in the tables of every version and build that is
-- there. A table of more than 256 MB is left to `espalier index`, as in 0029.
do $$
declare
  found record;
begin
  for found in
    select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '^step_tree_v[0-9]+(_b[0-9]+)?$' and c.relname = 'steps' and c.relkind = 'r'
      and pg_table_size(c.oid) <= 256 * 1024 * 1024
  loop
    execute format(
      'create index if not exists steps_cut on %I.steps (tree_id) include (depth, rollout_id, completion_tokens) where finish_reason = ''length''',
      found.nspname
    );
  end loop;
end $$;
