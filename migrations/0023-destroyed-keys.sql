-- Caches, snapshots and readers ask which keys are destroyed: few of many.
create index stream_keys_destroyed on stream_keys (stream) where secret is null;
