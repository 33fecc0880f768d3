-- A build that is loaded in bulk: the statements that make its indexes and keys when the load has ended; null when nothing waits.
alter table projection_builds add column deferred jsonb;
-- How far who builds it is: offsets passed, of those that the live version has passed, per second, and when that was.
alter table projection_builds
  add column phase   text not null default 'folding' check (phase in ('loading', 'indexing', 'folding')),
  add column done    bigint,
  add column "of"    bigint,
  add column rate    double precision,
  add column told_at timestamptz;
