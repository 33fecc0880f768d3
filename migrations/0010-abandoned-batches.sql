-- Batches that will never be trained, each once: the answer to who abandons one again. A batch has a row here or in `lease_acks`, never in both: either is written
-- under the lock of its policy's row, which then names the next batch.
create table lease_abandonments (
  batch_id     uuid        not null primary key,
  lineage_id   uuid        not null references lease_desk,
  ordinal      integer     not null,
  abandoned_at timestamptz not null default clock_timestamp(),
  unique (lineage_id, ordinal)
);
