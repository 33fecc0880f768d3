import { z } from 'zod';
import { glyphAtlas } from '../../images/glyph-atlas.ts';
import { judgeEqual, type VectorCheck } from '../vector-check.ts';

const glyph = z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int(), a: z.string() });
const size = z.object({ advance_26_6: z.int(), glyphs: z.record(z.string(), glyph) });
const shape = z.object({ 10: size, 12: size });

/** Judges AgentOCR's `glyphs.json`: the masks of our atlas, character by character. */
export const agentocrGlyphsCheck: VectorCheck = {
  fileName: /^glyphs.*\.json$/,
  *judge({ json }) {
    const sizes = shape.parse(json);
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
