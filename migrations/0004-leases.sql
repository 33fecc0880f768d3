-- The command side of training: who may train which batch, which version a policy is at, and the events that still have to reach
-- the log. Decided here, in one transaction each, and recorded in the log, through the outbox. The read models of the same facts
-- are folded from the log.

-- One row per policy. Versions are a chain: each batch makes exactly one version, and the next batch is leased only on top of it;
-- so a policy has at most one lease at a time, and that lease lies in the row whose lock decides it.
create table lease_desk (
  lineage_id    uuid        not null primary key,
  policy_id     text        not null unique,
  -- The newest version and the checkpoint that holds it: what the next trainer begins with.
  version       integer     not null check (version >= 0),
  checkpoint_id uuid        not null,
  backend       text        not null,
  weights       text        not null,
  kept          jsonb,
  -- That of version 0: a second registration of the policy must name the same.
  first_checkpoint_id uuid  not null,
  -- The batch to be trained next, and how often it was leased: its last fence.
  next_ordinal  integer     not null default 0 check (next_ordinal >= 0),
  fence         bigint      not null default 0 check (fence >= 0),
  -- The lease that holds it now.
  lease_id      uuid unique,
  batch_id      uuid,
  consumer      text,
  deadline      timestamptz,
  check (
    (lease_id is null) = (batch_id is null) and (lease_id is null) = (consumer is null) and (lease_id is null) = (deadline is null)
  )
);
create index lease_desk_deadline on lease_desk (deadline) where lease_id is not null;

-- Every lease ever given, so that a late request with an old one is told what became of it.
create table lease_grants (
  lease_id   uuid        not null primary key,
  lineage_id uuid        not null references lease_desk,
  batch_id   uuid        not null,
  ordinal    integer     not null,
  fence      bigint      not null,
  consumer   text        not null,
  granted_at timestamptz not null default clock_timestamp(),
  unique (batch_id, fence)
);

-- What came of each batch, once: a batch has one row, and a version one batch.
create table lease_acks (
  batch_id      uuid        not null primary key,
  lineage_id    uuid        not null references lease_desk,
  ordinal       integer     not null,
  lease_id      uuid        not null references lease_grants,
  version       integer     not null,
  checkpoint_id uuid        not null,
  weights       text        not null,
  acked_at      timestamptz not null default clock_timestamp(),
  unique (lineage_id, ordinal),
  unique (lineage_id, version),
  unique (lineage_id, checkpoint_id)
);

-- Batches that will never be trained, each once: the answer to a second abandonment. A batch has a row here or in `lease_acks`,
-- never in both: either is written under the lock of its policy's row, which then names the next batch.
create table lease_abandonments (
  batch_id     uuid        not null primary key,
  lineage_id   uuid        not null references lease_desk,
  ordinal      integer     not null,
  abandoned_at timestamptz not null default clock_timestamp(),
  unique (lineage_id, ordinal)
);

-- Which database the desk's tables were last compared with the log in. A copy that was restored, a server that was started anew
-- and a standby that took over are another one: their desk may have forgotten what the log tells, and learns it before it decides
-- anything.
create table desk_database (
  one  boolean not null primary key default true check (one),
  name text    not null
);

-- Records that were decided together with a change of this database, in the form of the log. The relay appends what has no
-- `relayed_at` yet, in the order of `outbox_id`, and notes where it lies. The counter of a producer in a stream is locked from
-- numbering to commit: there the order of ids is the order of commits.
create table outbox (
  outbox_id     bigint      not null generated always as identity primary key,
  event_id      uuid        not null unique,
  topic         text        not null,
  key           text        not null,
  value         bytea       not null,
  created_at    timestamptz not null default clock_timestamp(),
  relayed_at    timestamptz,
  log_partition integer,
  log_offset    bigint
);
create index outbox_waiting on outbox (outbox_id) where relayed_at is null;
create index outbox_relayed on outbox (relayed_at) where relayed_at is not null;

create table outbox_streams (
  stream        uuid   not null,
  producer      text   not null,
  next_sequence bigint not null,
  primary key (stream, producer)
);

