-- What is counted of runs as they are folded: tables of three projections, in every version and build that is there, filled from
-- what has been folded so far. A program of the release before that folds on keeps no counts: `espalier index` counts again when the
-- last one has ended. Indexes by which runs are chosen, in tables of up to 256 MB; others are left to `espalier index`, as in 0029.
do $$
declare
  wanted record;
  found record;
begin
  for found in
    select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '^step_tree_v[0-9]+(_b[0-9]+)?$' and c.relname = 'trees' and c.relkind = 'r'
  loop
    execute format($create$create table if not exists %I.run_counts (
  run_id            uuid    not null,
  partition         integer not null,
  trees             bigint  not null,
  closed_trees      bigint  not null,
  rollouts          bigint  not null,
  terminated        bigint  not null,
  truncated         bigint  not null,
  failed            bigint  not null,
  cancelled         bigint  not null,
  judged            bigint  not null,
  successes         bigint  not null,
  steps             bigint  not null,
  prompt_tokens     bigint  not null,
  completion_tokens bigint  not null,
  primary key (run_id, partition)
)$create$, found.nspname);
    execute format($fill$insert into %1$I.run_counts (run_id, partition, trees, closed_trees, rollouts, terminated, truncated, failed, cancelled, judged,
        successes, steps, prompt_tokens, completion_tokens)
      select t.run_id, coalesce(e.partition, -1) as partition, count(*) as trees, count(t.closed_at) as closed_trees,
             sum(coalesce(o.rollouts, 0))::bigint as rollouts, sum(coalesce(o.terminated, 0))::bigint as terminated,
             sum(coalesce(o.truncated, 0))::bigint as truncated, sum(coalesce(o.failed, 0))::bigint as failed,
             sum(coalesce(o.cancelled, 0))::bigint as cancelled, sum(coalesce(o.judged, 0))::bigint as judged,
             sum(coalesce(o.successes, 0))::bigint as successes, sum(coalesce(s.steps, 0))::bigint as steps,
             sum(coalesce(s.prompt_tokens, 0))::bigint as prompt_tokens,
             sum(coalesce(s.completion_tokens, 0))::bigint as completion_tokens
      from %1$I.trees t left join public.events e on e.stream = t.tree_id and e.position = 1
      left join (
        select tree_id, count(*) as rollouts, count(*) filter (where outcome = 'terminated') as terminated,
               count(*) filter (where outcome = 'truncated') as truncated, count(*) filter (where outcome = 'failed') as failed,
               count(*) filter (where outcome = 'cancelled') as cancelled, count(success) as judged,
               count(*) filter (where success) as successes
        from %1$I.rollouts group by tree_id) o on o.tree_id = t.tree_id
      left join (
        select tree_id, count(*) filter (where depth > 0) as steps, sum(prompt_tokens) as prompt_tokens,
               sum(completion_tokens) as completion_tokens
        from %1$I.steps group by tree_id) s on s.tree_id = t.tree_id
      group by t.run_id, coalesce(e.partition, -1)$fill$, found.nspname);
  end loop;
  for found in
    select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '^rewards_v[0-9]+(_b[0-9]+)?$' and c.relname = 'returns' and c.relkind = 'r'
  loop
    execute format($create$create table if not exists %I.run_returns (
  run_id    uuid    not null,
  partition integer not null,
  returns   bigint  not null,
  total     numeric not null,
  primary key (run_id, partition)
)$create$, found.nspname);
    execute format($fill$insert into %1$I.run_returns (run_id, partition, returns, total)
      select v.run_id, coalesce(e.partition, -1) as partition, count(*) as returns, trim_scale(sum(v.value::text::numeric)) as total
      from %1$I.returns v left join public.events e on e.stream = v.tree_id and e.position = 1 group by v.run_id, coalesce(e.partition, -1)$fill$, found.nspname);
  end loop;
  for found in
    select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '^journal_v[0-9]+(_b[0-9]+)?$' and c.relname = 'events' and c.relkind = 'r'
  loop
    execute format($create$create table if not exists %I.run_events (
  run_id        uuid        not null,
  topic         text        not null,
  partition     integer     not null,
  events        bigint      not null,
  last_at       timestamptz not null,
  minute        bigint      not null,
  in_minute     bigint      not null,
  minute_before bigint      not null,
  primary key (run_id, topic, partition)
)$create$, found.nspname);
    execute format($fill$insert into %1$I.run_events (run_id, topic, partition, events, last_at, minute, in_minute, minute_before)
      select run_id, topic, partition, count(*) as events, max(at) as last_at, max(newest) as minute,
             count(*) filter (where minute = newest) as in_minute, count(*) filter (where minute = newest - 1) as minute_before
      from (
        select run_id, topic, partition, at, minute, max(minute) over (partition by run_id, topic, partition) as newest
        from (
          select correlation_id as run_id, topic, partition, coalesce(received_at, occurred_at) as at,
                 floor(extract(epoch from coalesce(received_at, occurred_at)) / 60)::bigint as minute
          from %1$I.events) a) b
      group by run_id, topic, partition$fill$, found.nspname);
  end loop;
  for wanted in
    select * from (values
      ('step_tree', 'step-tree', 'run_counts'), ('rewards', 'rewards', 'run_returns'), ('journal', 'journal', 'run_events')
    ) as w (folder, projection, "table")
  loop
    for found in
      select wanted.folder || '_v' || version % 1000000 || case when version >= 1000000 then '_b' || version / 1000000 + 1 else '' end
        as nspname
      from projections where name = wanted.projection
    loop
      execute format('create or replace view public.%I as select * from %I.%I', wanted."table", found.nspname, wanted."table");
    end loop;
  end loop;
  for wanted in
    select * from (values
      ('step_tree', 'rollouts', 'rollouts_failed', '(run_id, finished_at, rollout_id) where outcome = ''failed'''),
      ('runs', 'runs', 'runs_going', '(started_at, run_id) where finished_at is null'),
      ('runs', 'runs', 'runs_outcome', '(outcome, started_at, run_id)'),
      ('runs', 'runs', 'runs_kind', '(kind, started_at, run_id)'),
      ('runs', 'runs', 'runs_policy', '(policy_id, started_at, run_id)'),
      ('runs', 'runs', 'runs_experiment', '(experiment_id, started_at, run_id)'),
      ('runs', 'runs', 'runs_environments', 'using gin (environments jsonb_path_ops)'),
      ('runs', 'runs', 'runs_words', 'using gin (to_tsvector(''simple''::regconfig, regexp_replace(lower(run_id::text || '' '' || name || '' '' || coalesce(message, '''')), ''[^[:alnum:]]+'', '' '', ''g'')))'),
      ('annotations', 'annotations', 'annotations_labelled', '(label, run_id) where retracted_at is null')
    ) as w (projection, "table", name, columns)
  loop
    for found in
      select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname ~ ('^' || wanted.projection || '_v[0-9]+(_b[0-9]+)?$') and c.relname = wanted."table" and c.relkind = 'r'
        and pg_table_size(c.oid) <= 256 * 1024 * 1024
    loop
      execute format('create index if not exists %I on %I.%I %s', wanted.name, found.nspname, wanted."table", wanted.columns);
    end loop;
  end loop;
end $$;
