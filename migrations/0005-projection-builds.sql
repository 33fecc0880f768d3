-- Versions of projections that stand beside the live one: still being built, or kept after another took over. Their cursors and what they
-- quarantined go by the name `projection@version`, so that nobody who asks for the live version meets them.
create table projection_builds (
  projection text        not null,
  version    integer     not null,
  state      text        not null check (state in ('building', 'kept')),
  -- Digest of the code that folds it: a build is only gone on with by the same code.
  digest     text        not null,
  begun_at   timestamptz not null default now(),
  primary key (projection, version)
);
