import { sql } from 'kysely';
import type { Trx } from '../../postgres/database.ts';
import type { LeaseNames } from './lease-events.ts';
import type { Holding, Refused } from './protocol.ts';
import { staleFence, unknownLease } from './refusals.ts';
import { type Held, lockService, readClock, type ServiceRow } from './service-row.ts';

/** A lease as it was given. */
export interface Grant {
  readonly names: LeaseNames;
  readonly ordinal: number;
}
export type HeldLease =
  | { readonly kind: 'held'; readonly grant: Grant; readonly service: ServiceRow; readonly held: Held; readonly now: Date }
  /** The lease is over. `ranOut`: it is still at the lease service, its deadline has passed, and whoever finds this ends it. */
  | {
      readonly kind: 'over';
      readonly grant: Grant;
      readonly service: ServiceRow;
      readonly ranOut: boolean;
      readonly now: Date;
      readonly refusal: Refused;
    }
  | Refused;

/** Locks the row of a lease's policy and returns whether the lease still holds, by the database's clock. */
export async function lockLease(trx: Trx, { leaseId, fence }: Holding): Promise<HeldLease> {
  const grant = await findGrant(trx, leaseId);
  if (!grant) return unknownLease(leaseId);
  const service = await lockService(trx, grant.names.lineageId);
  if (!service) throw new Error(`lease ${leaseId} is of a policy without a row`); // a foreign key holds it
  const now = await readClock(trx);
  const { held } = service;
  const over = (ranOut: boolean, why: string): HeldLease => ({
    kind: 'over',
    grant,
    service,
    ranOut,
    now,
    refusal: staleFence(why),
  });
  if (fence !== grant.names.fence) return over(false, `lease ${leaseId} has the fence ${grant.names.fence}, not ${fence}`);
  if (held?.leaseId !== leaseId) return over(false, await whyOver(trx, grant, service));
  if (held.deadline <= now)
    return over(true, `lease ${leaseId} ended at its deadline ${held.deadline.toISOString()}; it is ${now.toISOString()}`);
  return { kind: 'held', grant, service, held, now };
}

/** Finds a lease that was given once. */
export async function findGrant(trx: Trx, leaseId: string): Promise<Grant | undefined> {
  const { rows } = await sql<Row>`
    select g.lineage_id, d.policy_id, g.batch_id, g.ordinal, g.fence
    from lease_grants g join lease_desk d on d.lineage_id = g.lineage_id where g.lease_id = ${leaseId}::uuid`.execute(trx);
  const [row] = rows;
  if (!row) return undefined;
  const { lineageId, policyId, batchId, fence, ordinal } = row;
  return { names: { lineageId, policyId, batchId, leaseId, fence }, ordinal };
}

interface Row {
  readonly lineageId: string;
  readonly policyId: string;
  readonly batchId: string;
  readonly ordinal: number;
  readonly fence: number;
}

async function whyOver(trx: Trx, { names, ordinal }: Grant, service: ServiceRow): Promise<string> {
  const lease = `lease ${names.leaseId} (fence ${names.fence}) is over`;
  if (ordinal < service.nextOrdinal) {
    const { rows } = await sql`select 1 from lease_abandonments where batch_id = ${names.batchId}::uuid`.execute(trx);
    return `${lease}: batch ${ordinal} was ${rows.length > 0 ? 'abandoned' : 'acknowledged'}`;
  }
  if (service.held) return `${lease}: batch ${ordinal} is leased under fence ${service.fence}`;
  return `${lease}: it expired or was given back`;
}
