-- Which span appended records of the embedded log, where appends are traced: the reader that traces takes these rows, so that it
-- links what it does to what it follows from. They are no part of the record, and nobody misses those that a crash takes.
create unlogged table append_traces (
  partition_id integer     not null,
  "offset"     bigint      not null,
  traceparent  text        not null,
  appended_at  timestamptz not null default clock_timestamp(),
  primary key (partition_id, "offset")
);
