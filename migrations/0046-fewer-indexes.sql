-- Indexes that no question needs, dropped from the tables of every version and build that is there: three whose first column is that
-- of the primary key of rows of which a tree has few, and five by which nothing is asked for.
do $$
declare
  dropped record;
  found record;
begin
  for dropped in
    select * from (values
      ('step_tree', 'divergences_tree'), ('search_statistics', 'backups_tree'), ('revisions', 'judgements_tree'),
      ('revisions', 'revisions_content'), ('training_pool', 'leases_policy'), ('training_pool', 'batch_acks_policy'),
      ('training_pool', 'checkpoints_policy'), ('training_pool', 'sample_rejections_tree')
    ) as d (projection, name)
  loop
    for found in
      select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname ~ ('^' || dropped.projection || '_v[0-9]+(_b[0-9]+)?$') and c.relname = dropped.name and c.relkind = 'i'
    loop
      execute format('drop index if exists %I.%I', found.nspname, dropped.name);
    end loop;
  end loop;
end $$;
