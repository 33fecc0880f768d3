import { sql } from 'kysely';
import { derivedId } from '../../events/derived-id.ts';
import type { Trx } from '../../postgres/database.ts';
import { writeOutbox } from '../outbox/write-outbox.ts';
import { checkName, checkWeights } from './check-request.ts';
import { mustBeCompared } from './compared.ts';
import { inServiceTransaction } from './in-service-transaction.ts';
import { registered } from './lease-events.ts';
import { lineageIdOf } from './lineage-id.ts';
import { openServiceRow } from './open-service-row.ts';
import type { Head, LeaseServiceOptions, Refused, Registered, RegisterRequest } from './protocol.ts';
import { refused } from './refusals.ts';
import { lockService, readClock } from './service-row.ts';

/** Registers version 0 of a policy in one transaction; see `LeaseService.registerPolicy`. */
export async function registerPolicy(options: LeaseServiceOptions, request: RegisterRequest): Promise<Registered | Refused> {
  const { policyId, backend, weights, kept } = request;
  const wrong = checkName('policyId', policyId) ?? checkName('backend', backend) ?? checkWeights(weights, kept);
  if (wrong) return wrong;
  const lineageId = lineageIdOf(policyId);
  const first: Head = { version: 0, checkpointId: derivedId('checkpoint', lineageId, 0, weights), backend, weights, kept };
  await openServiceRow(options, lineageId, policyId); // what the log knows already comes before what is new
  return inServiceTransaction(options, async (trx) => {
    await mustBeCompared(trx);
    if (await insertRow(trx, lineageId, policyId, first)) {
      const at = await readClock(trx);
      await writeOutbox(trx, registered({ lineageId, policyId }, first), at, options);
      return { kind: 'registered', lineageId, head: first };
    }
    const service = await lockService(trx, lineageId);
    if (service?.firstCheckpointId === first.checkpointId) return { kind: 'registered', lineageId, head: service.head };
    return refused(
      'already-registered',
      `the policy ${JSON.stringify(policyId)} was registered with other weights`,
      'lease to learn its newest version, or give the other weights a policy of their own',
    );
  });
}

/** Inserts the row of a policy, unless it is there. */
async function insertRow(
  trx: Trx,
  lineageId: string,
  policyId: string,
  { checkpointId, backend, weights, kept }: Head,
): Promise<boolean> {
  const { rows } = await sql`
    insert into lease_desk (lineage_id, policy_id, version, first_checkpoint_id, checkpoint_id, backend, weights, kept)
    values (${lineageId}::uuid, ${policyId}, 0, ${checkpointId}::uuid, ${checkpointId}::uuid, ${backend}, ${weights},
      ${kept && JSON.stringify(kept)}::jsonb)
    on conflict do nothing returning 1`.execute(trx);
  return rows.length > 0;
}
