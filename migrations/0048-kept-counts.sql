-- What folds count as they go: the rollouts of a run by the version of their policy, the annotations of a label, the images of a
-- tree, and of closed trees sums of hashes of the ids of their steps, by which images are known to be those of one version. In the tables of
-- every version and build that is there, filled from what has been folded so far. A program of the release before that folds on
-- counts none of it: `espalier index` counts again when the last one has ended. Indexes of images take the place of that of their
-- run, in tables of up to 256 MB; others are left to `espalier index`, as in 0029.
do $$
declare
  wanted record;
  found record;
begin
  -- The view before its table, as readers lock them: the other way round both would wait for each other.
  if to_regclass('public.tree_sums') is not null then
    lock table public.tree_sums in access exclusive mode;
  end if;
  for found in
    select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '^step_tree_v[0-9]+(_b[0-9]+)?$' and c.relname = 'tree_sums' and c.relkind = 'r'
  loop
    execute format('alter table %I.tree_sums add column if not exists ids_one bigint, add column if not exists ids_other bigint', found.nspname);
    execute format($fill$update %1$I.tree_sums k set ids_one = p.ids_one, ids_other = p.ids_other from (
      select k.tree_id, k.policy_id, k.policy_version, coalesce(s.ids_one, 0) as ids_one, coalesce(s.ids_other, 0) as ids_other
      from %1$I.tree_sums k left join (
        select s.tree_id, coalesce(o.policy_id, '') as policy_id, coalesce(o.policy_version, -1) as policy_version,
          sum((uuid_hash_extended(s.step_id, 0) >> 32)::integer) as ids_one, sum((uuid_hash_extended(s.step_id, 1) >> 32)::integer)
          as ids_other
        from %1$I.steps s left join %1$I.rollouts o using (rollout_id) where s.depth > 0 group by 1, 2, 3) s
        on (s.tree_id, s.policy_id, s.policy_version) = (k.tree_id, k.policy_id, k.policy_version)) p
      where (p.tree_id, p.policy_id, p.policy_version) = (k.tree_id, k.policy_id, k.policy_version)$fill$, found.nspname);
    execute format($create$create table if not exists %I.run_versions (
  run_id         uuid    not null,
  policy_id      text    not null,
  policy_version integer not null,
  partition      integer not null,
  rollouts       bigint  not null,
  finished       bigint  not null,
  judged         bigint  not null,
  successes      bigint  not null,
  primary key (run_id, policy_id, policy_version, partition)
)$create$, found.nspname);
    execute format($fill$insert into %1$I.run_versions (run_id, policy_id, policy_version, partition, rollouts, finished, judged, successes)
      select o.run_id, o.policy_id, o.policy_version, coalesce(e.partition, -1) as partition, count(*) as rollouts,
             count(o.finished_at) as finished, count(o.success) as judged, count(*) filter (where o.success) as successes
      from %1$I.rollouts o left join public.events e on e.stream = o.tree_id and e.position = 1 group by 1, 2, 3, 4
      on conflict do nothing$fill$, found.nspname);
  end loop;
  for found in
    select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '^annotations_v[0-9]+(_b[0-9]+)?$' and c.relname = 'annotations' and c.relkind = 'r'
  loop
    execute format($create$create table if not exists %I.label_counts (
  run_id      uuid    not null,
  partition   integer not null,
  label       text    not null,
  annotations bigint  not null,
  scored      bigint  not null,
  total       numeric not null,
  primary key (run_id, partition, label)
)$create$, found.nspname);
    execute format($fill$insert into %1$I.label_counts (run_id, partition, label, annotations, scored, total)
      select a.run_id, coalesce(e.partition, -1) as partition, a.label, count(*) filter (where a.retracted_at is null) as annotations,
             count(a.score) filter (where a.retracted_at is null) as scored,
             trim_scale(coalesce(sum(a.score::text::numeric) filter (where a.retracted_at is null), 0)) as total
      from %1$I.annotations a left join public.events e on e.stream = a.tree_id and e.position = 1 where a.label is not null
      group by 1, 2, 3 on conflict do nothing$fill$, found.nspname);
  end loop;
  for found in
    select n.nspname, pg_table_size(c.oid) <= 256 * 1024 * 1024 as small
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '^images_v[0-9]+(_b[0-9]+)?$' and c.relname = 'history_images' and c.relkind = 'r'
  loop
    execute format($create$create table if not exists %I.tree_images (
  tree_id       uuid             not null,
  run_id        uuid             not null,
  steps         bigint           not null,
  ids_one       bigint           not null,
  ids_other     bigint           not null,
  vision_tokens bigint           not null,
  vision_min    integer          not null,
  vision_max    integer          not null,
  text_tokens   bigint           not null,
  segments      bigint           not null,
  misses        bigint           not null,
  factors       numeric          not null,
  factor_min    double precision not null,
  factor_max    double precision not null,
  widths        bigint           not null,
  width_min     integer          not null,
  width_max     integer          not null,
  heights       bigint           not null,
  height_min    integer          not null,
  height_max    integer          not null,
  pixels        bigint           not null,
  pixels_min    bigint           not null,
  pixels_max    bigint           not null,
  cut_segments  bigint           not null,
  cut_lines     bigint           not null,
  outside       bigint           not null,
  render_ms     numeric          not null,
  primary key (tree_id, run_id)
)$create$, found.nspname);
    execute format($fill$insert into %1$I.tree_images (tree_id, run_id, steps, ids_one, ids_other, vision_tokens, text_tokens, segments, misses,
  widths, heights, pixels, cut_segments, cut_lines, outside, factors, render_ms, vision_min, vision_max, factor_min,
  factor_max, width_min, width_max, height_min, height_max, pixels_min, pixels_max) select tree_id, run_id, steps, ids_one,
  ids_other, vision_tokens, text_tokens, segments, misses, widths, heights, pixels, cut_segments, cut_lines, outside,
  factors, render_ms, vision_min, vision_max, factor_min, factor_max, width_min, width_max, height_min, height_max,
  pixels_min, pixels_max from (select i.tree_id, i.run_id, count(*) as steps, sum((uuid_hash_extended(i.step_id, 0) >>
  32)::integer) as ids_one, sum((uuid_hash_extended(i.step_id, 1) >> 32)::integer) as ids_other, sum(i.vision_tokens)::bigint
  as vision_tokens, min(i.vision_tokens) as vision_min, max(i.vision_tokens) as vision_max, sum(i.text_tokens)::bigint as
  text_tokens, sum(i.length)::bigint as segments, sum(i.misses)::bigint as misses, trim_scale(sum(i.factor::text::numeric))
  as factors, min(i.factor) as factor_min, max(i.factor) as factor_max, sum(i.width)::bigint as widths, min(i.width) as
  width_min, max(i.width) as width_max, sum(i.height)::bigint as heights, min(i.height) as height_min, max(i.height) as
  height_max, sum(i.width::bigint * i.height)::bigint as pixels, min(i.width::bigint * i.height) as pixels_min,
  max(i.width::bigint * i.height) as pixels_max, sum(i.cut_segments)::bigint as cut_segments, sum(i.cut_lines)::bigint as
  cut_lines, sum(i.outside)::bigint as outside, trim_scale(sum(i.render_ms::text::numeric)) as render_ms from (select h.*,
  jsonb_array_length(h.missed) as misses from %1$I.history_images h) i group by i.tree_id, i.run_id) p
      on conflict do nothing$fill$, found.nspname);
    execute format('create index if not exists tree_images_run on %I.tree_images (run_id)', found.nspname);
    if found.small then
      execute format('create index if not exists history_images_tokens on %I.history_images (run_id, vision_tokens, step_id) include (factor)', found.nspname);
      execute format('create index if not exists history_images_differing on %I.history_images (run_id, image_id collate "C")', found.nspname);
      execute format('drop index if exists %I.history_images_run', found.nspname);
    end if;
  end loop;
  for wanted in
    select * from (values
      ('step_tree', 'step-tree', 'tree_sums'), ('step_tree', 'step-tree', 'run_versions'), ('annotations', 'annotations', 'label_counts'),
      ('images', 'images', 'tree_images')
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
end $$;
