import { parsePythonFloat } from '../text/python-float.ts';
import { pythonStrip } from '../text/python-strip.ts';

/** The published range (specification of AgentOCR, §2.2): 1 keeps the image as it is, 5 leaves a fifth of its pixels. */
export const FACTOR_RANGE = { least: 1, most: 5 } as const;

/** What an answer says about compression, from its words to what is done. */
export interface FactorReading {
  /** The words between the tags, stripped; null without a complete pair of tags. */
  readonly text: string | null;
  /** Their number; null where they are none, or none that is finite. */
  readonly parsed: number | null;
  /** The factor for the next image, in `FACTOR_RANGE`. */
  readonly factor: number;
  /** Why `factor` is not simply what the words say. */
  readonly fault: 'no-tag' | 'no-number' | 'not-finite' | 'below-range' | 'above-range' | null;
}

const OPENING = /<compression>/i;
const CLOSING = /<\/compression>/i;

/**
 * Reads the compression factor that an agent chose for its next history image: the text between the first opening and the first
 * closing `<compression>` tag, in any case, read as Python's `float` reads it (`parsePythonFloat` lists what that takes). What is
 * missing, no number or not finite means no compression (1), the rest is brought into the range: `0.5` yields 1, `1_0` yields 5.
 * A closing tag before the opening one leaves nothing between them. (§2.2; the reference's own comment promises the largest
 * factor on failure, its code yields 1.)
 */
export function readFactor(response: string): FactorReading {
  const [opening, closing] = [OPENING.exec(response), CLOSING.exec(response)];
  if (opening === null || closing === null) return { text: null, parsed: null, factor: 1, fault: 'no-tag' };
  const text = pythonStrip(response.slice(opening.index + opening[0].length, closing.index));
  const parsed = parsePythonFloat(text);
  if (parsed === null) return { text, parsed, factor: 1, fault: 'no-number' };
  if (!Number.isFinite(parsed)) return { text, parsed: null, factor: 1, fault: 'not-finite' };
  if (parsed < FACTOR_RANGE.least) return { text, parsed, factor: FACTOR_RANGE.least, fault: 'below-range' };
  if (parsed > FACTOR_RANGE.most) return { text, parsed, factor: FACTOR_RANGE.most, fault: 'above-range' };
  return { text, parsed, factor: parsed, fault: null };
}
