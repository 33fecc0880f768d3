-- What log_append does, without the notice to waiting readers. A transaction that notifies takes a lock of the whole server
-- until it is durable, so that those of many at once wait for the disk one after the other: who appends with this gives notice
-- behind it, by itself.
create function log_write(
  ids integer[], counts integer[], slots integer[], ranks integer[], keys text[], starts integer[], lengths integer[], bodies bytea
) returns bigint[] language plpgsql as $$
declare
  firsts   bigint[] := '{}';
  received timestamptz[] := '{}';
  first    bigint;
  at       timestamptz;
begin
  for i in 1 .. cardinality(ids) loop
    update log_partitions
    set next_offset = next_offset + counts[i], received_at = greatest(received_at, date_trunc('milliseconds', clock_timestamp()))
    where partition_id = ids[i] returning next_offset - counts[i], received_at into strict first, at;
    firsts := firsts || first;
    received := received || at;
  end loop;
  insert into log_records (partition_id, "offset", key, value, received_at)
  select ids[r.slot], firsts[r.slot] + r.rank, r.key, substring(bodies from r.start + 1 for r.length), received[r.slot]
  from unnest(slots, ranks, keys, starts, lengths) as r (slot, rank, key, start, length);
  return firsts;
end $$;

-- What log_append_fenced does, in the same way. Looked at behind the locks of the partitions: see 0021-run-epochs.sql.
create function log_write_fenced(
  runs uuid[], epochs bigint[],
  ids integer[], counts integer[], slots integer[], ranks integer[], keys text[], starts integer[], lengths integer[], bodies bytea
) returns bigint[] language plpgsql as $$
declare
  firsts bigint[] := log_write(ids, counts, slots, ranks, keys, starts, lengths, bodies);
  fenced text;
begin
  select string_agg(e.run_id::text, ',') into fenced
  from unnest(runs, epochs) as f (run_id, epoch) join run_epochs e using (run_id) where e.epoch > f.epoch;
  if fenced is not null then
    raise exception 'a later collector took over the run' using errcode = 'ESPFE', detail = fenced;
  end if;
  return firsts;
end $$;

-- Of the release before: log_append_fenced goes by it too.
create or replace function log_append(
  ids integer[], counts integer[], slots integer[], ranks integer[], keys text[], starts integer[], lengths integer[], bodies bytea
) returns bigint[] language plpgsql as $$
declare
  firsts bigint[] := log_write(ids, counts, slots, ranks, keys, starts, lengths, bodies);
begin
  -- Notifies the waiting readers of the partitions that grew; an empty text means any.
  perform pg_notify('espalier_log', case when cardinality(ids) <= 500 then array_to_string(ids, ',') else '' end);
  return firsts;
end $$;

-- Carries out what the lease service decided about a policy, in one statement: its row becomes `after`, what is noted of the
-- batch is kept, and its events are appended to the log of this database, or lie in the outbox. `seen` is the row version
-- (xmin) that the decision was made from, null of a policy without a row: where it is another by now, nothing is done and the
-- answer is 'changed'. Who finds the row locked waits for its holder and is told the same, since what was decided (a deadline)
-- would be as old as the wait. `partition`: where the stream lies in the log of this database; null for a log that lies
-- elsewhere. An event goes there only when none of its stream waits in the outbox, whose counter in outbox_streams is locked
-- until the end: the order of a stream is that of its numbers. An append that would wait longer than `wait_ms` is left to the
-- relay. Who asks gives notice: of 'appended' to readers of the log, of 'waiting' to the relay.
create function lease_service_decide(
  of_lineage uuid, seen xid, granted jsonb, acked jsonb, abandoned jsonb, after jsonb,
  by_producer text, first_sequence bigint, of_topic text, ids uuid[], starts integer[], lengths integer[], bodies bytea,
  of_partition integer, wait_ms integer
) returns text language plpgsql as $$
declare
  count integer := cardinality(ids);
begin
  if seen is null then
    insert into lease_desk (lineage_id, policy_id, version, first_checkpoint_id, checkpoint_id, backend, weights, kept, next_ordinal, fence)
    select lineage_id, policy_id, version, first_checkpoint_id, checkpoint_id, backend, weights, kept, next_ordinal, fence
    from jsonb_populate_record(null::lease_desk, after) on conflict do nothing;
    if not found then return 'changed'; end if;
  else
    perform 1 from lease_desk where lineage_id = of_lineage and xmin = seen for update skip locked;
    if not found then
      perform 1 from lease_desk where lineage_id = of_lineage for update;
      return 'changed';
    end if;
    update lease_desk set (version, checkpoint_id, backend, weights, kept, next_ordinal, fence, lease_id, batch_id, consumer, deadline) = (
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
    select batch_id, of_lineage, ordinal, lease_id, version, checkpoint_id, weights from jsonb_populate_record(null::lease_acks, acked);
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
