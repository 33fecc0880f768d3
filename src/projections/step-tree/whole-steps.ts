/**
 * SQL that lets the table `steps` of the search path keep the response of every step, also of one that is its action: for tables
 * that are read by their own name, where nothing shows `steps_shown` in their place.
 */
export const WHOLE_STEPS = `
create function whole_step() returns trigger language plpgsql as $$
begin
  new.response := new.action;
  new.response_is_action := false;
  return new;
end $$;
create trigger whole_step before insert on steps for each row when (new.response_is_action) execute function whole_step()`;
