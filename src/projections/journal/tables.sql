-- The journal: every event in its log order (topic, partition, "offset") and in its stream's order (stream, position).
-- `body` is the record as it lay in the log, byte for byte, so that replay and the as-of queries read what was appended. Where
-- the log lies in this database, `body` is '' and the record is that of `log_partition` at "offset": all read `events_shown`.
-- An event is identified by its id in its stream: only there is an order in which one of two came first. `entity_id` is what it
-- alone states a fact of in its stream, by its type; null where there may be many such events.
-- `received_at` is when the log took it, never less than before in the partition; null where no log said so.
create table events (
  topic          text        not null,
  partition      integer     not null,
  "offset"       bigint      not null,
  event_id       uuid        not null,
  type           text        not null,
  stream         uuid        not null,
  entity_id      uuid,
  position       bigint      not null,
  sequence       bigint      not null,
  producer       text        not null,
  correlation_id uuid        not null,
  occurred_at    timestamptz not null,
  body           text        not null,
  received_at    timestamptz,
  log_partition  integer,
  primary key (topic, partition, "offset"),
  unique (event_id, stream)
);
create view events_shown as
select topic, partition, "offset", event_id, type, stream, entity_id, position, sequence, producer, correlation_id, occurred_at,
       case when body <> '' then body else (
         select convert_from(r.value, 'UTF8') collate "default" from public.log_records r
         where r.partition_id = e.log_partition and r."offset" = e."offset") end as body,
       received_at, null::integer as log_partition
from events e;
create unique index events_stream on events (stream, position);
create index events_fact on events (stream, entity_id, type) where entity_id is not null;
-- A hash of the run in place of its id: of ascending keys Postgres fills its pages only where they have at most 16 bytes.
create index events_of_run on events (uuid_hash(correlation_id), partition, "offset");

-- The last position of each stream, and the last sequence of each producer in it: what the next batch is numbered and checked by.
create table streams (
  stream   uuid   not null primary key,
  position bigint not null
);
create table stream_producers (
  stream   uuid   not null,
  producer text   not null,
  sequence bigint not null,
  primary key (stream, producer)
);

-- What was seen that should not be: a second append of an event, a hole in a producer's sequence, a sequence that regressed,
-- what a collector appended after another one had taken over.
create table anomalies (
  topic     text    not null,
  partition integer not null,
  "offset"  bigint  not null,
  event_id  uuid    not null,
  stream    uuid    not null,
  kind      text    not null check (kind in ('duplicate', 'gap', 'reordered', 'superseded')),
  detail    text    not null,
  primary key (topic, partition, "offset")
);

-- Where an event was appended again because it waited in a quarantine: `from_offset` is the record that waited, "offset" the one
-- by which it takes effect. The event itself is the row of `events` with its id and stream, which lies here too where the journal
-- was the one that refused it.
create table requeued_records (
  topic       text        not null,
  partition   integer     not null,
  "offset"    bigint      not null,
  event_id    uuid        not null,
  stream      uuid        not null,
  from_offset bigint      not null,
  requeued_at timestamptz not null,
  reason      text,
  received_at timestamptz,
  primary key (topic, partition, "offset")
);
create index requeued_records_stream on requeued_records (stream);

-- The events of each run by partition, counted as they come: all, those of the newest minute (of the epoch, by when the log took
-- them) and those of the minute before it.
create table run_events (
  run_id        uuid        not null,
  topic         text        not null,
  partition     integer     not null,
  events        bigint      not null,
  last_at       timestamptz not null,
  minute        bigint      not null,
  in_minute     bigint      not null,
  minute_before bigint      not null,
  primary key (run_id, topic, partition)
);
