import { sql } from 'kysely';
import type { Trx } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { writeOutbox } from '../outbox/write-outbox.ts';
import { LOG_PROBS_MEDIA } from '../rows/log-prob-file.ts';
import { checkLogProbs } from './check-log-probs.ts';
import { checkAck } from './check-request.ts';
import { endExpired } from './expire.ts';
import { type Grant, lockLease } from './held-lease.ts';
import { inServiceTransaction } from './in-service-transaction.ts';
import { acked } from './lease-events.ts';
import type { Acked, AckRequest, LeaseServiceOptions, Refused } from './protocol.ts';
import { refused } from './refusals.ts';
import type { ServiceRow } from './service-row.ts';

/**
 * Acknowledges a batch in one transaction: the result is noted, the policy moves to the new version and to the next batch, and
 * the three events lie in the outbox; all of it or nothing. A trainer that lost the answer asks again and gets the answer that it
 * would have got.
 */
export async function ackBatch(options: LeaseServiceOptions, request: AckRequest): Promise<Acked | Refused> {
  const wrong = checkAck(request);
  if (wrong) return wrong;
  const checked = await checkLogProbs(options.db, options.blobs, request); // reads the batch: before anything is locked
  if (checked.kind === 'refused') return checked;
  const logProbs = checked.kind === 'none' ? null : await options.blobs.put(checked.bytes, LOG_PROBS_MEDIA);
  return inServiceTransaction(options, async (trx) => {
    const found = await lockLease(trx, request);
    if (found.kind === 'refused') return found;
    if (found.kind === 'over') {
      if (found.ranOut) await endExpired(trx, options, found.service, found.now);
      return (await answeredBefore(trx, found.grant, request)) ?? found.refusal;
    }
    const { grant, service, now } = found;
    const { head, next: batch } = service;
    if (request.version !== head.version + 1)
      return refused(
        'version-conflict',
        `version ${request.version} does not follow ${head.version}: a batch makes exactly the next version of its base`,
        `acknowledge it as version ${head.version + 1}`,
      );
    if (await isTaken(trx, service, request.checkpointId))
      return refused(
        'version-conflict',
        `checkpoint ${request.checkpointId} holds another version`,
        'give each version a checkpoint of its own',
      );
    if (batch?.batchId !== grant.names.batchId)
      throw new Error(`batch ${grant.names.batchId} was leased and is no longer planned`);
    await noteResult(trx, grant, request);
    await writeOutbox(trx, acked(grant.names, batch, head, request, logProbs), now, options);
    return answerTo(grant, request);
  });
}

/** What was said of the batch before: the same answer to the same question, a refusal to another result. */
async function answeredBefore(trx: Trx, grant: Grant, request: AckRequest): Promise<Acked | Refused | undefined> {
  const rows = await rowsWhere(trx, 'leaseAcks', { batchId: grant.names.batchId }, [
    'leaseId',
    'version',
    'checkpointId',
    'weights',
  ]);
  const [before] = rows;
  if (!before || before.leaseId !== grant.names.leaseId || request.fence !== grant.names.fence) return undefined;
  const { version, checkpointId, weights } = request;
  if (before.version === version && before.checkpointId === checkpointId && before.weights === weights)
    return answerTo(grant, request);
  return refused(
    'already-acked',
    `batch ${grant.ordinal} was acknowledged as version ${before.version} with checkpoint ${before.checkpointId} and weights ${before.weights}`,
    'keep that result; this one is of a batch that was trained twice',
  );
}

async function isTaken(trx: Trx, service: ServiceRow, checkpointId: string): Promise<boolean> {
  if (checkpointId === service.firstCheckpointId) return true;
  const { rows } = await sql`
    select 1 from lease_acks where lineage_id = ${service.lineageId}::uuid and checkpoint_id = ${checkpointId}::uuid`.execute(
    trx,
  );
  return rows.length > 0;
}

async function noteResult(trx: Trx, { names, ordinal }: Grant, request: AckRequest): Promise<void> {
  const { version, checkpointId, backend, weights, kept } = request;
  await sql`
    with noted as (
      insert into lease_acks (batch_id, lineage_id, ordinal, lease_id, version, checkpoint_id, weights)
      values (${names.batchId}::uuid, ${names.lineageId}::uuid, ${ordinal}, ${names.leaseId}::uuid, ${version}, ${checkpointId}::uuid,
        ${weights}))
    update lease_desk set version = ${version}, checkpoint_id = ${checkpointId}::uuid, backend = ${backend}, weights = ${weights},
      kept = ${kept && JSON.stringify(kept)}::jsonb, next_ordinal = next_ordinal + 1, fence = 0,
      lease_id = null, batch_id = null, consumer = null, deadline = null
    where lineage_id = ${names.lineageId}::uuid`.execute(trx);
}

function answerTo({ names, ordinal }: Grant, { version, checkpointId }: AckRequest): Acked {
  return { kind: 'acked', batchId: names.batchId, ordinal, version, checkpointId };
}
