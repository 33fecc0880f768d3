import DataLoader from 'dataloader';
import { keyInTree } from '../../src/projections/of-tree.ts';
import type { LogProbs } from '../../src/training/rows/jagged.ts';
import { ofStep, readNewLogProbs } from '../../src/training/versions/read-batch-update.ts';
import { type ReadAgain, readChoicesAgain } from '../../src/usecases/train/estimates/read-choices-again.ts';
import { bounded, PAGE_LIMIT } from '../connection.ts';
import type {
  BatchActorResolvers,
  BatchEstimatesResolvers,
  SampleEstimateResolvers,
  StepEstimateResolvers,
} from '../generated/types.ts';
import type { GroupKey } from '../loaders/estimate-loader.ts';
import { loadedBy } from '../loaders/loaded-by.ts';

export const BatchEstimates: BatchEstimatesResolvers = {
  estimator: ({ method }) => method,
  sampleCount: ({ samples }) => samples.length,
  samples: ({ samples }, { from, first }) => {
    const start = Math.max(0, from);
    return samples.slice(start, start + bounded('first', first, PAGE_LIMIT));
  },
};

export const SampleEstimate: SampleEstimateResolvers = {
  rollout: ({ treeId, rolloutId: id }, _, { loaders }) => loaders.rollout.load({ treeId, id }),
  group: ({ treeId }, _, { loaders }) => loaders.tree.load(treeId),
};

export const StepEstimate: StepEstimateResolvers = {
  step: ({ treeId, stepId: id }, _, { loaders }) => loaders.step.load({ treeId, id }),
  newLogProbs: async ({ batchId, maskLength, sampled }, _, context) => {
    const found = maskLength === null ? null : await logProbsAfter(context).load(batchId);
    return found && [...ofStep(found, sampled.sample, sampled.from, maskLength ?? 0)];
  },
  readAgain: async ({ stepId, batchId, treeId }, _, context) =>
    (await choicesAgain(context).load({ batchId, treeId })).get(keyInTree(treeId, stepId)) ?? null,
};

/** The groups of a batch that are shown are read together: `estimate` has counted it before. */
const choicesAgain = loadedBy(
  (db, { sources: { blobs } }) =>
    new DataLoader<Pick<GroupKey, 'batchId' | 'treeId'>, ReadonlyMap<string, ReadAgain>, string>(
      async (keys) => {
        const found = new Map<string, ReadonlyMap<string, ReadAgain>>();
        for (const batchId of new Set(keys.map((key) => key.batchId))) {
          const trees = new Set(keys.flatMap((key) => (key.batchId === batchId ? [key.treeId] : [])));
          found.set(batchId, await readChoicesAgain(db, blobs, batchId, trees));
        }
        return keys.map(({ batchId }) => found.get(batchId) ?? new Map());
      },
      { cacheKeyFn: ({ batchId, treeId }) => `${treeId} ${batchId}` },
    ),
);

/** The log-probs of a batch are one file, read once in a request. */
const logProbsAfter = loadedBy(
  (db, { sources: { blobs } }) =>
    new DataLoader<string, LogProbs | null>((ids) => Promise.all(ids.map((id) => readNewLogProbs(db, blobs, id)))),
);

export const BatchActor: BatchActorResolvers = { policy: ({ policyId: id, version }) => ({ id, version }) };
