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
-- Compressing offsets takes longer than all else that a block costs, each time that it is lengthened; digests and ids do not
-- shrink.
alter table chain_blocks alter column offsets set storage external, alter column event_ids set storage external,
  alter column digests set storage external;
