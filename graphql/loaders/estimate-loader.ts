import DataLoader from 'dataloader';
import type { Db } from '../../src/postgres/database.ts';
import { type BatchRecord, readBatchesById } from '../../src/projections/training-pool/read-batches.ts';
import type { BatchEstimates, RewardsOf, SampleEstimate, StepEstimate } from '../../src/training/estimates/batch-estimates.ts';
import { estimateBatch } from '../../src/training/estimates/estimate-batch.ts';
import { RowsError } from '../../src/training/rows/batch-rows.ts';
import type { BlobReader } from '../../src/training/rows/read-blob.ts';
import { refusal } from '../errors.ts';

export interface EstimateKey {
  readonly batchId: string;
  readonly rewards: RewardsOf;
}
export interface Estimates {
  readonly batch: BatchEstimates;
  readonly ofRollout: ReadonlyMap<string, SampleEstimate>;
  readonly ofStep: ReadonlyMap<string, StepEstimate>;
}

// Of all batches that one request has estimated: whole batches are read, however little of them is shown.
const LIMIT = { samples: 4_096, tokens: 5_000_000 }; // some 100 MB of tokens while it is computed

/** Has the batches of one request estimated, each once and one after the other. @throws LIMIT_EXCEEDED past what one request may have; UNAVAILABLE when the record is not whole. */
export function createEstimateLoader(db: Db, blobs: BlobReader, limit = LIMIT): DataLoader<EstimateKey, Estimates, string> {
  let [samples, tokens] = [0, 0];
  return new DataLoader(
    async (keys) => {
      const batches = new Map(
        (await readBatchesById(db, [...new Set(keys.map(({ batchId }) => batchId))])).map((b) => [b.id, b]),
      );
      const found: (Estimates | Error)[] = [];
      for (const { batchId, rewards } of keys) {
        const batch = batches.get(batchId);
        samples += batch?.samples ?? 0;
        tokens += batch?.tokens ?? 0;
        found.push(
          batch && (samples > limit.samples || tokens > limit.tokens) ? tooMuch(batch, limit) : await read(batchId, rewards),
        );
      }
      return found;
    },
    { cacheKeyFn: ({ batchId, rewards }) => `${rewards} ${batchId}` },
  );

  async function read(batchId: string, rewards: RewardsOf): Promise<Estimates | Error> {
    try {
      const batch = await estimateBatch(db, blobs, batchId, rewards);
      const steps = batch.samples.flatMap((sample) => sample.steps);
      return {
        batch,
        ofRollout: new Map(batch.samples.map((sample) => [sample.rolloutId, sample])),
        ofStep: new Map(steps.map((step) => [step.stepId, step])),
      };
    } catch (error) {
      if (error instanceof RowsError) return refusal('UNAVAILABLE', error.message);
      return error instanceof Error ? error : new Error(String(error));
    }
  }
}

function tooMuch({ ordinal, samples, tokens }: BatchRecord, limit: typeof LIMIT): Error {
  return refusal(
    'LIMIT_EXCEEDED',
    `with batch ${ordinal} (${samples} samples, ${tokens} tokens) this query has more than ${limit.samples} samples or ${limit.tokens} tokens estimated; ask for the estimates of fewer batches at once, of a larger one by the rows of its lease`,
  );
}
