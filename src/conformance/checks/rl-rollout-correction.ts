import { z } from 'zod';
import { importanceWeights, parseRejectionRules, rejectDrifted } from '../../domain/training/correction/correct-rollouts.ts';
import { masksShape, rlCheck, rowsShape } from '../rl-vectors.ts';

const columns = z.object({ train_log_prob: rowsShape, rollout_log_prob: rowsShape, response_mask: masksShape });
const weighed = columns.extend({ level: z.enum(['token', 'sequence']), threshold: z.number(), batch_normalize: z.boolean() });
const judged = columns.extend({ option: z.string(), lower: z.number().nullable(), upper: z.number() });

/** Judges `08-rollout-correction`: truncated importance weights and the masks that rejection leaves. */
export const rlRolloutCorrectionCheck = rlCheck(/^08-rollout-correction.*\.json$/, {
  rollout_is_weights({ inputs }) {
    const { level, threshold, batch_normalize: normalised, ...given } = weighed.parse(inputs);
    const options = { level, threshold, normalise: normalised ? 'batch' : 'none' } as const;
    return { value: importanceWeights(read(given), options).weights };
  },
  rollout_rejection_mask({ inputs }) {
    const { option, lower, upper, ...given } = judged.parse(inputs);
    const rules = parseRejectionRules(option, lower === null ? `${upper}` : `${lower}_${upper}`);
    return { value: rejectDrifted(read(given), rules).masks };
  },
});

function read({ train_log_prob: trainer, rollout_log_prob: rollout, response_mask: masks }: z.infer<typeof columns>) {
  return { trainer, rollout, masks };
}
