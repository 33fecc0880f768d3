import { isLogProb } from '../../domain/training/planning/token-fault.ts';
import type { Db } from '../../postgres/database.ts';
import { type BatchTrajectory, RowsError } from '../rows/batch-rows.ts';
import { ownSteps } from '../rows/jagged.ts';
import { encodeLogProbs } from '../rows/log-prob-file.ts';
import type { BlobReader } from '../rows/read-blob.ts';
import { readRowsOfNow } from '../rows/read-rows-of-now.ts';
import { findCurrentLease } from './current-lease.ts';
import type { AckRequest, Refused } from './protocol.ts';
import { refused } from './refusals.ts';

export type CheckedLogProbs = { readonly kind: 'checked'; readonly bytes: Uint8Array } | { readonly kind: 'none' } | Refused;

/**
 * Compares the log-probs of an acknowledgement with the sampled tokens that its batch has on record. `none` where there are none,
 * or the lease is over: then the acknowledgement is refused, or was answered before.
 */
export async function checkLogProbs(db: Db, blobs: BlobReader, request: AckRequest): Promise<CheckedLogProbs> {
  const { logProbs } = request;
  if (logProbs === undefined) return { kind: 'none' };
  const lease = await findCurrentLease(db, request.leaseId);
  if (lease.kind === 'refused') return { kind: 'none' };
  try {
    const { trajectories } = (await readRowsOfNow(db, blobs, lease.batchId)).rows;
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
