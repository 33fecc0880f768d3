import DataLoader from 'dataloader';
import type { Db } from '../../src/postgres/database.ts';
import { keyInTree } from '../../src/projections/of-tree.ts';
import {
  type Acted,
  readActorsOfBatches,
  readActorsOfRollouts,
  readBatchesByActor,
} from '../../src/projections/training-pool/read-actors.ts';
import {
  countBatches,
  readAbandonments,
  readBatchesById,
  readBatchPages,
  readLeasesOfBatches,
} from '../../src/projections/training-pool/read-batches.ts';
import { readLedgers } from '../../src/projections/training-pool/read-ledger.ts';
import {
  countPolicyUpdates,
  type PolicyUpdateRecord,
  readPolicyUpdatePages,
  readPolicyUpdates,
  readUpdatesOfBatches,
} from '../../src/projections/training-pool/read-policy-updates.ts';
import {
  type BatchPart,
  readSamples,
  readSamplesOfBatches,
  readStaleness,
  type SampleRecord,
} from '../../src/projections/training-pool/read-samples.ts';
import type { BlobReader } from '../../src/training/rows/read-blob.ts';
import { explainWaiting, type WaitingReason } from '../../src/usecases/train/waiting/why-waiting.ts';
import { many, manyOfTree, mappedOfTree, one, readFrom, treesAndIds } from './batch.ts';
import type { EstimateBudget } from './budgets.ts';
import { createEstimateLoaders } from './estimate-loader.ts';
import { createListLoader } from './list-loader.ts';

interface VersionKey {
  readonly policyId: string;
  readonly version: number;
}

/** The loaders of what is trained: policies, their versions and batches, and samples. */
export function createTrainingLoaders(db: Db, blobs: BlobReader, estimateBudget: EstimateBudget) {
  const from = readFrom(db);
  const batch = one(from(readBatchesById), (b) => b.id);
  return {
    ledger: one(from(readLedgers), (l) => l.policyId),
    waiting: new DataLoader<string, WaitingReason | null>((policies) => {
      // one after the other: each looks at every sample that waits
      return policies.reduce<Promise<(WaitingReason | null)[]>>(
        async (before, policyId) => [...(await before), await explainWaiting(db, policyId)],
        Promise.resolve([]),
      );
    }),
    staleness: many(
      (policies) => readStaleness(db, 'policies', policies),
      (bin) => bin.of,
    ),
    policyUpdates: createListLoader(db, readPolicyUpdatePages, countPolicyUpdates),
    policyUpdate: new DataLoader<VersionKey, PolicyUpdateRecord | null, string>(
      async (keys) => {
        const found = new Map((await readPolicyUpdates(db, keys)).map((update) => [keyOf(update), update]));
        return keys.map((key) => found.get(keyOf(key)) ?? null);
      },
      { cacheKeyFn: keyOf },
    ),
    updateOfBatch: one(from(readUpdatesOfBatches), (u) => u.batchId ?? ''),
    batches: createListLoader(db, readBatchPages, countBatches),
    batch,
    abandonmentOfBatch: one(from(readAbandonments), (a) => a.batchId),
    stalenessOfBatch: many(
      (ids) => readStaleness(db, 'batches', ids),
      (bin) => bin.of,
    ),
    actorsOfBatch: many(from(readActorsOfBatches), (actor) => actor.batchId),
    actorsOfRollout: manyOfTree(
      (rollouts) => readActorsOfRollouts(db, ...treesAndIds(rollouts)),
      (actor) => actor.rolloutId,
    ),
    batchesActedIn: new DataLoader<Acted, readonly string[], string>((wanted) => readBatchesByActor(db, wanted), {
      cacheKeyFn: ({ policyId, version, first }) => `${first} ${version} ${policyId}`,
    }),
    estimateBudget,
    ...createEstimateLoaders({ db, blobs, budget: estimateBudget, batchOf: (id) => batch.load(id) }),
    leasesOfBatch: many(from(readLeasesOfBatches), (l) => l.batchId),
    sample: mappedOfTree(async (rollouts) => {
      const samples = await readSamples(db, rollouts);
      return new Map(samples.map((sample) => [keyInTree(sample.treeId, sample.rolloutId), sample]));
    }),
    samplesOfBatch: new DataLoader<BatchPart, readonly SampleRecord[], string>((parts) => readSamplesOfBatches(db, parts), {
      cacheKeyFn: ({ batchId, from, first }) => `${batchId} ${from} ${first}`,
    }),
  };
}

function keyOf({ policyId, version }: VersionKey): string {
  return `${version} ${policyId}`;
}
