import { bounded, PAGE_LIMIT } from '../connection.ts';
import type {
  BatchActorResolvers,
  BatchEstimatesResolvers,
  SampleEstimateResolvers,
  StepEstimateResolvers,
} from '../generated/types.ts';

export const BatchEstimates: BatchEstimatesResolvers = {
  estimator: ({ method }) => method,
  sampleCount: ({ samples }) => samples.length,
  samples: ({ samples }, { from, first }) => {
    const start = Math.max(0, from);
    return samples.slice(start, start + bounded('first', first, PAGE_LIMIT));
  },
};

export const SampleEstimate: SampleEstimateResolvers = {
  rollout: ({ rolloutId }, _, { loaders }) => loaders.rollout.load(rolloutId),
  group: ({ treeId }, _, { loaders }) => loaders.tree.load(treeId),
};

export const StepEstimate: StepEstimateResolvers = {
  step: ({ stepId }, _, { loaders }) => loaders.step.load(stepId),
};

export const BatchActor: BatchActorResolvers = { policy: ({ policyId: id, version }) => ({ id, version }) };
