import { z } from 'zod';
import { skipped, type VectorCheck } from '../vector-check.ts';

const shape = z.object({ cases: z.array(z.object({ prediction: z.string() })) });

/**
 * Skips `13_sciworld_action_match`, case by case: the published code walks a Python set ordered by length alone, so what it picks
 * among candidates of equal length changes with the hash seed, and the file does not hold the room that its stub described.
 */
export const snapActionCheck: VectorCheck = {
  fileName: /^13_sciworld_action_match.*\.json$/,
  *judge({ json }) {
    for (const { prediction } of shape.parse(json).cases) {
      yield skipped(
        JSON.stringify(prediction),
        'examples of a choice that depends on the order of a Python set; ours is ordered by length and code point (environments/agentgym/snap-action.ts)',
      );
    }
  },
};
