-- Counts of the groups of training that nothing is owed of any more, in the tables of every version and build of the pool that is
-- there; they are counted here. A program of the release before that folds on counts no group that it ends, which who reads counts
-- by its samples, and does not count again where a closed group grows: `espalier index` does both when the last one has ended.
do $$
declare
  found record;
  path text := current_setting('search_path');
begin
  for found in
    select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '^training_pool_v[0-9]+(_b[0-9]+)?$' and c.relname = 'samples' and c.relkind = 'r'
  loop
    execute format($create$create table if not exists %I.settled_samples (
  run_id  uuid    not null,
  tree_id uuid    not null,
  task_id uuid    not null,
  fate    text    not null,
  length  integer not null,
  version integer not null,
  samples bigint  not null,
  primary key (run_id, tree_id, fate, length, version)
)$create$, found.nspname);
    -- The first version of the pool knows no abandonments; it is folded again before anyone trains.
    continue when to_regclass(format('%I.batch_abandonments', found.nspname)) is null;
    perform set_config('search_path', quote_ident(found.nspname) || ', public', true);
    execute $fill$insert into settled_samples (run_id, tree_id, task_id, fate, length, version, samples)
    select t.run_id, t.tree_id, t.task_id, p.fate, p.length, p.version, p.samples from (
      select g.run_id, g.tree_id, g.task_id, r.policy_id from groups g join training_runs r using (run_id)
      where g.closed_at is not null and r.channel = 'train' and r.policy_id is not null offset 0) t
    cross join lateral (
    select p.*, bool_and(p.fate is not null) over () as settled from (
      select case
          when s.finished_at is null then case when num_nonnulls(x.rollout_id, i.rollout_id) = 0 then 'running' end
          when i.rollout_id is null then case when x.policy_id = t.policy_id then x.reason end
          when x.rollout_id is null and b.policy_id = t.policy_id then
            case when exists (select from batch_acks a where a.batch_id = i.batch_id) then 'trained'
                 when exists (select from batch_abandonments a where a.batch_id = i.batch_id) then 'abandoned' end
        end as fate, case when s.taken < 1 then 0 else power(2, floor(log(2, s.taken)))::integer end as length,
        coalesce(s.oldest_version, -1) as version, count(*) as samples
      from (select * from samples s where s.tree_id = t.tree_id offset 0) s
      left join lateral (select * from sample_rejections x where x.rollout_id = s.rollout_id offset 0) x on true
      left join lateral (select * from batch_samples i where i.rollout_id = s.rollout_id offset 0) i on true
      left join lateral (select b.policy_id from batches b where b.batch_id = i.batch_id offset 0) b on true
      group by 1, 2, 3) p offset 0) p where p.settled
    on conflict do nothing$fill$;
    perform set_config('search_path', path, true);
  end loop;
  for found in
    select 'training_pool_v' || version % 1000000 || case when version >= 1000000 then '_b' || version / 1000000 + 1 else '' end as nspname
    from projections where name = 'training-pool'
  loop
    execute format('create or replace view public.settled_samples as select * from %I.settled_samples', found.nspname);
  end loop;
end $$;
