-- One row per judgement. A verdict is looked up by what the judge was asked; `run_id` is the run that its tree belongs to.
create table judgements (
  judgement_id uuid        not null,
  tree_id      uuid        not null,
  run_id       uuid        not null,
  leaf_step_id uuid        not null,
  step_id      uuid        not null,
  step_index   integer     not null,
  judge        text        not null,
  prompt_hash  text        not null,
  verdict      text        not null, --: 'good' | 'bad' | 'uncertain' | 'unparsed'
  reply        text        not null,
  reused_from  uuid,
  judged_at    timestamptz not null,
  log_offset   bigint      not null,
  blobs        jsonb, --: Blobs
  primary key (tree_id, judgement_id)
);
create index judgements_verdict on judgements (verdict, step_id);
create index judgements_prompt on judgements (prompt_hash, judge);

-- One row per revision trajectory of a tree. Its turns are made again from the tree by `splice` with these parameters.
create table revisions (
  revision_id        uuid             not null,
  tree_id            uuid             not null,
  run_id             uuid             not null,
  good_leaf_step_id  uuid             not null,
  bad_leaf_step_id   uuid             not null,
  branch_step_id     uuid             not null,
  transition_step_id uuid             not null,
  transition_cause   text             not null, --: 'bad' | 'none-bad' | 'unparsed' | 'direct'
  judged             integer          not null,
  reflection         text             not null,
  signal             text             not null, --: 'thought' | 'turn' | 'in-form'
  alpha              double precision not null,
  beta               double precision not null,
  judge              text             not null,
  content_hash       text             not null,
  state              text             not null, --: 'composed' | 'verified' | 'rejected'
  reached            double precision,
  threshold          double precision,
  reason             text,
  detail             text,
  at_step_id         uuid,
  composed_at        timestamptz      not null,
  checked_at         timestamptz,
  log_offset         bigint           not null,
  primary key (revision_id, tree_id)
);
create index revisions_tree on revisions (tree_id, log_offset);
create index revisions_run on revisions (run_id, composed_at, revision_id, tree_id);
