-- One row per annotation of something of a tree; a retracted one stays. `run_id` is the run that its tree belongs to, `principal`
-- who added it. Of the ids of subjects the one is set that its kind names: `dataset_id` with `line`.
create table annotations (
  annotation_id  uuid             not null,
  tree_id        uuid             not null,
  run_id         uuid             not null,
  kind           text             not null, --: 'step' | 'rollout' | 'revision' | 'row' | 'tree'
  step_id        uuid,
  rollout_id     uuid,
  revision_id    uuid,
  dataset_id     uuid,
  line           integer,
  label          text,
  score          double precision,
  note           text             not null,
  principal      text             not null,
  added_at       timestamptz      not null,
  retracted_at   timestamptz,
  retracted_by   text,
  retract_reason text,
  primary key (tree_id, annotation_id)
);
create index annotations_id on annotations (annotation_id);
create index annotations_added on annotations (added_at, annotation_id, tree_id);
create index annotations_label on annotations (label, added_at, annotation_id, tree_id);
create index annotations_labelled on annotations (label, run_id) where retracted_at is null;
create index annotations_run on annotations (run_id, added_at, annotation_id, tree_id);
create index annotations_step on annotations (step_id) where step_id is not null;
create index annotations_rollout on annotations (rollout_id) where rollout_id is not null;
create index annotations_revision on annotations (revision_id) where revision_id is not null;
create index annotations_row on annotations (dataset_id, line) where dataset_id is not null;
