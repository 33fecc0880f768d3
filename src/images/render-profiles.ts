import { type AtlasSize, glyphAtlas } from './glyph-atlas.ts';
import { deepFreeze, type RenderProfile, type RenderSpec } from './render-spec.ts';

const BLACK: [0, 0, 0] = [0, 0, 0];
const WHITE: [255, 255, 255] = [255, 255, 255];
const BLUE: [number, number, number] = [0, 0, 255];
const RED: [number, number, number] = [255, 0, 0];
/** Orange is neither of the colours that mark observations and actions, and is distinct from black after a resize. */
const ORANGE: [number, number, number] = [200, 90, 0];
const FONT_SHA256 = '0f5db4f1749979d961019838b160bec74abdf7f9eca69553fe1aa856bbff49a4';

const RECORDS = [
  { literal: '[Observation]', ink: BLUE },
  { literal: '[Action]', ink: RED },
];
const SEARCHES = [
  { literal: '<search>', ink: BLUE },
  { literal: '</search>', ink: BLUE },
  { literal: '<information>', ink: RED },
  { literal: '</information>', ink: RED },
];

const cached = new Map<RenderProfile, RenderSpec>();

/**
 * Returns the render spec of a profile. `agentocr-*` draw what the published renderer with its cache draws, byte for byte
 * (specification §1): with Pillow up to 12, which `-pillow-12` names too, or with Pillow 13, which does the passes of some
 * resizes in another order. `crisp`, for new runs, lands on the 28 px grid of the vision processor, so that text is not resampled
 * at factor 1, and draws nothing that cannot be read.
 */
export function renderSpec(profile: RenderProfile): RenderSpec {
  let spec = cached.get(profile);
  if (!spec) {
    spec = deepFreeze(build(profile));
    cached.set(profile, spec);
  }
  return spec;
}

function build(profile: RenderProfile): RenderSpec {
  switch (profile) {
    case 'agentocr-alfworld':
      return asPublished(profile, 10, 12, 392, 65, RECORDS);
    case 'agentocr-search':
      return asPublished(profile, 12, 15, 560, 77, SEARCHES);
    case 'agentocr-alfworld-pillow-12':
      return renderSpec('agentocr-alfworld'); // one spec, so one id
    case 'agentocr-search-pillow-12':
      return renderSpec('agentocr-search');
    case 'agentocr-alfworld-pillow-13':
      return withPillow13(profile, renderSpec('agentocr-alfworld'));
    case 'agentocr-search-pillow-13':
      return withPillow13(profile, renderSpec('agentocr-search'));
    case 'crisp':
      return crisp();
    default:
      return profile satisfies never;
  }
}

function withPillow13(profile: RenderProfile, spec: RenderSpec): RenderSpec {
  return { ...spec, profile, resize: { ...spec.resize, passes: 'pillow-13' } };
}

function asPublished(
  profile: RenderProfile,
  px: AtlasSize,
  lineHeight: number,
  width: number,
  charactersPerLine: number,
  highlights: RenderSpec['inks']['highlights'],
): RenderSpec {
  const atlas = glyphAtlas(px);
  return {
    profile,
    renderer: { name: 'espalier', version: 1 },
    font: { name: 'DejaVu Sans Mono', version: '2.37', sha256: FONT_SHA256, px, atlas: atlas.sha256 },
    layout: { engine: 'raqm', advance: atlas.advance, lineHeight, width, charactersPerLine },
    text: {
      unescape: 'backslash-quote',
      normalisation: 'none',
      whitespace: 'python',
      wrap: 'greedy-words',
      segments: 'records',
      outside: 'box',
    },
    inks: { background: WHITE, text: BLACK, highlights, escape: ORANGE, mark: ORANGE },
    // The published stack has no limit; the vision processor refuses an image that is over 200 times as tall as wide.
    limits: { segmentHeight: 4096, segmentOverflow: 'cut', totalHeight: 200 * width, totalOverflow: 'refuse' },
    border: 5,
    resize: { filter: 'lanczos3', coefficientBits: 22, minimum: 28, fit: 'free', unit: 28, minimumArea: 0 },
    empty: { width: 28, height: 28 },
    blankHistory: 'as-published',
    colour: 'rgb8',
  };
}

function crisp(): RenderSpec {
  const base = asPublished('crisp', 10, 12, 382, 63, [...RECORDS, ...SEARCHES]);
  return {
    ...base,
    text: { ...base.text, normalisation: 'nfc', outside: 'escape' },
    // 4,086 px are 340 lines; with the border 146 rows of the grid, 2,044 tokens at the full width.
    limits: { segmentHeight: 2040, segmentOverflow: 'mark', totalHeight: 4078, totalOverflow: 'drop-oldest' },
    resize: { ...base.resize, fit: 'grid', minimumArea: 56 * 56 },
    empty: { width: 46, height: 46 },
    blankHistory: 'empty',
  };
}
