-- The kind of a task, by which success is summed up, as a column of the trees of every version and build that is there. Records written
-- before name none: that of ALFWorld's follows from the alias and the goal, as `src/domain/evaluation/task-kind.ts` derives it for who
-- folds them again. The index is left to `espalier index` where the table has more than 256 MB, as in 0029.
do $$
declare
  found record;
begin
  for found in
    select n.nspname, pg_table_size(c.oid) <= 256 * 1024 * 1024 as small from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '^step_tree_v[0-9]+(_b[0-9]+)?$' and c.relname = 'trees' and c.relkind = 'r'
  loop
    execute format('alter table %I.trees add column if not exists kind text', found.nspname);
    execute format($update$
      update %I.trees t set kind = coalesce(
        (select w.kind from unnest(array['pick_and_place', 'pick_two_obj_and_place', 'look_at_obj_in_light', 'pick_heat_then_place_in_recep',
           'pick_cool_then_place_in_recep', 'pick_clean_then_place_in_recep']) with ordinality w (kind, place)
         where position(w.kind in t.alias) > 0 or position(w.kind in t.goal) > 0 order by w.place limit 1),
        (select w.kind from (values
           (1, '^(put|find) two ', 'pick_two_obj_and_place'),
           (2, '^(look at|examine) ', 'look_at_obj_in_light'),
           (3, '^(put an? (hot|heated) |heat )', 'pick_heat_then_place_in_recep'),
           (4, '^(put an? (cool|cooled|cold) |cool )', 'pick_cool_then_place_in_recep'),
           (5, '^(put an? (clean|cleaned) |clean )', 'pick_clean_then_place_in_recep'),
           (6, '^put (an?|some) ', 'pick_and_place')) w (place, goal, kind)
         where regexp_replace(lower(t.goal), '^.*your task is to:?\s*', '') ~ w.goal order by w.place limit 1))
      where t.environment ilike '%%alfworld%%' and t.kind is null$update$, found.nspname);
    if found.small then
      execute format('create index if not exists trees_kind on %I.trees (kind, environment, alias, task_id, opened_at, tree_id)
        where kind is not null', found.nspname);
    end if;
  end loop;
  for found in
    select 'step_tree_v' || version % 1000000 || case when version >= 1000000 then '_b' || version / 1000000 + 1 else '' end as nspname
    from projections where name = 'step-tree'
  loop
    execute format('create or replace view public.trees as select * from %I.trees', found.nspname);
  end loop;
end $$;
