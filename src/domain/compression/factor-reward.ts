import { parsePythonFloat, pythonStrip } from '../text/python-strip.ts';

/** What compression earns and costs. */
interface FactorCoefficients {
  /** λ: what a successful episode earns for each step's ln(cf). */
  readonly lambda: number;
  /** μ: what a failed episode pays for it. */
  readonly mu: number;
}

/**
 * Returns the published compression component of one step's reward (specification of AgentOCR, §2.3): `λ·ln(cf)` in an episode
 * that succeeded, `−μ·ln(cf)` in one that failed, 0 in an iteration where the schedule is off. `factor` is the one chosen *at
 * this step*, which shrinks the next step's image, but is paid for here. The step that ends an episode earns nothing: no image
 * follows it (published: cf is set to 1). ln(cf) is paid whether or not a token was saved; `tokensSavedReward` is the sound form.
 * @throws RangeError for a factor outside 1..5.
 */
export function factorReward(
  step: { readonly factor: number; readonly success: boolean; readonly active: boolean; readonly endsEpisode: boolean },
  { lambda, mu }: FactorCoefficients,
): number {
  if (!(step.factor >= FACTOR_RANGE.least && step.factor <= FACTOR_RANGE.most))
    throw new RangeError(
      `a compression factor lies between ${FACTOR_RANGE.least} and ${FACTOR_RANGE.most}, not at ${step.factor}`,
    );
  if (!step.active || step.endsEpisode) return 0;
  // The range begins at 1, so the logarithm is never below 0; `|| 0` turns the −0 of −μ·ln(1) into 0, which JSON would lose.
  return (step.success ? lambda : -mu) * Math.log(step.factor) || 0;
}

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
 * A closing tag before the opening one leaves nothing between them. As published, each İ before a tag moves it by a character: its
 * place is that in the lower-cased answer, where İ is two. (§2.2; the reference's own comment promises the largest
 * factor on failure, its code yields 1.)
 */
export function readFactor(response: string): FactorReading {
  const [opening, closing] = [OPENING.exec(response), CLOSING.exec(response)];
  if (opening === null || closing === null) return { text: null, parsed: null, factor: 1, fault: 'no-tag' };
  const place = ({ index }: RegExpExecArray, length: number) =>
    charactersOn(response, index + length, response.slice(0, index).split('İ').length - 1);
  const text = pythonStrip(response.slice(place(opening, opening[0].length), place(closing, 0)));
  const parsed = parsePythonFloat(text);
  if (parsed === null) return { text, parsed, factor: 1, fault: 'no-number' };
  if (!Number.isFinite(parsed)) return { text, parsed: null, factor: 1, fault: 'not-finite' };
  if (parsed < FACTOR_RANGE.least) return { text, parsed, factor: FACTOR_RANGE.least, fault: 'below-range' };
  if (parsed > FACTOR_RANGE.most) return { text, parsed, factor: FACTOR_RANGE.most, fault: 'above-range' };
  return { text, parsed, factor: parsed, fault: null };
}

/** Returns the place that is so many characters (code points) behind another one. */
function charactersOn(text: string, at: number, characters: number): number {
  let place = at;
  for (let i = 0; i < characters; i++) place += String.fromCodePoint(text.codePointAt(place) ?? 0).length;
  return place;
}

/** A whole setting of the compression reward. */
interface CompressionPreset extends FactorCoefficients {
  /** K of the schedule. */
  readonly every: number;
}

/**
 * The settings found in the source (specification of AgentOCR, §2.3). The paper's K and that of the scripts said to reproduce it
 * differ, so both stand here by name; `configuration-default` is what a run gets that sets nothing.
 */
export const COMPRESSION_PRESETS = {
  'published-script': { every: 8, lambda: 0.01, mu: 0 },
  paper: { every: 5, lambda: 0.01, mu: 0 },
  'configuration-default': { every: 1, lambda: 0.001, mu: 0 },
} as const satisfies Record<string, CompressionPreset>;

/**
 * Returns whether compression is rewarded in a training iteration, counted from 1 over the whole run: in every K-th (specification
 * of AgentOCR, §2.3). The reference counts calls of a reward manager: it begins again at 0 after a resume, counts an iteration
 * twice when its first try fails, and counts validation batches too. Here an iteration counts once, when its outcome is recorded.
 * @throws RangeError unless K is 1 or more.
 */
export function isRewarded(every: number, iteration: number): boolean {
  if (!Number.isInteger(every) || every < 1)
    throw new RangeError(`a schedule has a period of 1 or more iterations, not ${every}`);
  return iteration % every === 0;
}

/** The image that a step's factor made, in the model's own tokens, and what it would have cost at cf = 1. */
interface ImageCost {
  readonly tokensWhole: number;
  readonly tokens: number;
}

/**
 * Returns a compression component that pays for what was saved: `λ·ln(tokens at cf 1 / tokens at cf)` in an episode that
 * succeeded, `−μ·…` in one that failed, 0 where no token was saved. Tokens are a staircase in cf (a 392 × 360 image costs 182 at
 * 1.00 to 1.10 and 156 at 1.15 to 1.28), so ln(cf) is earned for nothing on every tread (specification of AgentOCR, §1.9, §2.4);
 * this is not. In the limit of fine patches both are equal: tokens fall as 1/cf. A one-line image that grows when it is
 * "compressed" saves nothing and pays nothing. `image` is the one shown at the *next* step; null when none followed, as behind
 * the last step or while the history is empty. @throws RangeError for a cost that is no positive count.
 */
export function tokensSavedReward(
  step: { readonly image: ImageCost | null; readonly success: boolean; readonly active: boolean },
  { lambda, mu }: FactorCoefficients,
): number {
  if (step.image === null) return 0;
  const { tokensWhole, tokens } = step.image;
  if (!Number.isInteger(tokensWhole) || !Number.isInteger(tokens) || tokensWhole < 1 || tokens < 1)
    throw new RangeError(`an image costs 1 token or more, not ${tokensWhole} whole and ${tokens} compressed`);
  if (!step.active || tokens >= tokensWhole) return 0;
  return (step.success ? lambda : -mu) * Math.log(tokensWhole / tokens) || 0;
}
