import { bounded } from '../connection.ts';
import type { LargeTextResolvers } from '../generated/types.ts';

const PART_LIMIT = 1_000_000; // characters of one `LargeText.text`

export const LargeText: LargeTextResolvers = {
  sha256: ({ blob }) => blob,
  text: (large, { offset, length }, { texts }) => texts.text(large, Math.max(0, offset), bounded('length', length, PART_LIMIT)),
};
