import { z } from 'zod';
import { sha256Hex } from '../digest/sha256.ts';
import { canonicalJson } from '../events/canonical-json.ts';

const pixels = z.int().min(0).max(16_384);
const channel = z.int().min(0).max(255);
const ink = z.tuple([channel, channel, channel]);
const hash = z.string().regex(/^[0-9a-f]{64}$/);

/**
 * Everything that determines pixels (specification §7.3), as plain JSON. Two specs that differ anywhere have different ids, so a
 * change of what a renderer does is a new `version`, and a change of a limit is another spec.
 */
export const renderSpecSchema = z.strictObject({
  profile: z.string().min(1).max(100),
  renderer: z.strictObject({ name: z.literal('espalier'), version: z.literal(1) }),
  font: z.strictObject({
    name: z.literal('DejaVu Sans Mono'),
    version: z.literal('2.37'),
    sha256: hash,
    px: z.literal([10, 12]),
    /** SHA-256 of the masks. */
    atlas: hash,
  }),
  layout: z.strictObject({
    /**
     * The shaper whose advances are reproduced: 26.6 fixed point, glyph i of a run at (advance * i + 32) >> 6, a run at (advance
     * * i) >> 6.
     */
    engine: z.literal('raqm'),
    advance: z.int().min(64).max(4096),
    lineHeight: z.int().min(8).max(64),
    width: z.int().min(28).max(2048),
    charactersPerLine: z.int().min(1).max(400),
  }),
  text: z.strictObject({
    /** `backslash-quote`: `\"` becomes `"`, since results of searches are JSON. */
    unescape: z.enum(['backslash-quote', 'none']),
    /** `nfc` also takes CR LF and CR for a newline and a tab for four spaces. */
    normalisation: z.enum(['none', 'nfc']),
    /** What Python's str.split and str.strip take for whitespace. */
    whitespace: z.literal('python'),
    wrap: z.literal('greedy-words'),
    /**
     * `records`: a non-empty line is a segment. `whole`: all text is one segment and keeps its blank lines, as the published
     * renderer without its cache.
     */
    segments: z.enum(['records', 'whole']),
    /** Characters outside the atlas: drawn as the box of the font, or written out as `\u{…}` in `inks.escape`. */
    outside: z.enum(['box', 'escape']),
  }),
  inks: z.strictObject({
    background: z.tuple([z.literal(255), z.literal(255), z.literal(255)]),
    text: z.tuple([z.literal(0), z.literal(0), z.literal(0)]),
    /** Where two overlap, the earlier start wins, then the earlier entry. */
    highlights: z.array(z.strictObject({ literal: z.string().min(1).max(200), ink })).max(32),
    escape: ink,
    mark: ink,
  }),
  limits: z.strictObject({
    /** Of one segment. `cut`: lines below are not drawn. `mark`: the last line says how many. */
    segmentHeight: pixels.min(64),
    segmentOverflow: z.enum(['cut', 'mark']),
    /**
     * Of all segments together, before any resize. `refuse`: no image. `drop-oldest`: the newest are kept, under a line that says
     * how many are not.
     */
    totalHeight: z.int().min(64).max(200_000),
    totalOverflow: z.enum(['refuse', 'drop-oldest']),
  }),
  /** White around the image, behind the resize. */
  border: z.int().min(0).max(64),
  resize: z.strictObject({
    filter: z.literal('lanczos3'),
    coefficientBits: z.literal(22),
    minimum: z.int().min(1).max(64),
    /**
     * `free`: each side by 1 / sqrt(factor). `grid`: to a width that makes the bordered image a multiple of `unit`, in
     * proportion, then white below.
     */
    fit: z.enum(['free', 'grid']),
    unit: z.literal(28),
    /** With `grid`, the least area of the bordered image: below it a vision processor would enlarge it. */
    minimumArea: z.int().min(0).max(1_000_000),
    /**
     * Which pass comes first. Not said: columns, as Pillow up to 12. `pillow-13`: rows, where more than twice as many of them are
     * taken away as of the columns.
     */
    passes: z.literal('pillow-13').optional(),
  }),
  /** Of a history that is not there; `blankHistory` says what a history without a character is. */
  empty: z.strictObject({ width: pixels, height: pixels }),
  blankHistory: z.enum(['as-published', 'empty']),
  colour: z.literal('rgb8'),
});
export type RenderSpec = Readonly<z.infer<typeof renderSpecSchema>>;
export type Ink = RenderSpec['inks']['escape'];

/** Of `agentocr-*` the generation of Pillow is that of the record, up to 12, where the name says none. */
export const RENDER_PROFILES = [
  'crisp',
  'agentocr-alfworld',
  'agentocr-search',
  'agentocr-alfworld-pillow-12',
  'agentocr-search-pillow-12',
  'agentocr-alfworld-pillow-13',
  'agentocr-search-pillow-13',
] as const;
export type RenderProfile = (typeof RENDER_PROFILES)[number];

const known = new WeakMap<RenderSpec, string>();

/** Returns the id of a render spec: the SHA-256 of its canonical JSON, in hex. */
export function renderSpecId(spec: RenderSpec): string {
  let id = known.get(spec);
  if (id === undefined) {
    id = sha256Hex(canonicalJson(spec));
    known.set(spec, id);
  }
  return id;
}

/** Takes a recorded render spec. @throws ZodError when this version of the renderer cannot draw by it. */
export function parseRenderSpec(json: unknown): RenderSpec {
  return deepFreeze(renderSpecSchema.parse(json));
}

/** Freezes a spec, so that its memoised id stays true. */
export function deepFreeze<T extends object>(value: T): T {
  for (const each of Object.values(value)) if (typeof each === 'object' && each !== null) deepFreeze(each);
  return Object.freeze(value);
}
