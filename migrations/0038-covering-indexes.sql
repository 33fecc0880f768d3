-- What is summed up of a tree lies in an index of that tree: rollouts, returns, calls of tools and rewards as steps before, and
-- steps with their ids, by which calls and rewards find their rollout. Each takes the place of an index of the same first columns,
-- in the tables of every version and build that is there. A table of more than 256 MB is left to `espalier index`, as in 0029.
do $$
declare
  wanted record;
  found record;
begin
  for wanted in
    select * from (values
      ('step_tree', 'steps', 'steps_of_tree', 'steps_sums', '(tree_id, log_offset) include (step_id, rollout_id, depth, well_formatted, executable, prompt_tokens, completion_tokens, policy_ms, environment_ms)'),
      ('step_tree', 'rollouts', 'rollouts_of_tree', 'rollouts_tree', '(tree_id, ordinal) include (rollout_id, policy_id, policy_version, finished_at, success, steps)'),
      ('step_tree', 'tool_calls', 'tool_calls_of_tree', 'tool_calls_tree', '(tree_id) include (step_id, tool, outcome, duration_ms)'),
      ('rewards', 'rewards', 'rewards_of_tree', 'rewards_tree', '(tree_id) include (step_id, rollout_id, component, value)'),
      ('rewards', 'returns', 'returns_of_tree', 'returns_tree', '(tree_id) include (rollout_id, value)')
    ) as w (projection, "table", name, replaced, columns)
  loop
    for found in
      select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname ~ ('^' || wanted.projection || '_v[0-9]+(_b[0-9]+)?$') and c.relname = wanted."table" and c.relkind = 'r'
        and pg_table_size(c.oid) <= 256 * 1024 * 1024
    loop
      execute format('create index if not exists %I on %I.%I %s', wanted.name, found.nspname, wanted."table", wanted.columns);
      execute format('drop index if exists %I.%I', found.nspname, wanted.replaced);
    end loop;
  end loop;
end $$;
