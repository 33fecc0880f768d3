-- Who holds a run, one process at a time. Every taking raises the epoch; `holder` is null once it was given back. A holder that was not heard
-- from for a while is replaced: what it appends to the embedded log afterwards is refused by log_append_fenced.
create table run_epochs (
  run_id   uuid        not null primary key,
  epoch    bigint      not null,
  holder   uuid,
  process  text        not null, -- the process in words: `pid 12 on host`, and what tells it from one that has its number later
  heard_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

-- Where in the log a collector took over a stream: what lies behind this place and names a lower epoch has no effect. A function of the log
-- alone: whoever folds a partition writes the rows that it meets.
create table stream_epochs (
  topic     text    not null,
  partition integer not null,
  "offset"  bigint  not null,
  stream    uuid    not null,
  epoch     bigint  not null,
  primary key (topic, partition, "offset")
);
create index stream_epochs_stream on stream_epochs (stream);

-- Records without effect: a collector appended them after another one had taken over their stream. `body` is the record as it lay in the log.
create table superseded (
  topic     text    not null,
  partition integer not null,
  "offset"  bigint  not null,
  event_id  uuid    not null,
  type      text    not null,
  stream    uuid    not null,
  epoch     bigint  not null,
  by_epoch  bigint  not null,
  body      text    not null,
  primary key (topic, partition, "offset")
);
create index superseded_stream on superseded (stream);

-- Appends as log_append does, unless one of the runs was taken over: epochs[i] is that of the collector of runs[i]. Looked at behind the locks of
-- the partitions: a collector that takes over appends to each stream before it reads it, so that an append is either before that or sees the new epoch.
create function log_append_fenced(
  runs uuid[], epochs bigint[],
  ids integer[], counts integer[], slots integer[], ranks integer[], keys text[], starts integer[], lengths integer[], bodies bytea
) returns bigint[] language plpgsql as $$
declare
  firsts bigint[] := log_append(ids, counts, slots, ranks, keys, starts, lengths, bodies);
  fenced text;
begin
  select string_agg(e.run_id::text, ',') into fenced
  from unnest(runs, epochs) as f (run_id, epoch) join run_epochs e using (run_id) where e.epoch > f.epoch;
  if fenced is not null then
    raise exception 'a later collector took over the run' using errcode = 'ESPFE', detail = fenced;
  end if;
  return firsts;
end $$;

-- The journal notes each of them as an anomaly.
do $$
declare
  found record;
begin
  for found in select nspname from pg_namespace where nspname ~ '^journal_v[0-9]+(_b[0-9]+)?$'
  loop
    execute format('alter table %I.anomalies drop constraint anomalies_kind_check, add constraint anomalies_kind_check
      check (kind in (''duplicate'', ''gap'', ''reordered'', ''superseded''))', found.nspname);
  end loop;
end $$;
