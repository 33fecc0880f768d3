-- One row per environment of a run that brings a renderer: the module by which the studio shows its steps.
create table renderers (
  run_id      uuid not null,
  environment text not null,
  sha256      text not null,
  source      text not null,
  primary key (run_id, environment)
);
