-- Sums of trees are read tree by tree: no question needs their index by policy of 0048.
do $$
declare
  found record;
begin
  for found in
    select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '^step_tree_v[0-9]+(_b[0-9]+)?$' and c.relname = 'tree_sums_policy' and c.relkind = 'i'
  loop
    execute format('drop index %I.tree_sums_policy', found.nspname);
  end loop;
end $$;
