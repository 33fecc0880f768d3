-- The keys that a key goes on for, the first of them first: what they opened belongs to it too.
alter table api_keys add column replaces uuid[] not null default '{}';
