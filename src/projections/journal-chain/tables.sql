-- A hash chain for each partition of the log: the digest of a record is the SHA-256 of the digest before it, its offset and its
-- body. A row holds a block of 256 offsets: which of them held events (`offsets`, ascending), which events, and their digests of
-- 32 bytes one after the other.
create table chain_blocks (
  topic     text      not null,
  partition integer   not null,
  block     bigint    not null,
  offsets   bigint[]  not null,
  event_ids uuid[]    not null,
  digests   bytea     not null,
  primary key (topic, partition, block)
);
