-- Which database the desk's tables were last compared with the log in. A copy that was restored, a server that was started anew and a standby that took
-- over are another one: their desk may have forgotten what the log tells, and learns it before it decides anything.
create table desk_database (
  one  boolean not null primary key default true check (one),
  name text    not null
);
