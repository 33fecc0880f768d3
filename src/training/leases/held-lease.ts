import { sql } from 'kysely';
import type { Trx } from '../../postgres/database.ts';
import type { LeaseNames } from './lease-events.ts';
import type { Holding, Refused } from './protocol.ts';
import { staleFence, unknownLease } from './refusals.ts';
import { type Held, type LockedRow, lockGranted, type ServiceRow } from './service-row.ts';

/** A lease as it was given. */
export interface Grant {
  readonly names: LeaseNames;
  readonly ordinal: number;
}
export type HeldLease =
  | { readonly kind: 'held'; readonly grant: Grant; readonly service: LockedRow; readonly held: Held; readonly now: Date }
  /** The lease is over. `ranOut`: it is still at the lease service, its deadline has passed, and whoever finds this ends it. */
  | {
      readonly kind: 'over';
      readonly grant: Grant;
      readonly service: LockedRow;
      readonly ranOut: boolean;
      readonly now: Date;
      readonly refusal: Refused;
    }
  | Refused;

/** Locks the row of a lease's policy and returns whether the lease still holds, by the database's clock. */
export async function lockLease(trx: Trx, { leaseId, fence }: Holding): Promise<HeldLease> {
  const { service, grant: given } = await lockGranted(trx, leaseId);
  if (!service || !given) return unknownLease(leaseId); // a foreign key holds the row of a lease's policy
  const { held, now, lineageId, policyId } = service;
  const grant: Grant = {
    names: { lineageId, policyId, batchId: given.batchId, leaseId, fence: given.fence },
    ordinal: given.ordinal,
  };
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

async function whyOver(trx: Trx, { names, ordinal }: Grant, service: ServiceRow): Promise<string> {
  const lease = `lease ${names.leaseId} (fence ${names.fence}) is over`;
  if (ordinal < service.nextOrdinal) {
    const { rows } = await sql`select 1 from lease_abandonments where batch_id = ${names.batchId}::uuid`.execute(trx);
    return `${lease}: batch ${ordinal} was ${rows.length > 0 ? 'abandoned' : 'acknowledged'}`;
  }
  if (service.held) return `${lease}: batch ${ordinal} is leased under fence ${service.fence}`;
  return `${lease}: it expired or was given back`;
}
