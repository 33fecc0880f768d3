import { z } from 'zod';
import { amount, count, id, json, name, sha256, text } from './values.ts';

/** Pixels. A history without a line may have none. */
const size = z.strictObject({ width: count, height: count });

/** A run draws histories by this spec. `renderSpecId` is the SHA-256 of the canonical JSON of `spec`, which holds everything that determines pixels. */
export const renderSpecRegistered = z.strictObject({ runId: id, renderSpecId: sha256, profile: name, spec: json });

/**
 * A record of history was drawn. Its id is a hash of render spec and text, so that whoever draws it again, in whatever run, tells the same;
 * it is told once, and before the first history that shows it. `rgb` is the SHA-256 of its pixels, `cutLines` what a height limit took from it,
 * `outside` the characters that the atlas does not hold.
 */
export const segmentRendered = z.strictObject({
  segmentId: sha256,
  renderSpecId: sha256,
  text,
  lines: count,
  width: count,
  height: count,
  rgb: sha256,
  cutLines: count,
  outside: count,
});

/** A range of a list, [from, to). */
const span = { from: count, to: count };

/**
 * The prompt of a step showed its history as an image. The image is not stored: it is drawn again from its segments, and `imageId` (the SHA-256 of its
 * size and pixels) says what must come out.
 *
 * The history is a range of what an earlier step of the path was shown (`prefix`), then `segments`: storage is linear in what is new,
 * with a whole history and with a window that slides over it. `factorChosenBy` is the step whose answer set `factor`; null for the
 * default. `cut` is what a limit on the whole image took away. `cache.missed` lists the places, in the whole history from 0, of
 * the segments that had to be drawn; like `timings` it is a measurement, which a repetition may find otherwise.
 */
export const historyRendered = z.strictObject({
  treeId: id,
  stepId: id,
  renderSpecId: sha256,
  prefix: z.strictObject({ stepId: id, ...span }).nullable(),
  segments: z.array(sha256).max(10_000),
  /** What was shown: segments, or in their place a history without a character, or none because nothing has happened yet. */
  history: z.enum(['segments', 'blank', 'absent']),
  factor: amount.min(1),
  factorChosenBy: id.nullable(),
  sizes: z.strictObject({ raw: size, resized: size, bordered: size, model: size }),
  visionTokens: z.strictObject({ count, preset: name }),
  /** What the same history costs as text. */
  textTokens: z.strictObject({ count, tokenizer: name }),
  imageId: sha256,
  cut: z.strictObject({ segments: count, lines: count }),
  outside: count,
  cache: z.strictObject({ missed: z.array(count).max(10_000) }),
  timings: z.strictObject({ renderMs: amount.min(0) }),
});
