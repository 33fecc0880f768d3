-- What a key may do and how much: the projects it sees ('*' all of them), the one it writes unless a request names another, until when, and its quotas.
-- The events of earlier versions belong to the project `default`, and so do their keys; those of administrators keep everything.
alter table api_keys
  add column project             text   not null default 'default' check (project ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  add column projects            text[] not null default '{default}' check (cardinality(projects) > 0),
  add column expires_at          timestamptz,
  add column requests_per_minute integer check (requests_per_minute > 0),
  add column bytes_per_minute    bigint  check (bytes_per_minute > 0);
update api_keys set projects = '{*}' where 'admin' = any (scopes);
