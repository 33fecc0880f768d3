import type { EvaluationResolvers, TrainedOnResolvers } from '../generated/types.ts';

export const Evaluation: EvaluationResolvers = {
  policy: ({ policy }) => ({ id: policy.policyId, version: policy.version }),
  recoveredFrom: ({ recovery }, _, { loaders }) => (recovery ? loaders.run.load(recovery.fromRunId) : null),
  confidence: ({ bootstrap }) => bootstrap.confidence,
};

export const TrainedOn: TrainedOnResolvers = {
  // A run that went to quarantine is left out: the evaluation stays readable.
  runs: async ({ runIds }, _, { loaders }) => {
    const runs = await Promise.all(runIds.map((id) => loaders.run.load(id)));
    return runs.filter((run) => run !== null);
  },
};
