import type { RenderSpec } from './render-spec.ts';

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The sizes on the way from stacked segments to what a model is shown. */
export interface HistorySizes {
  readonly raw: Size;
  readonly resized: Size;
  readonly bordered: Size;
}

/** What takes the place of a history: nothing yet (`absent`), text without a character (`blank`), or segments. */
export type HistoryKind = 'absent' | 'blank' | 'segments';

/** No image is made of this: the reason says what to change. */
export class RenderRefused extends Error {
  override readonly name = 'RenderRefused';
  readonly code: 'bad-factor' | 'too-tall';
  constructor(code: RenderRefused['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Computes the sizes of a history of `height` rows at a factor (specification §1.8, V5).
 * @throws RenderRefused for a factor that is no number from 1 up, or rows beyond the limit.
 */
export function historySizes(spec: RenderSpec, kind: HistoryKind, height: number, factor: number): HistorySizes {
  if (!Number.isFinite(factor) || factor < 1)
    throw new RenderRefused('bad-factor', `a compression factor is a number from 1 up, not ${factor}`);
  if (kind === 'absent' || (kind === 'blank' && spec.blankHistory === 'empty')) {
    return { raw: spec.empty, resized: spec.empty, bordered: border(spec, spec.empty) };
  }
  if (height > spec.limits.totalHeight) {
    throw new RenderRefused(
      'too-tall',
      `a history of ${height} px is taller than the ${spec.limits.totalHeight} px of its render spec`,
    );
  }
  const raw = kind === 'blank' ? { width: spec.empty.width, height: 0 } : { width: spec.layout.width, height };
  const resized = factor === 1 ? raw : spec.resize.fit === 'free' ? shrink(spec, raw, factor) : shrinkToGrid(spec, raw, factor);
  return { raw, resized, bordered: border(spec, resized) };
}

function shrink({ resize: { minimum } }: RenderSpec, { width, height }: Size, factor: number): Size {
  const root = Math.sqrt(factor);
  return { width: Math.max(minimum, Math.trunc(width / root)), height: Math.max(minimum, Math.trunc(height / root)) };
}

function shrinkToGrid(spec: RenderSpec, { width, height }: Size, factor: number): Size {
  const { unit, minimum } = spec.resize;
  const around = 2 * spec.border;
  const least = Math.ceil((minimum + around) / unit);
  const across = Math.max(least, Math.floor((width + around) / Math.sqrt(factor) / unit)) * unit - around;
  if (across >= width) return { width, height };
  return { width: across, height: Math.max(1, Math.round((height * across) / width)) };
}

function border(spec: RenderSpec, { width, height }: Size): Size {
  const [across, down] = [width + 2 * spec.border, height + 2 * spec.border];
  const { fit, unit, minimumArea } = spec.resize;
  if (fit === 'free') return { width: across, height: down };
  const wide = Math.ceil(across / unit) * unit;
  const least = Math.max(down, minimumArea / wide);
  return { width: wide, height: Math.ceil(least / unit) * unit };
}
