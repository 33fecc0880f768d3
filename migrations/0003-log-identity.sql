-- The log that the read models of this database are folded from. Cursors are offsets of that log and mean nothing in another.
create table log_identity (
  singleton boolean not null primary key default true check (singleton),
  identity  text    not null
);
