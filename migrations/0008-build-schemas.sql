-- The k-th build of version v lies in name_v<v>_b<k>; it was name_v<v + (k − 1)·1,000,000>. The views show tables, not names: they stay.
do $$
declare
  found record;
begin
  for found in
    select nspname, substring(nspname from '^(.*_v)\d+$') as stem, substring(nspname from '_v(\d+)$')::bigint as version
    from pg_namespace where nspname ~ '_v\d{7,9}$'
  loop
    execute format('alter schema %I rename to %I', found.nspname,
      found.stem || found.version % 1000000 || '_b' || found.version / 1000000 + 1);
  end loop;
end $$;
