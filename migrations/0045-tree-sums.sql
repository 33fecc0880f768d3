-- Sums of closed trees by policy version and by tool, in the tables of every version and build of the step tree that is there; of
-- what is closed so far they are counted here, but for tables that are being loaded, whose indexes are missing. A program of the
-- release before that folds on writes none for the trees that it closes, which are counted by who reads, and does not count again
-- where a closed tree grows: `espalier index` does both when the last one has ended. An index by which rollouts of a run are chosen
-- and counted by their outcome takes the place of that of failed ones, in tables of up to 256 MB; others are left to
-- `espalier index`, as in 0029.
do $$
declare
  found record;
  path text := current_setting('search_path');
begin
  for found in
    select n.nspname, exists (
        select from pg_indexes i where i.schemaname = n.nspname and i.tablename = 'steps' and i.indexname in ('steps_of_tree', 'steps_sums', 'steps_tree')
      ) as indexed
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '^step_tree_v[0-9]+(_b[0-9]+)?$' and c.relname = 'trees' and c.relkind = 'r'
  loop
    execute format($create$create table if not exists %I.tree_sums (
  tree_id           uuid             not null,
  policy_id         text             not null,
  policy_version    integer          not null,
  rollouts          bigint           not null,
  finished          bigint           not null,
  judged            bigint           not null,
  successes         bigint           not null,
  walked            bigint           not null,
  steps             bigint           not null,
  well_formatted    bigint           not null,
  executable        bigint           not null,
  prompts           bigint           not null,
  prompt_tokens     bigint           not null,
  prompt_min        integer,
  prompt_max        integer,
  responses         bigint           not null,
  completion_tokens bigint           not null,
  response_min      integer,
  response_max      integer,
  cut               bigint           not null,
  policy_ms         double precision not null,
  environment_ms    double precision not null,
  primary key (tree_id, policy_id, policy_version)
)$create$, found.nspname);
    execute format($create$create table if not exists %I.tree_tools (
  tree_id           uuid             not null,
  tool              text             not null,
  policy_id         text             not null,
  policy_version    integer          not null,
  calls             bigint           not null,
  errors            bigint           not null,
  duration_ms       double precision not null,
  steps             bigint           not null,
  well_formatted    bigint           not null,
  executable        bigint           not null,
  prompt_tokens     bigint           not null,
  completion_tokens bigint           not null,
  policy_ms         double precision not null,
  environment_ms    double precision not null,
  rollout_ids       uuid[]           not null,
  primary key (tree_id, tool, policy_id, policy_version)
)$create$, found.nspname);
    if found.indexed then
      perform set_config('search_path', quote_ident(found.nspname) || ', public', true);
      execute $fill$insert into tree_sums (tree_id, policy_id, policy_version, rollouts, finished, judged, successes, walked, steps, well_formatted,
  executable, prompts, prompt_tokens, prompt_min, prompt_max, responses, completion_tokens, response_min, response_max, cut, policy_ms,
  environment_ms) select t.tree_id, p.policy_id, p.policy_version, p.rollouts, p.finished, p.judged, p.successes, p.walked, p.steps,
  p.well_formatted, p.executable, p.prompts, p.prompt_tokens, p.prompt_min, p.prompt_max, p.responses, p.completion_tokens,
  p.response_min, p.response_max, p.cut, p.policy_ms, p.environment_ms from (select tree_id from trees where closed_at is not null) t
    cross join lateral (
    select coalesce(o.policy_id, '') as policy_id, coalesce(o.policy_version, -1) as policy_version, count(o.rollout_id) as rollouts,
      count(o.finished_at) as finished, count(o.success) as judged,
      count(*) filter (where o.success) as successes, count(s.rollout_id) as walked,
      coalesce(sum(s.steps), 0)::bigint as steps, coalesce(sum(s.well_formatted), 0)::bigint as well_formatted,
        coalesce(sum(s.executable), 0)::bigint as executable, coalesce(sum(s.prompts), 0)::bigint as prompts,
        coalesce(sum(s.prompt_tokens), 0)::bigint as prompt_tokens,
      min(s.prompt_min) as prompt_min, max(s.prompt_max) as prompt_max, coalesce(sum(s.responses), 0)::bigint as responses,
        coalesce(sum(s.completion_tokens), 0)::bigint as completion_tokens,
      min(s.response_min) as response_min, max(s.response_max) as response_max, coalesce(sum(c.cut), 0)::bigint as cut,
      coalesce(sum(s.policy_ms order by s.rollout_id), 0) as policy_ms,
      coalesce(sum(s.environment_ms order by s.rollout_id), 0) as environment_ms
    from (
      select o.rollout_id, o.policy_id, o.policy_version, o.finished_at, o.success from rollouts o where o.tree_id = t.tree_id offset 0) o
    full join (
      select s.rollout_id, count(*) as steps, count(*) filter (where s.well_formatted) as well_formatted,
        count(*) filter (where s.executable) as executable, count(s.prompt_tokens) as prompts, sum(s.prompt_tokens) as prompt_tokens,
        min(s.prompt_tokens) as prompt_min, max(s.prompt_tokens) as prompt_max, count(s.completion_tokens) as responses,
        sum(s.completion_tokens) as completion_tokens, min(s.completion_tokens) as response_min,
        max(s.completion_tokens) as response_max, sum(s.policy_ms order by s.step_id) as policy_ms,
        sum(s.environment_ms order by s.step_id) as environment_ms from steps s where s.tree_id = t.tree_id and s.depth > 0 group by s.rollout_id offset 0) s
      on s.rollout_id = o.rollout_id
    left join (
      select c.rollout_id, count(*) as cut from steps c
      where c.tree_id = t.tree_id and c.finish_reason = 'length' and c.depth > 0 and c.completion_tokens is not null
      group by c.rollout_id offset 0) c on c.rollout_id = s.rollout_id
    group by 1, 2 offset 0) p$fill$;
      execute $fill$insert into tree_tools (tree_id, tool, policy_id, policy_version, calls, errors, duration_ms, steps, well_formatted, executable,
  prompt_tokens, completion_tokens, policy_ms, environment_ms, rollout_ids) select t.tree_id, p.tool, p.policy_id, p.policy_version,
  p.calls, p.errors, p.duration_ms, p.steps, p.well_formatted, p.executable, p.prompt_tokens, p.completion_tokens, p.policy_ms,
  p.environment_ms, p.rollout_ids from (select distinct tree_id from tree_sums) t
    cross join lateral (
    select k.tool, coalesce(o.policy_id, '') as policy_id, coalesce(o.policy_version, -1) as policy_version,
      sum(k.calls)::bigint as calls, sum(k.errors)::bigint as errors,
      sum(k.duration_ms order by k.step_id) as duration_ms, count(*) filter (where s.depth > 0 and true) as steps,
        count(*) filter (where s.depth > 0 and s.well_formatted) as well_formatted,
      count(*) filter (where s.depth > 0 and s.executable) as executable, coalesce(sum(s.prompt_tokens) filter (where s.depth > 0),
        0)::bigint as prompt_tokens, coalesce(sum(s.completion_tokens) filter (where s.depth > 0), 0)::bigint as completion_tokens,
      coalesce(sum(s.policy_ms order by s.step_id) filter (where s.depth > 0), 0) as policy_ms,
        coalesce(sum(s.environment_ms order by s.step_id) filter (where s.depth > 0), 0) as environment_ms,
      coalesce(array_agg(distinct s.rollout_id) filter (where s.rollout_id is not null), '{}') as rollout_ids
    from (
      select k.step_id, k.tool, count(*) as calls, count(*) filter (where k.outcome = 'error') as errors,
        sum(k.duration_ms order by k.duration_ms) as duration_ms
      from tool_calls k where k.tree_id = t.tree_id group by k.step_id, k.tool offset 0) k
    join (
      select s.step_id, s.rollout_id, s.depth, s.well_formatted, s.executable, s.prompt_tokens, s.completion_tokens, s.policy_ms,
        s.environment_ms
      from steps s where s.tree_id = t.tree_id offset 0) s using (step_id)
    left join (
      select o.rollout_id, o.policy_id, o.policy_version, o.finished_at,
        o.success from rollouts o where o.tree_id = t.tree_id offset 0) o using (rollout_id)
    group by 1, 2, 3 offset 0) p$fill$;
      perform set_config('search_path', path, true);
    end if;
  end loop;
  for found in
    select 'step_tree_v' || version % 1000000 || case when version >= 1000000 then '_b' || version / 1000000 + 1 else '' end as nspname
    from projections where name = 'step-tree'
  loop
    execute format('create or replace view public.tree_sums as select * from %I.tree_sums', found.nspname);
    execute format('create or replace view public.tree_tools as select * from %I.tree_tools', found.nspname);
  end loop;
  for found in
    select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '^step_tree_v[0-9]+(_b[0-9]+)?$' and c.relname = 'rollouts' and c.relkind = 'r'
      and pg_table_size(c.oid) <= 256 * 1024 * 1024
  loop
    execute format('create index if not exists rollouts_outcome on %I.rollouts (run_id, outcome, finished_at, rollout_id) include (success)', found.nspname);
    execute format('drop index if exists %I.rollouts_failed', found.nspname);
  end loop;
end $$;
