-- What `espalier verify` found, each time: no event, since what is verified must not grow by it, and a damaged log takes none.
create table verifications (
  verification_id uuid        not null primary key default gen_random_uuid(),
  finished_at     timestamptz not null default now(),
  seconds         integer     not null,
  code_version    text        not null,
  faulty          bigint      not null,
  report          jsonb       not null --: Record<string, unknown>
);
create index verifications_finished on verifications (finished_at, verification_id);
