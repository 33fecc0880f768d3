-- The index of actions cost who writes a step as much as the other three of 0029 together: it is built where it is asked for
-- (`espalier index --actions`). A query by action without it answers the same, later, and is refused over all steps of a large
-- record.
do $$
declare
  found record;
begin
  for found in
    select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '^step_tree_v[0-9]+(_b[0-9]+)?$' and c.relname = 'steps_action' and c.relkind = 'i'
  loop
    execute format('drop index if exists %I.steps_action', found.nspname);
  end loop;
end $$;
