import DataLoader from 'dataloader';
import type { Db } from '../../src/postgres/database.ts';
import { keyInTree } from '../../src/projections/of-tree.ts';
import type { BatchRecord } from '../../src/projections/training-pool/read-batches.ts';
import { RowsError } from '../../src/training/rows/batch-rows.ts';
import type { BlobReader } from '../../src/training/rows/read-blob.ts';
import { estimateBatch, estimateBothWays, estimateGroups } from '../../src/usecases/train/estimates/estimate-batch.ts';
import type {
  BatchEstimates,
  RewardsOf,
  SampleEstimate,
  StepEstimate,
} from '../../src/usecases/train/estimates/recompute-advantages.ts';
import { refusal } from '../errors.ts';
import type { EstimateBudget } from './budgets.ts';

export interface EstimateKey {
  readonly batchId: string;
  readonly rewards: RewardsOf;
}
export interface GroupKey extends EstimateKey {
  readonly treeId: string;
}
/** Samples, and their steps, by `keyInTree`. */
export interface SampleEstimates {
  readonly ofRollout: ReadonlyMap<string, SampleEstimate>;
  readonly ofStep: ReadonlyMap<string, StepEstimate>;
}
export interface Estimates extends SampleEstimates {
  readonly batch: BatchEstimates;
}
interface World {
  readonly db: Db;
  readonly blobs: BlobReader;
  readonly budget: EstimateBudget;
  readonly batchOf: (id: string) => Promise<BatchRecord | null>;
}

/**
 * Has batches of one request estimated, each once and one after the other: whole, or the groups that the request shows where
 * their advantages follow from no others. A batch counts once, as a whole. @throws what `spend` throws; UNAVAILABLE when the
 * record is not whole.
 */
export function createEstimateLoaders({ db, blobs, budget, batchOf }: World) {
  const counted = new Set<string>();
  const wholes = new Map<string, Promise<Estimates>>();

  const estimates = new DataLoader<EstimateKey, Estimates, string>(
    async (keys) => {
      const asked = new Set(keys.map(keyOf));
      const both = new Map<string, ReturnType<typeof estimateBothWays>>();
      return inTurn(keys, async (key) => {
        const { batchId, rewards } = key;
        await count(key);
        const other = { batchId, rewards: rewards === 'now' ? 'trained' : 'now' } as const;
        const isBoth = asked.has(keyOf(other)) && (await isCounted(other)); // nothing is read before it is counted
        const together = isBoth ? (both.get(batchId) ?? estimateBothWays(db, blobs, batchId)) : null;
        if (together) both.set(batchId, together);
        // where one of them cannot be read, the other by itself may be
        const found = await together?.catch(() => null);
        const batch = found?.[rewards] ?? (await estimateBatch(db, blobs, batchId, rewards));
        return { batch, ...bySample(batch.samples) };
      });
    },
    { cacheKeyFn: keyOf, cacheMap: wholes },
  );

  const estimatesOfGroup = new DataLoader<GroupKey, SampleEstimates, string>(
    async (keys) => {
      const batches = new Map(keys.map((key) => [keyOf(key), key]));
      const treesOf = (batch: string) => new Set(keys.flatMap((key) => (keyOf(key) === batch ? [key.treeId] : [])));
      const found = await inTurn([...batches], async ([batch, { batchId, rewards }]): Promise<SampleEstimates> => {
        if (wholes.has(batch)) return estimates.load({ batchId, rewards });
        await count({ batchId, rewards });
        const samples = await estimateGroups(db, blobs, batchId, { rewards, trees: treesOf(batch) });
        return samples === null ? estimates.load({ batchId, rewards }) : bySample(samples);
      });
      const ofBatch = new Map([...batches.keys()].map((batch, i) => [batch, found[i]]));
      return keys.map((key) => ofBatch.get(keyOf(key)) ?? new Error('every batch is read'));
    },
    { cacheKeyFn: (key) => `${key.treeId} ${keyOf(key)}` },
  );
  return { estimates, estimatesOfGroup };

  async function count(key: EstimateKey): Promise<void> {
    const record = await batchOf(key.batchId);
    if (record && !counted.has(keyOf(key))) budget.spend(record, `batch ${record.ordinal}`);
    counted.add(keyOf(key));
  }

  function isCounted(key: EstimateKey): Promise<boolean> {
    return count(key).then(
      () => true,
      () => false,
    );
  }
}

const keyOf = ({ batchId, rewards }: EstimateKey) => `${rewards} ${batchId}`;

/** Reads one after the other; what one of them throws is its own. */
async function inTurn<K, V>(keys: readonly K[], read: (key: K) => Promise<V>): Promise<(V | Error)[]> {
  const found: (V | Error)[] = [];
  for (const key of keys)
    found.push(
      await read(key).catch((error: unknown) => {
        if (error instanceof RowsError) return refusal('UNAVAILABLE', error.message);
        return error instanceof Error ? error : new Error(String(error));
      }),
    );
  return found;
}

function bySample(samples: readonly SampleEstimate[]): SampleEstimates {
  const steps = samples.flatMap((sample) => sample.steps);
  return {
    ofRollout: new Map(samples.map((sample) => [keyInTree(sample.treeId, sample.rolloutId), sample])),
    ofStep: new Map(steps.map((step) => [keyInTree(step.treeId, step.stepId), step])),
  };
}
