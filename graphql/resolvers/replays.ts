import type { ReplayResolvers } from '../generated/types.ts';

export const Replay: ReplayResolvers = {
  id: ({ replayId }) => replayId,
  run: ({ runId }, _, { loaders }) => loaders.run.load(runId),
};
