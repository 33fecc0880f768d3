import { z } from 'zod';
import { positionIds } from '../../domain/training/rows/rollout-layout.ts';
import type { Masks, Rows } from '../../domain/training/rows/rows.ts';
import { maskedMean, maskedRowMeans, maskedSum, maskedVariance, maskedWhiten } from '../../domain/training/statistics/masked.ts';
import { byVariant, masksShape, maskUntilEnd, type RlCase, rlCheck } from '../rl-vectors.ts';

const number = z.union([z.number(), z.literal('NaN').transform(() => Number.NaN)]);
const masked = z.object({
  values: z.array(z.array(number).transform((values) => Float64Array.from(values))),
  mask: masksShape,
});
const integers = z.array(z.array(z.int()));
const ended = z.object({ ids: integers, eos: z.union([z.int(), z.array(z.int())]) });

/** Judges `01-masked-statistics`: sums, means, variances and whitening under a mask; masks from end tokens; position ids. */
export const rlMaskedStatisticsCheck = rlCheck(/^01-masked-statistics.*\.json$/, {
  masked_mean: byVariant({
    all: (given) => onMasked(given, maskedMean),
    rows: (given) => onMasked(given, maskedRowMeans),
  }),
  masked_sum: (given) => onMasked(given, maskedSum),
  masked_var: byVariant({
    biased: (given) => onMasked(given, (values, mask) => maskedVariance(values, mask, 'biased')),
    unbiased: (given) => onMasked(given, (values, mask) => maskedVariance(values, mask)),
    error({ inputs }) {
      const { values, mask } = masked.parse(inputs);
      try {
        return { value: maskedVariance(values, mask) };
      } catch (error) {
        return { error: error instanceof RangeError ? error.message : error };
      }
    },
  }),
  masked_whiten: byVariant({
    'shift_mean=true': (given) => onMasked(given, (values, mask) => maskedWhiten(values, mask)),
    'shift_mean=false': (given) => onMasked(given, (values, mask) => maskedWhiten(values, mask, 'kept')),
  }),
  response_mask_from_eos({ inputs }) {
    const { ids, eos } = ended.parse(inputs);
    const ends = typeof eos === 'number' ? [eos] : eos;
    return { value: ids.map((row) => maskUntilEnd(row, ends)) };
  },
  position_ids({ inputs }) {
    const { attention_mask: attention } = z.object({ attention_mask: integers }).parse(inputs);
    return {
      agent_r1_legacy: attention.map((row) => positionIds(row, 'zero')),
      verl: attention.map((row) => positionIds(row, 'repeat')),
    };
  },
});

function onMasked({ inputs }: RlCase, compute: (values: Rows, mask: Masks) => unknown): Record<string, unknown> {
  const { values, mask } = masked.parse(inputs);
  return { value: compute(values, mask) };
}
