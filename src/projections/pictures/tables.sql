-- A picture that an observation held, in its order, by the step that it followed (the root for the opening of the task); one that
-- only the prompt of a captured call showed, by the id of the call.
create table pictures (
  step_id    uuid    not null,
  ordinal    integer not null,
  tree_id    uuid    not null,
  image_id   text    not null,
  width      integer not null,
  height     integer not null,
  png        jsonb   not null, --: Record<string, unknown>
  log_offset bigint  not null,
  primary key (step_id, tree_id, ordinal)
);
create index pictures_tree on pictures (tree_id);
create index pictures_image on pictures (image_id);
