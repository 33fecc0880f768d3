-- Who owns each stream and which project it belongs to, by the event that opened it, and which projects brought each payload of
-- the blob store.
create table owners (
  stream    uuid not null,
  topic     text not null,
  -- Of a tree, the run that it belongs to: its owner and its project are those of the run.
  root      uuid,
  principal text not null,
  project   text not null,
  primary key (stream, topic)
);
create index owners_project on owners (project, topic, stream);

create table payload_projects (
  sha256  text not null,
  project text not null,
  primary key (sha256, project)
);
