-- Smaller rows of steps, in the tables of every version and build that is there: token arrays as bytes, and a response that is
-- the action to the letter once. Who reads `steps` in `public` sees both as before; rows that are there stay as they are.
do $$
declare
  found record;
begin
  -- The view before its table, as readers lock them: the other way round both would wait for each other.
  if to_regclass('public.steps') is not null then
    lock table public.steps in access exclusive mode;
  end if;
  for found in
    select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '^step_tree_v[0-9]+(_b[0-9]+)?$' and c.relname = 'steps' and c.relkind = 'r'
  loop
    execute format('alter table %I.steps add column if not exists token_bytes bytea', found.nspname);
    execute format('alter table %I.steps alter column token_bytes set storage external', found.nspname);
    execute format('alter table %I.steps add column if not exists response_is_action boolean not null default false', found.nspname);
    execute format($create$create or replace view %I.steps_shown as
select t.step_id, t.tree_id, t.parent_step_id, t.rollout_id, t.depth, t.log_offset,
  case when t.response_is_action then t.action else t.response end as response, t.thought, t.action,
  t.observation, t.well_formatted, t.executable, t.termination, t.policy_spans,
  coalesce(t.tokens, (select jsonb_build_object('ids', jsonb_build_object('dtype', 'int32', 'length', n, 'bytes', translate(encode(substr(b, (9)::int, n * 4), 'base64'), E'\n', '')),
    'logProbs', case when f & 1 > 0 then jsonb_build_object('dtype', 'float32', 'length', n, 'bytes', translate(encode(substr(b, (9 + 4 * n)::int, n * 4), 'base64'), E'\n', '')) end,
    'mask', case when f & 4 > 0 then jsonb_build_object('dtype', 'uint8', 'length', n, 'bytes', translate(encode(decode(repeat('01', n), 'hex'), 'base64'), E'\n', ''))
      when f & 2 > 0 then jsonb_build_object('dtype', 'uint8', 'length', n, 'bytes', translate(encode(substr(b, (9 + 4 * n + (f & 1) / 1 * 4 * n + (f & 8) / 8 * 4 * n + (f & 16) / 16 * 4 * n)::int, n * 1), 'base64'), E'\n', '')) end)
    || case when f & 8 > 0 then jsonb_build_object('ends', jsonb_build_object('dtype', 'int32', 'length', n, 'bytes', translate(encode(substr(b, (9 + 4 * n + (f & 1) / 1 * 4 * n)::int, n * 4), 'base64'), E'\n', ''))) else '{}' end
    || case when f & 16 > 0 then jsonb_build_object('entropies', jsonb_build_object('dtype', 'float32', 'length', n, 'bytes', translate(encode(substr(b, (9 + 4 * n + (f & 1) / 1 * 4 * n + (f & 8) / 8 * 4 * n)::int, n * 4), 'base64'), E'\n', ''))) else '{}' end
    from (select t.token_bytes as b, get_byte(t.token_bytes, 0) as f, get_byte(t.token_bytes, 4) + get_byte(t.token_bytes, 5) * 256 + get_byte(t.token_bytes, 6) * 65536 as n) packed
    where b is not null)) as tokens,
  t.prompt_tokens, t.completion_tokens, t.finish_reason, t.call, t.policy_ms, t.environment_ms, t.state_hash,
  t.admissible, t.occurred_at, t.blobs, t.token_bytes, false as response_is_action
from %I.steps t$create$, found.nspname, found.nspname);
  end loop;
  for found in
    select 'step_tree_v' || version % 1000000 || case when version >= 1000000 then '_b' || version / 1000000 + 1 else '' end as nspname
    from projections where name = 'step-tree'
  loop
    execute format('create or replace view public.steps as select * from %I.steps_shown', found.nspname);
  end loop;
end $$;
