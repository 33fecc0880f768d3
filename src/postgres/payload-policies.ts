import { sql } from 'kysely';
import type { Db } from './database.ts';

/** What a project says of its payload. Null says nothing: the installation's default, or payload that is kept. */
export interface PayloadPolicy {
  readonly project: string;
  /** Whether payload that is appended is sealed by a key of its stream. */
  readonly seal: boolean | null;
  readonly forgetAfterDays: number | null;
}

/** Lists the policies, by project. */
export async function readPayloadPolicies(db: Db): Promise<readonly PayloadPolicy[]> {
  const { rows } = await sql<PayloadPolicy>`
    select project, seal, forget_after_days from public.payload_policies order by project`.execute(db);
  return rows;
}

/** Changes what a project says; what `change` does not name stays. */
export async function setPayloadPolicy(
  db: Db,
  project: string,
  change: Partial<Omit<PayloadPolicy, 'project'>>,
): Promise<PayloadPolicy> {
  const { seal = null, forgetAfterDays = null } = change;
  const { rows } = await sql<PayloadPolicy>`
    insert into public.payload_policies as p (project, seal, forget_after_days) values (${project}, ${seal}, ${forgetAfterDays})
    on conflict (project) do update set changed_at = clock_timestamp(),
      seal = case when ${'seal' in change} then excluded.seal else p.seal end,
      forget_after_days = case when ${'forgetAfterDays' in change} then excluded.forget_after_days else p.forget_after_days end
    returning project, seal, forget_after_days`.execute(db);
  return rows[0] as PayloadPolicy; // an upsert returns its row
}
