import type { EvaluationResolvers, TrainedOnResolvers } from '../generated/types.ts';

export const Evaluation: EvaluationResolvers = {
  policy: ({ policy }) => ({ id: policy.policyId, version: policy.version }),
  run: ({ runId }, _, { loaders }) => loaders.run.load(runId),
  recoveredFrom: ({ recovery }, _, { loaders }) => (recovery ? loaders.run.load(recovery.fromRunId) : null),
  confidence: ({ bootstrap }) => bootstrap.confidence,
};

export const TrainedOn: TrainedOnResolvers = {
  // A run that went to quarantine is left out: the evaluation stays readable.
  runs: async ({ runIds }, _, { loaders }) => {
    const runs = await Promise.all(runIds.map((id) => loaders.run.load(id)));
    return runs.filter((run) => run !== null);
  },
  datasets: async ({ datasetIds = [] }, _, { loaders }) => {
    const datasets = await Promise.all(datasetIds.map((id) => loaders.dataset.load(id)));
    return datasets.filter((dataset) => dataset !== null);
  },
};
