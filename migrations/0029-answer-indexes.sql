-- Indexes of what is asked for by action, time, tool, reward component, verdict and reason, in the tables of every version and build
-- that is there. A table of more than 256 MB is left to `espalier index`, which does not stop who writes: what an index of it takes
-- here, every worker would wait for. A query without its index answers the same, later.
do $$
declare
  wanted record;
  found record;
begin
  for wanted in
    select * from (values
      ('step_tree', 'trees', 'trees_name', '(environment, alias, task_id, opened_at, tree_id)'),
      ('step_tree', 'steps', 'steps_sums', '(tree_id, log_offset) include (rollout_id, depth, well_formatted, executable, prompt_tokens, completion_tokens, policy_ms, environment_ms)'),
      ('step_tree', 'steps', 'steps_parent', '(tree_id, parent_step_id)'),
      ('step_tree', 'steps', 'steps_action', '(left(action, 200))'),
      ('step_tree', 'steps', 'steps_taken', '(occurred_at, step_id)'),
      ('step_tree', 'tool_calls', 'tool_calls_tool', '(tool, tree_id, tool_call_id)'),
      ('step_tree', 'tool_calls', 'tool_calls_duration', '(tool, duration_ms, tool_call_id)'),
      ('rewards', 'rewards', 'rewards_component', '(component, value)'),
      ('rewards', 'returns', 'returns_run_tree', '(run_id, tree_id, rollout_id) include (value)'),
      ('revisions', 'judgements', 'judgements_verdict', '(verdict, step_id)'),
      ('training_pool', 'sample_rejections', 'sample_rejections_reason', '(reason, rollout_id)')
    ) as w (projection, "table", name, columns)
  loop
    for found in
      select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname ~ ('^' || wanted.projection || '_v[0-9]+(_b[0-9]+)?$') and c.relname = wanted."table" and c.relkind = 'r'
        and pg_table_size(c.oid) <= 256 * 1024 * 1024
    loop
      execute format('create index if not exists %I on %I.%I %s', wanted.name, found.nspname, wanted."table", wanted.columns);
      -- steps_sums begins with the columns of steps_tree: it is read wherever that was.
      if wanted.name = 'steps_sums' then execute format('drop index if exists %I.steps_tree', found.nspname); end if;
    end loop;
  end loop;
end $$;
