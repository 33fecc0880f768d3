-- Who reads the embedded log: a row per member of a group, renewed by its heartbeat. A member whose row ran out, or whose connection ended,
-- is replaced; it never renews a row that ran out, so who was found dead stays dead and comes back under another id.
create table log_members (
  member_id     bigint      not null generated always as identity primary key,
  group_id      integer     not null references log_groups,
  topic_ids     integer[]   not null, --: readonly number[]
  -- The connection on which it listens: its end is seen at once, where the heartbeat of a killed process would be missed for seconds.
  backend_pid   integer     not null,
  backend_start timestamptz not null,
  expires_at    timestamptz not null
) with (fillfactor = 50);
create index log_members_group on log_members (group_id);

-- The owner of a partition in a group; null when it is free. The fence grows with every owner: a cursor is written under it alone.
alter table log_cursors add column member_id bigint, add column fence bigint not null default 0;

-- Volatile, so that it sees members that came after the statement which asks: one that is too new to be seen is not dead.
create function log_member_lives(id bigint) returns boolean language sql volatile as $$
  select exists (
    select from log_members m
    where m.member_id = id and m.expires_at > clock_timestamp()
      and exists (
        -- the start of another role's connection is hidden
        select from pg_stat_get_activity(m.backend_pid) a where a.backend_start is null or a.backend_start = m.backend_start))
$$;
