import { z } from 'zod';
import { sha256Hex } from '../../digest/sha256.ts';
import { composeHistory } from '../../images/compose-history.ts';
import { glyphAtlas } from '../../images/glyph-atlas.ts';
import { splitSegments } from '../../images/prepare-text.ts';
import { renderSpec } from '../../images/render-profiles.ts';
import { renderSegment } from '../../images/render-segment.ts';
import type { RenderSpec } from '../../images/render-spec.ts';
import { visionTokens } from '../../images/vision-tokens.ts';
import { judgeEqual, skipped, type VectorCheck } from '../vector-check.ts';

const rendering = z.object({
  name: z.string(),
  font_size: z.literal([10, 12]),
  max_width: z.int(),
  context: z.string(),
  cf: z.number(),
  width: z.int(),
  height: z.int(),
  rgb_sha256: z.string(),
  model_w: z.int(),
  model_h: z.int(),
  vision_tokens: z.int(),
});
const shape = z.object({
  env: z.object({ font_sha256: z.string(), layout: z.string() }),
  render: z.array(rendering),
  blank: z.object({ width: z.int(), height: z.int(), rgb_sha256: z.string(), tokens: z.int() }),
});

/**
 * Judges AgentOCR's `render.json`: sizes, every byte of the pixels by their digest, and what a model is shown. Skips a text that is
 * drawn otherwise when its image counts the characters that are to blame.
 */
export const agentocrRenderCheck: VectorCheck = {
  fileName: /^render.*\.json$/,
  *judge({ json }) {
    const { env, render, blank } = shape.parse(json);
    for (const { name, font_size, max_width, context, cf, ...expected } of render) {
      const spec = renderSpec(font_size === 10 ? 'agentocr-alfworld' : 'agentocr-search');
      const { unshaped, ...actual } = rendered(spec, context, cf);
      const judged = judgeEqual(
        `${name} at ${cf}`,
        { font: spec.font.sha256, layout: spec.layout.engine, max_width: spec.layout.width, ...actual },
        { font: env.font_sha256, layout: env.layout.toLowerCase(), max_width, ...expected },
      );
      const reason = `its image counts ${unshaped} characters that the published renderer may draw otherwise`;
      yield judged.status === 'failed' && unshaped > 0 ? skipped(judged.case, reason) : judged;
    }
    const { width, height, rgb_sha256, vision_tokens: tokens } = rendered(renderSpec('agentocr-alfworld'), '', 1);
    yield judgeEqual('no history', { width, height, rgb_sha256, tokens }, blank);
  },
};

function rendered(spec: RenderSpec, context: string, factor: number) {
  const segments = splitSegments(context, spec).map((text) => renderSegment(spec, text));
  const { width, height, rgb, unshaped } = composeHistory(spec, segments, factor);
  const { tokens, model } = visionTokens(width, height);
  const rgb_sha256 = sha256Hex(rgb);
  return { width, height, rgb_sha256, model_w: model.width, model_h: model.height, vision_tokens: tokens, unshaped };
}

const glyph = z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int(), a: z.string() });
const size = z.object({ advance_26_6: z.int(), glyphs: z.record(z.string(), glyph) });
const agentocrGlyphsShape = z.object({ 10: size, 12: size });

/** Judges AgentOCR's `glyphs.json`: the masks of our atlas, character by character. */
export const agentocrGlyphsCheck: VectorCheck = {
  fileName: /^glyphs.*\.json$/,
  *judge({ json }) {
    const sizes = agentocrGlyphsShape.parse(json);
    for (const px of [10, 12] as const) {
      const { advance_26_6: advance, glyphs } = sizes[px];
      const atlas = glyphAtlas(px);
      yield judgeEqual(`advance at ${px} px`, atlas.advance, advance);
      for (const [character, expected] of Object.entries(glyphs)) {
        const found = atlas.glyphs.get(character.codePointAt(0) ?? 0);
        const name = `${JSON.stringify(character)} at ${px} px`;
        if (!found) yield judgeEqual(name, drawnAsNothing(character), expected.a === '');
        else {
          const { x, y, width, height, mask } = found;
          yield judgeEqual(name, { x, y, w: width, h: height, a: Buffer.from(mask).toString('base64') }, expected);
        }
      }
    }
  },
};

/** The soft hyphen has no mask in our atlas, as it is never drawn. */
function drawnAsNothing(character: string): boolean {
  return character === '\u00ad';
}
