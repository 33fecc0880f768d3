import { z } from 'zod';
import { positionIds } from '../../domain/training/rows/position-ids.ts';
import { maskUntilEnd } from '../../domain/training/rows/response-mask.ts';
import { maskedMean, maskedRowMeans, maskedSum, maskedVariance, maskedWhiten } from '../../domain/training/statistics/masked.ts';
import { masksShape, rlCheck } from '../rl-vectors.ts';

const number = z.union([z.number(), z.literal('NaN').transform(() => Number.NaN)]);
const masked = z.object({
  values: z.array(z.array(number).transform((values) => Float64Array.from(values))),
  mask: masksShape,
});
const integers = z.array(z.array(z.int()));

/** Judges `01-masked-statistics`: sums, means, variances and whitening under a mask; masks from end tokens; position ids. */
export const rlMaskedStatisticsCheck = rlCheck(/^01-masked-statistics.*\.json$/, {
  masked_mean({ inputs, variant }) {
    const { values, mask } = masked.parse(inputs);
    return { value: z.enum(['all', 'rows']).parse(variant) === 'all' ? maskedMean(values, mask) : maskedRowMeans(values, mask) };
  },
  masked_sum({ inputs }) {
    const { values, mask } = masked.parse(inputs);
    return { value: maskedSum(values, mask) };
  },
  masked_var({ inputs, variant }) {
    const { values, mask } = masked.parse(inputs);
    if (z.enum(['biased', 'error']).parse(variant) === 'biased') return { value: maskedVariance(values, mask, 'biased') };
    try {
      return { value: maskedVariance(values, mask) };
    } catch (error) {
      return { error: error instanceof RangeError ? error.message : error };
    }
  },
  masked_whiten({ inputs, variant }) {
    const { values, mask } = masked.parse(inputs);
    const removed = z.enum(['shift_mean=true', 'shift_mean=false']).parse(variant) === 'shift_mean=true';
    return { value: maskedWhiten(values, mask, removed ? 'removed' : 'kept') };
  },
  response_mask_from_eos({ inputs }) {
    const { ids, eos } = z.object({ ids: integers, eos: z.array(z.int()) }).parse(inputs);
    return { value: ids.map((row) => maskUntilEnd(row, eos)) };
  },
  position_ids({ inputs }) {
    const { attention_mask: attention } = z.object({ attention_mask: integers }).parse(inputs);
    return {
      agent_r1_legacy: attention.map((row) => positionIds(row, 'zero')),
      verl: attention.map((row) => positionIds(row, 'repeat')),
    };
  },
});
