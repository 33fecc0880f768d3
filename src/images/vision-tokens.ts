import type { Size } from './history-sizes.ts';

/** The numbers by which a vision processor fits images to its grid. */
export interface VisionPreset {
  readonly name: string;
  /** Pixels of a side that become one token: patch size times merge size. */
  readonly unit: number;
  readonly minPixels: number;
  readonly maxPixels: number;
  /** What the published pipeline does before the processor: images outside these areas are scaled to them. */
  readonly before: { readonly minPixels: number; readonly maxPixels: number };
  /** Around each image in the prompt; not counted in `tokens`. */
  readonly wrapperTokens: number;
}

const BEFORE = { minPixels: 28 * 28, maxPixels: 2048 * 2048 };

/** Vision processors that we know; others are given as objects. */
export const VISION_PRESETS = {
  'qwen2.5-vl': { name: 'qwen2.5-vl', unit: 28, minPixels: 56 * 56, maxPixels: 12_845_056, before: BEFORE, wrapperTokens: 2 },
  'qwen2-vl': { name: 'qwen2-vl', unit: 28, minPixels: 56 * 56, maxPixels: 12_845_056, before: BEFORE, wrapperTokens: 2 },
  /** The default of the library when a model brings no numbers of its own. */
  'qwen2-vl-library': {
    name: 'qwen2-vl-library',
    unit: 28,
    minPixels: 56 * 56,
    maxPixels: 1_003_520,
    before: BEFORE,
    wrapperTokens: 2,
  },
  'qwen3-vl': { name: 'qwen3-vl', unit: 32, minPixels: 65_536, maxPixels: 16_777_216, before: BEFORE, wrapperTokens: 2 },
} as const satisfies Record<string, VisionPreset>;

/** Finds a vision processor by the name that is recorded of it. */
export function visionPreset(name: string): VisionPreset | undefined {
  return Object.values(VISION_PRESETS).find((preset) => preset.name === name);
}

/** What an image costs a model, and the size at which the model sees it. */
export interface VisionTokens {
  readonly tokens: number;
  readonly model: Size;
  readonly preset: string;
}

/**
 * Counts the tokens of an image of `width` x `height` pixels (specification §1.9, V6). The order of operations is that of the
 * processor: 38 x 38 comes to 9 tokens only because 38 * sqrt(3136 / 1444) / 28 is 2.0000000000000004.
 * @throws RangeError for sides that are no positive whole numbers, and for an image more than 200 times as long as wide, which
 * the processor refuses.
 */
export function visionTokens(width: number, height: number, preset: VisionPreset = VISION_PRESETS['qwen2.5-vl']): VisionTokens {
  for (const side of [width, height]) {
    if (!Number.isSafeInteger(side) || side < 1) throw new RangeError(`an image of ${width}x${height} has no tokens`);
  }
  const { width: w, height: h } = scaleToArea(width, height, preset.before);
  if (Math.max(w, h) / Math.min(w, h) > 200)
    throw new RangeError(`an image of ${width}x${height} is more than 200 times as long as wide`);
  const { unit, minPixels, maxPixels } = preset;
  let [across, down] = [roundHalfEven(w / unit) * unit, roundHalfEven(h / unit) * unit];
  if (across * down > maxPixels) {
    const beta = Math.sqrt((h * w) / maxPixels);
    down = Math.max(unit, Math.floor(h / beta / unit) * unit);
    across = Math.max(unit, Math.floor(w / beta / unit) * unit);
  } else if (across * down < minPixels) {
    const beta = Math.sqrt(minPixels / (h * w));
    down = Math.ceil((h * beta) / unit) * unit;
    across = Math.ceil((w * beta) / unit) * unit;
  }
  return { tokens: (across / unit) * (down / unit), model: { width: across, height: down }, preset: preset.name };
}

function scaleToArea(width: number, height: number, { minPixels, maxPixels }: VisionPreset['before']): Size {
  const area = width * height;
  if (area <= maxPixels && area >= minPixels) return { width, height };
  const factor = Math.sqrt((area > maxPixels ? maxPixels : minPixels) / area);
  return { width: Math.max(1, Math.trunc(width * factor)), height: Math.max(1, Math.trunc(height * factor)) };
}

/** Rounds as Python does: halves to the even neighbour. */
function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}
