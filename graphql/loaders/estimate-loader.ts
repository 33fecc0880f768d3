import DataLoader from 'dataloader';
import type { Db } from '../../src/postgres/database.ts';
import { type BatchRecord, readBatchesById } from '../../src/projections/training-pool/read-batches.ts';
import { RowsError } from '../../src/training/rows/batch-rows.ts';
import type { BlobReader } from '../../src/training/rows/read-blob.ts';
import type {
  BatchEstimates,
  RewardsOf,
  SampleEstimate,
  StepEstimate,
} from '../../src/usecases/train/estimates/batch-estimates.ts';
import { estimateBatch } from '../../src/usecases/train/estimates/estimate-batch.ts';
import { refusal } from '../errors.ts';
import type { EstimateBudget } from './estimate-budget.ts';

export interface EstimateKey {
  readonly batchId: string;
  readonly rewards: RewardsOf;
}
export interface Estimates {
  readonly batch: BatchEstimates;
  readonly ofRollout: ReadonlyMap<string, SampleEstimate>;
  readonly ofStep: ReadonlyMap<string, StepEstimate>;
}

/**
 * Has the batches of one request estimated, each once and one after the other. @throws what `spend` throws; UNAVAILABLE when the
 * record is not whole.
 */
export function createEstimateLoader(
  db: Db,
  blobs: BlobReader,
  budget: EstimateBudget,
): DataLoader<EstimateKey, Estimates, string> {
  return new DataLoader(
    async (keys) => {
      const batches = new Map(
        (await readBatchesById(db, [...new Set(keys.map(({ batchId }) => batchId))])).map((b) => [b.id, b]),
      );
      const found: (Estimates | Error)[] = [];
      for (const key of keys) found.push(await read(key, batches.get(key.batchId)));
      return found;
    },
    { cacheKeyFn: ({ batchId, rewards }) => `${rewards} ${batchId}` },
  );

  async function read({ batchId, rewards }: EstimateKey, record: BatchRecord | undefined): Promise<Estimates | Error> {
    try {
      if (record) budget.spend(record);
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
