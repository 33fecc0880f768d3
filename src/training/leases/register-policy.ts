import { derivedId } from '../../events/derived-id.ts';
import { checkName, checkWeights, refused } from './check-request.ts';
import { decide } from './decide.ts';
import { openServiceRow } from './ensure-synced-with-log.ts';
import { registered } from './lease-events.ts';
import { lineageIdOf } from './lineage-of.ts';
import type { Head, LeaseServiceOptions, Refused, Registered, RegisterRequest } from './protocol.ts';
import { readService } from './service-row.ts';

/** Registers version 0 of a policy in one transaction; see `LeaseService.registerPolicy`. */
export async function registerPolicy(options: LeaseServiceOptions, request: RegisterRequest): Promise<Registered | Refused> {
  const { policyId, backend, weights, kept } = request;
  const wrong = checkName('policyId', policyId) ?? checkName('backend', backend) ?? checkWeights(weights, kept);
  if (wrong) return wrong;
  const lineageId = lineageIdOf(policyId);
  const first: Head = { version: 0, checkpointId: derivedId('checkpoint', lineageId, 0, weights), backend, weights, kept };
  await openServiceRow(options, lineageId, policyId); // what the log knows already comes before what is new
  return decide<Registered | Refused>(
    options,
    (db, producer) => readService(db, lineageId, producer),
    ({ service }) => {
      if (!service) {
        const after = {
          lineageId,
          policyId,
          head: first,
          firstCheckpointId: first.checkpointId,
          nextOrdinal: 0,
          fence: 0,
          held: null,
        };
        const events = registered({ lineageId, policyId }, first);
        return { answer: { kind: 'registered', lineageId, head: first }, change: { after, events } };
      }
      if (service.firstCheckpointId === first.checkpointId)
        return { answer: { kind: 'registered', lineageId, head: service.head } };
      const answer = refused(
        'already-registered',
        `the policy ${JSON.stringify(policyId)} was registered with other weights`,
        'lease to learn its newest version, or give the other weights a policy of their own',
      );
      return { answer };
    },
  );
}
