import { isLogProb } from '../../domain/training/planning/record-fault.ts';
import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { type BatchTrajectory, RowsError } from '../rows/batch-rows.ts';
import { encodeLogProbs, LOG_PROBS_MEDIA, ownSteps } from '../rows/jagged.ts';
import { readCurrentRows } from '../rows/read-batch-rows.ts';
import type { BlobReader } from '../rows/read-blob.ts';
import { checkAck, refused } from './check-request.ts';
import type { Note } from './decide.ts';
import { decideOnLease, type Grant } from './held-lease.ts';
import { findCurrentLease } from './lease.ts';
import { acked } from './lease-events.ts';
import type { Acked, AckRequest, Head, LeaseServiceOptions, Refused } from './protocol.ts';
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

type CheckedLogProbs = { readonly kind: 'checked'; readonly bytes: Uint8Array } | { readonly kind: 'none' } | Refused;

/**
 * Compares the log-probs of an acknowledgement with the sampled tokens that its batch has on record. `none` where there are none,
 * or the lease is over: then the acknowledgement is refused, or was answered before.
 */
async function checkLogProbs(db: Db, blobs: BlobReader, request: AckRequest): Promise<CheckedLogProbs> {
  const { logProbs } = request;
  if (logProbs === undefined) return { kind: 'none' };
  const lease = await findCurrentLease(db, request.leaseId);
  if (lease.kind === 'refused') return { kind: 'none' };
  try {
    const { trajectories } = (await readCurrentRows(db, blobs, lease.batchId)).rows;
    const lengths = trajectories.map(sampledTokensOf);
    const tokens = lengths.reduce((sum, length) => sum + length, 0);
    if (logProbs.length !== tokens)
      return wrong(
        `has ${logProbs.length} values, and the ${lengths.length} samples of the batch have ${tokens} sampled tokens`,
        'send one for each token with response_mask 1, in the order of the rows',
      );
    const place = logProbs.findIndex((value) => !isLogProb(value));
    if (place !== -1)
      return wrong(
        `has ${logProbs[place]} at place ${place}: log-probabilities are finite and at most 0`,
        'compute them again, or leave logProbs out',
      );
    return { kind: 'checked', bytes: encodeLogProbs(logProbs, lengths) };
  } catch (error) {
    if (!(error instanceof RowsError)) throw error;
    return wrong(`cannot be compared with the tokens of the batch: ${error.message}`, 'acknowledge the batch without logProbs');
  }
}

/** How many tokens of its own steps a policy sampled. */
function sampledTokensOf(trajectory: BatchTrajectory): number {
  return ownSteps(trajectory).reduce(
    (sum, { tokens }) => sum + (tokens?.mask.reduce((own, sampled) => own + Number(sampled === 1), 0) ?? 0),
    0,
  );
}

function wrong(what: string, remedy: string): Refused {
  return refused('invalid', `logProbs ${what}`, remedy);
}