-- Carries out what the lease service decided about a policy, in one statement: its row becomes `after`, what is noted of the
-- batch is kept, and its events are appended to the log of this database, or wait in the outbox. `seen` is the row version (xmin)
-- that the decision was made from, null of a policy without a row: where it is another by now, nothing is done and the answer is
-- 'changed'. One that finds the row locked waits for its holder and is answered the same, since what was decided (a deadline)
-- would be as old as the wait. `partition`: where the stream lies in the log of this database; null for a log that is elsewhere.
-- An event goes there only when none of its stream waits in the outbox, whose counter in outbox_streams is locked until the end:
-- the order of a stream is that of its numbers. An append that would wait longer than `wait_ms` is left to the relay. The client
-- gives notice: of 'appended' to readers of the log, of 'waiting' to the relay.
create function lease_service_decide(
  of_lineage uuid, seen xid, granted jsonb, acked jsonb, abandoned jsonb, after jsonb,
  by_producer text, first_sequence bigint, of_topic text, ids uuid[], starts integer[], lengths integer[], bodies bytea,
  of_partition integer, wait_ms integer
) returns text language plpgsql as $$
declare
  count integer := cardinality(ids);
begin
  if seen is null then
    insert into lease_desk
      (lineage_id, policy_id, version, first_checkpoint_id, checkpoint_id, backend, weights, kept, next_ordinal, fence)
    select lineage_id, policy_id, version, first_checkpoint_id, checkpoint_id, backend, weights, kept, next_ordinal, fence
    from jsonb_populate_record(null::lease_desk, after) on conflict do nothing;
    if not found then return 'changed'; end if;
  else
    perform 1 from lease_desk where lineage_id = of_lineage and xmin = seen for update skip locked;
    if not found then
      perform 1 from lease_desk where lineage_id = of_lineage for update;
      return 'changed';
    end if;
    update lease_desk set
      (version, checkpoint_id, backend, weights, kept, next_ordinal, fence, lease_id, batch_id, consumer, deadline) = (
      select version, checkpoint_id, backend, weights, kept, next_ordinal, fence, lease_id, batch_id, consumer, deadline
      from jsonb_populate_record(null::lease_desk, after))
    where lineage_id = of_lineage;
  end if;
  if granted is not null then
    insert into lease_grants (lease_id, lineage_id, batch_id, ordinal, fence, consumer)
    select lease_id, of_lineage, batch_id, ordinal, fence, consumer from jsonb_populate_record(null::lease_grants, granted);
  end if;
  if acked is not null then
    insert into lease_acks (batch_id, lineage_id, ordinal, lease_id, version, checkpoint_id, weights)
    select batch_id, of_lineage, ordinal, lease_id, version, checkpoint_id, weights
    from jsonb_populate_record(null::lease_acks, acked);
  end if;
  if abandoned is not null then
    insert into lease_abandonments (batch_id, lineage_id, ordinal)
    select batch_id, of_lineage, ordinal from jsonb_populate_record(null::lease_abandonments, abandoned);
  end if;
  if count = 0 then return 'silent'; end if;

  insert into outbox_streams as o (stream, producer, next_sequence) values (of_lineage, by_producer, first_sequence + count)
  on conflict (stream, producer) do update set next_sequence = excluded.next_sequence where o.next_sequence = first_sequence;
  if not found then raise serialization_failure using message = 'the numbers of the stream were taken meanwhile'; end if;
  if of_partition is not null and not exists (select from outbox where relayed_at is null and key = of_lineage::text) then
    begin
      perform set_config('lock_timeout', wait_ms || 'ms', true);
      perform log_write(
        array[of_partition], array[count], array_fill(1, array[count]), array(select generate_series(0, count - 1)),
        array_fill(of_lineage::text, array[count]), starts, lengths, bodies);
      return 'appended';
    exception when lock_not_available then null; -- by the relay, then
    end;
  end if;
  insert into outbox (event_id, topic, key, value)
  select e.id, of_topic, of_lineage::text, substring(bodies from e.start + 1 for e.length)
  from unnest(ids, starts, lengths) with ordinality as e (id, start, length, place) order by e.place;
  return 'waiting';
end $$;
