import { z } from 'zod';
import { amount, count, eventData, id, json, name, renderSpecId, runId, sha256, text, treeId } from './values.ts';

/** Pixels. A history without a line may have none. */
const size = z.strictObject({ width: count.describe('Width in pixels.'), height: count.describe('Height in pixels.') });

const outside = count.describe('Number of characters that the font does not have.');
const unshaped = count.describe('Number of characters that the published renderer shapes and may draw otherwise.');

export const renderSpecRegistered = eventData('A run registered a render spec, by which it draws history images.', {
  runId,
  renderSpecId,
  profile: name.describe('Name of the profile that the spec was made from.'),
  spec: json.describe('Render spec: everything that determines the pixels, as JSON.'),
});

/**
 * Its id is a hash of render spec and text, so that all who draw it, in whatever run, record the same. It is recorded once,
 * before the first history that shows it.
 */
export const segmentRendered = eventData('A history segment, the text of one record of history, was drawn for the first time.', {
  segmentId: sha256.describe('SHA-256 of the render spec and the text.'),
  renderSpecId,
  text: text.describe('Text of the segment.'),
  lines: count.describe('Number of lines drawn.'),
  width: count.describe('Width of the segment in pixels.'),
  height: count.describe('Height of the segment in pixels.'),
  rgb: sha256.describe('SHA-256 of the pixels of the segment.'),
  cutLines: count.describe('Number of lines that the height limit removed.'),
  outside,
  unshaped,
});

/**
 * The image is not stored: it is drawn again from its segments, and `imageId` says what must come out. The history is a range of
 * what an earlier step of the path was shown (`prefix`), then `segments`: storage is linear in what is new, with a whole history
 * and with a window that slides over it. `cache` and `timings` are measurements, which a repetition may find otherwise.
 */
export const historyRendered = eventData('The prompt of a step showed its history as an image.', {
  treeId,
  stepId: id.describe('UUID of the step whose prompt showed the image.'),
  renderSpecId,
  prefix: z
    .strictObject({
      stepId: id.describe('UUID of the earlier step.'),
      from: count.describe('Index of the first segment in the history of that step, from 0.'),
      to: count.describe('Index after the last segment.'),
    })
    .nullable()
    .describe('Range of the history of an earlier step with which this history begins; null when it repeats none.'),
  segments: z.array(sha256).max(10_000).describe('Ids of the segments that follow the prefix, oldest first.'),
  history: z
    .enum(['segments', 'blank', 'absent'])
    .describe('What the image shows: segments, a history without a character, or none because nothing has happened yet.'),
  factor: amount.min(1).describe('Compression factor: the image has 1 / factor of the pixels of the stacked segments.'),
  factorChosenBy: id.nullable().describe('UUID of the step whose response chose the factor; null for the default factor.'),
  sizes: z
    .strictObject({
      raw: size.describe('Size of the stacked segments.'),
      resized: size.describe('Size after the resize by the factor.'),
      bordered: size.describe('Size with the border, which is what the model is sent.'),
      model: size.describe('Size after the image processor of the model.'),
    })
    .describe('Sizes of the image at each stage.'),
  visionTokens: z
    .strictObject({
      count: count.describe('Number of vision tokens.'),
      preset: name.describe('Name of the image processor preset that determines the count.'),
    })
    .describe('Cost of the history as an image.'),
  textTokens: z
    .strictObject({
      count: count.describe('Number of text tokens.'),
      tokenizer: name.describe('Name of the tokenizer that counted them.'),
    })
    .describe('Cost of the same history as text.'),
  imageId: sha256.describe('SHA-256 of the size and the pixels of the image.'),
  cut: z
    .strictObject({
      segments: count.describe('Number of whole segments removed.'),
      lines: count.describe('Number of lines removed.'),
    })
    .describe('What size limits removed from the image.'),
  outside,
  unshaped,
  cache: z
    .strictObject({
      missed: z.array(count).max(10_000).describe('Indexes, in the whole history from 0, of the segments that had to be drawn.'),
    })
    .describe('What the segment cache did not hold.'),
  timings: z
    .strictObject({ renderMs: amount.min(0).describe('Time to draw the image in milliseconds.') })
    .describe('Durations of the rendering.'),
});
