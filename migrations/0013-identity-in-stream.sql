-- An event is identified by its id in its stream, where the log has an order: another stream may hold an event of the same id, whichever of the
-- two is delivered first. Every key that was an event id alone gets the stream (the tree, the run) with it. Old keys are stricter: no row is in the way.
do $$
declare
  found   record;
  changed record;
begin
  for changed in
    select * from (values
      ('journal',           'events',           'events_event_id_key',   'unique (event_id, stream)'),
      ('runs',              'metrics',          'metrics_pkey',          'primary key (run_id, event_id)'),
      ('step_tree',         'divergences',      'divergences_pkey',      'primary key (tree_id, event_id)'),
      ('rewards',           'reward_revisions', 'reward_revisions_pkey', 'primary key (tree_id, event_id)'),
      ('search_statistics', 'backups',          'backups_pkey',          'primary key (tree_id, event_id)'),
      ('revisions',         'judgements',       'judgements_pkey',       'primary key (tree_id, judgement_id)')
    ) as c (projection, kept, old, key)
  loop
    for found in
      select n.nspname from pg_constraint c join pg_namespace n on n.oid = c.connamespace
      where n.nspname ~ ('^' || changed.projection || '_v[0-9]+(_b[0-9]+)?$') and c.conname = changed.old
        and c.conrelid = to_regclass(format('%I.%I', n.nspname, changed.kept))
    loop
      execute format('alter table %I.%I drop constraint %I', found.nspname, changed.kept, changed.old);
      execute format('alter table %I.%I add %s', found.nspname, changed.kept, changed.key);
    end loop;
  end loop;
end $$;

-- A build that loads: its key waits in the statements that are still to be carried out.
update projection_builds
set deferred = replace(replace(deferred::text, 'events_event_id_key', 'events_event_id_stream_key'), 'UNIQUE (event_id)', 'UNIQUE (event_id, stream)')::jsonb
where projection = 'journal' and deferred is not null;
