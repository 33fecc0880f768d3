import fc from 'fast-check';
import { ZodError } from 'zod';
import { HistoryRenderer } from '../../../src/images/history-renderer.ts';
import { RenderRefused } from '../../../src/images/history-sizes.ts';
import { encodePng } from '../../../src/images/png.ts';
import { splitSegments } from '../../../src/images/prepare-text.ts';
import { renderSpec } from '../../../src/images/render-profiles.ts';
import { parseRenderSpec, RENDER_PROFILES, type RenderProfile, type RenderSpec } from '../../../src/images/render-spec.ts';
import { textTokens } from '../../../src/images/text-tokens.ts';
import { type Change, change, changed, hostileText, TEXTS, write } from '../hostile-values.ts';
import { Broken, target } from '../target.ts';

interface Drawn {
  readonly profile: RenderProfile;
  readonly changes: readonly Change[];
  readonly text: string;
  readonly factor: number;
}

const LONG = 200_000;
/** Texts that make wrapping, looking for highlights, stacking or counting tokens long. */
const LONG_TEXTS: readonly string[] = [
  ...[
    'x'.repeat(LONG),
    'x '.repeat(LONG),
    '\n'.repeat(LONG),
    'x\n'.repeat(30_000),
    ' '.repeat(LONG),
    '[Action]'.repeat(25_000),
    '['.repeat(LONG),
  ],
  ...[
    '\u0301'.repeat(LONG),
    '\u{1f333}'.repeat(50_000),
    '\ud800'.repeat(LONG),
    'ﷺ'.repeat(50_000),
    '\u200b'.repeat(LONG),
    '\u202e\u2066'.repeat(50_000),
    '\\"'.repeat(LONG),
  ],
  ...[
    '\0'.repeat(50_000),
    'a\u0300\u0301\u0302'.repeat(20_000),
    '\t'.repeat(50_000),
    '\r'.repeat(LONG),
    '深'.repeat(50_000),
    '-'.repeat(LONG),
    'aA1!'.repeat(50_000),
  ],
];

/** Text of a model or an environment, drawn as a history image under any spec that is taken. */
export const renderTarget = target<Drawn>({
  name: 'render text',
  always: RENDER_PROFILES.flatMap((profile) =>
    [...LONG_TEXTS, ...TEXTS].map((text): Drawn => ({ profile, changes: [], text, factor: 1.5 })),
  ),
  cases: fc.record({
    profile: fc.constantFrom(...RENDER_PROFILES),
    changes: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.array(change, { maxLength: 2 }) }),
    text: fc
      .array(fc.oneof(hostileText, fc.constantFrom('[Observation]: ', '[Action]: go', '\n', ' ')), { maxLength: 12 })
      .map((parts) => parts.join('')),
    factor: fc.oneof(fc.constantFrom(1, 1.2, 2, 10, 1e9), fc.double()),
  }),
  way: {
    process: 'inside',
    async within(_world, { profile, changes, text, factor }) {
      const spec = specOf(profile, changes);
      if (spec === undefined) return { kind: 'refused', code: 'spec' };
      try {
        const segments = splitSegments(text, spec);
        const { image } = new HistoryRenderer(spec).render({
          segments,
          factor,
          ...(segments.length > 0 ? {} : { empty: 'blank' }),
        });
        const png = await encodePng(image);
        const tokens = await textTokens(text.slice(0, 20_000));
        if (png.byteLength === 0 || tokens.count < 0) throw new Broken('drew nothing');
        if (image.width * image.height > MOST_PIXELS) throw new Broken(`drew ${image.width} × ${image.height}`);
        return { kind: 'accepted', appended: 0 };
      } catch (error) {
        if (!(error instanceof RenderRefused)) throw error;
        return { kind: 'refused', code: 'render' };
      }
    },
  },
});

const MOST_PIXELS = 2_200 * 210_000; // the widest spec and the tallest, with its border

/** The spec with its changes, as it would be read from the record; undefined when it is refused. */
function specOf(profile: RenderProfile, changes: readonly Change[]): RenderSpec | undefined {
  if (changes.length === 0) return renderSpec(profile);
  try {
    return parseRenderSpec(JSON.parse(write(changes.reduce<unknown>(changed, renderSpec(profile)))));
  } catch (error) {
    if (error instanceof ZodError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
