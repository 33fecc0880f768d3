-- Everything that determines pixels, by its digest, and which run draws by it.
create table render_specs (
  render_spec_id text  not null primary key,
  spec           jsonb not null --: Record<string, unknown>
);
create table run_render_specs (
  run_id         uuid        not null,
  render_spec_id text        not null,
  profile        text        not null,
  registered_at  timestamptz not null,
  primary key (run_id, render_spec_id)
);

-- The text of history lies here, once: a row per record of history and render spec, whatever runs and steps show it.
create table segments (
  segment_id     text        not null primary key,
  render_spec_id text        not null,
  text           text        not null,
  lines          integer     not null,
  width          integer     not null,
  height         integer     not null,
  rgb            text        not null,
  cut_lines      integer     not null,
  outside        integer     not null,
  unshaped       integer     not null,
  run_id         uuid        not null,
  rendered_at    timestamptz not null,
  blobs          jsonb --: Blobs
);

-- One row per step whose prompt showed its history as an image. The history is [prefix_from, prefix_to) of the one of
-- `prefix_step_id`, then `segments`; `length` counts both. `missed` are the places of the segments that had to be drawn.
create table history_images (
  step_id          uuid             not null,
  tree_id          uuid             not null,
  run_id           uuid             not null,
  render_spec_id   text             not null,
  prefix_step_id   uuid,
  prefix_from      integer          not null,
  prefix_to        integer          not null,
  segments         jsonb            not null, --: string[]
  length           integer          not null,
  history          text             not null, --: 'segments' | 'blank' | 'absent'
  missed           jsonb            not null, --: number[]
  factor           double precision not null,
  factor_chosen_by uuid,
  raw_width        integer          not null,
  raw_height       integer          not null,
  resized_width    integer          not null,
  resized_height   integer          not null,
  width            integer          not null,
  height           integer          not null,
  model_width      integer          not null,
  model_height     integer          not null,
  vision_tokens    integer          not null,
  vision_preset    text             not null,
  text_tokens      integer          not null,
  tokenizer        text             not null,
  image_id         text             not null,
  cut_segments     integer          not null,
  cut_lines        integer          not null,
  outside          integer          not null,
  unshaped         integer          not null,
  render_ms        double precision not null,
  rendered_at      timestamptz      not null,
  log_offset       bigint           not null,
  primary key (step_id, tree_id)
);
create index history_images_tree on history_images (tree_id, log_offset);
create index history_images_tokens on history_images (run_id, vision_tokens, step_id, tree_id) include (factor);
create index history_images_differing on history_images (run_id, image_id collate "C");
create index history_images_image on history_images (image_id);
