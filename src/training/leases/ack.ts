import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { LOG_PROBS_MEDIA } from '../rows/log-prob-file.ts';
import { checkLogProbs } from './check-log-probs.ts';
import { checkAck } from './check-request.ts';
import type { Note } from './decide.ts';
import { decideOnLease, type Grant } from './held-lease.ts';
import { acked } from './lease-events.ts';
import type { Acked, AckRequest, Head, LeaseServiceOptions, Refused } from './protocol.ts';
import { refused } from './refusals.ts';
import { behindBatch, type ServiceRow } from './service-row.ts';

/**
 * Acknowledges a batch in one transaction: the result is noted, the policy moves to the new version and to the next batch, and
 * the three events are in the log or the outbox; all of it or nothing. A trainer that lost the answer asks again and gets the
 * answer that it would have got.
 */
export async function ackBatch(options: LeaseServiceOptions, request: AckRequest): Promise<Acked | Refused> {
  const wrong = checkAck(request);
  if (wrong) return wrong;
  const checked = await checkLogProbs(options.db, options.blobs, request); // reads the batch: before anything is locked
  if (checked.kind === 'refused') return checked;
  const logProbs = checked.kind === 'none' ? null : await options.blobs.put(checked.bytes, LOG_PROBS_MEDIA);
  return decideOnLease<Acked>(
    options,
    request,
    async ({ grant, service }) => {
      const { head, next: batch } = service;
      if (request.version !== head.version + 1)
        return conflict(
          `version ${request.version} does not follow ${head.version}: a batch makes exactly the next version of its base`,
          `acknowledge it as version ${head.version + 1}`,
        );
      if (await isTaken(options.db, service, request.checkpointId))
        return conflict(`checkpoint ${request.checkpointId} holds another version`, 'give each version a checkpoint of its own');
      if (batch?.batchId !== grant.names.batchId)
        throw new Error(`batch ${grant.names.batchId} was leased and is no longer planned`);
      return {
        answer: answerTo(grant, request),
        change: {
          after: behindBatch(service, headOf(request)),
          note: { of: 'ack', row: noteOf(grant, request) },
          events: acked(grant.names, batch, head, request, logProbs),
        },
      };
    },
    (grant) => answeredBefore(options.db, grant, request),
  );
}

function conflict(message: string, remedy: string): { readonly answer: Refused } {
  return { answer: refused('version-conflict', message, remedy) };
}

function headOf({ version, checkpointId, backend, weights, kept }: AckRequest): Head {
  return { version, checkpointId, backend, weights, kept };
}

function noteOf({ names, ordinal }: Grant, { version, checkpointId, weights }: AckRequest): Note['row'] {
  return { batch_id: names.batchId, ordinal, lease_id: names.leaseId, version, checkpoint_id: checkpointId, weights };
}

/** What was said of the batch before: the same answer to the same question, a refusal to another result. */
async function answeredBefore(db: Db, grant: Grant, request: AckRequest): Promise<Acked | Refused | undefined> {
  const rows = await rowsWhere(db, 'leaseAcks', { batchId: grant.names.batchId }, [
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

async function isTaken(db: Db, { lineageId, firstCheckpointId }: ServiceRow, checkpointId: string): Promise<boolean> {
  if (checkpointId === firstCheckpointId) return true;
  return (await rowsWhere(db, 'leaseAcks', { lineageId, checkpointId }, ['version'])).length > 0;
}

function answerTo({ names, ordinal }: Grant, { version, checkpointId }: AckRequest): Acked {
  return { kind: 'acked', batchId: names.batchId, ordinal, version, checkpointId };
}
