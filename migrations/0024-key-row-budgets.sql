-- How many rows the queries of a key may read in a minute; null: as many as a key may that says nothing.
alter table api_keys add column rows_per_minute bigint check (rows_per_minute > 0);
