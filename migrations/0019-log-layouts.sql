-- Which partitions each topic of the log was recorded with: layout 1 at the first start, another with every `espalier log
-- adopt-partitions`. A stream lies in the partition of its first record; one without records goes by the newest layout. `ends`
-- holds where each partition ended when the layout was adopted: what lies below it was placed by an earlier one.
create table log_layouts (
  topic      text        not null,
  layout     integer     not null check (layout > 0),
  partitions integer     not null check (partitions > 0),
  ends       bigint[]    not null,
  adopted_at timestamptz not null default clock_timestamp(),
  primary key (topic, layout)
);

-- When each partition was first seen to hold records: a topic whose first record is much later was made again under its name.
create table log_partitions_seen (
  topic     text        not null,
  partition integer     not null,
  seen_at   timestamptz not null default clock_timestamp(),
  primary key (topic, partition)
);

-- An adoption under way: until it ends, or `until` has passed, no appender places a record.
create table log_adoptions (
  singleton boolean     not null primary key default true check (singleton),
  adoption  uuid        not null,
  until     timestamptz not null
);

-- The processes that append. Each confirms the layouts that it places by, and acknowledges an adoption once nothing that it
-- placed before is still on its way.
create table log_appenders (
  appender     uuid        not null primary key,
  name         text        not null,
  confirmed_at timestamptz not null default clock_timestamp(),
  acknowledged uuid
);
