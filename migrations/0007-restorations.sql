-- The backups that this installation was restored from, by the SHA-256 of their manifests. While one is not finished, the
-- installation holds a part of a record, and nothing but that restore opens it.
create table restorations (
  manifest    text        not null primary key,
  begun_at    timestamptz not null default clock_timestamp(),
  finished_at timestamptz
);
