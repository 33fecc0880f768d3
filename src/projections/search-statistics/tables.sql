-- One row per back-up; `path` is root first. Keeping them makes "as of simulation n" a sum over the first n.
create table backups (
  event_id     uuid             not null,
  tree_id      uuid             not null,
  simulation   bigint           not null,
  leaf_step_id uuid             not null,
  value        double precision not null,
  path         uuid[]           not null,
  log_offset   bigint           not null,
  primary key (tree_id, event_id)
);

create table node_statistics (
  step_id   uuid             not null,
  tree_id   uuid             not null,
  visits    bigint           not null,
  value_sum double precision not null,
  primary key (step_id, tree_id)
);
create index node_statistics_tree on node_statistics (tree_id);
