-- The content that each dataset id stands for: what is said of other content under it counts for nothing.
create table dataset_digests (
  dataset_id uuid not null primary key,
  sha256     text not null
);
-- One row per example of a released file: its lines, and the record that it was made of.
create table dataset_examples (
  dataset_id      uuid    not null,
  line            integer not null,
  lines           integer not null,
  kind            text    not null, --: 'good' | 'revision' | 'pair'
  tree_id         uuid    not null,
  good_rollout_id uuid    not null,
  bad_rollout_id  uuid,
  revision_id     uuid,
  primary key (dataset_id, line)
);
create index dataset_examples_tree on dataset_examples (tree_id, dataset_id);
create index dataset_examples_good on dataset_examples (good_rollout_id, dataset_id);
create index dataset_examples_bad on dataset_examples (bad_rollout_id, dataset_id);
create index dataset_examples_revision on dataset_examples (revision_id, dataset_id);
