import type { ImageShownFragment } from '../../../graphql/studio/generated/operations.ts';

type Segment = ImageShownFragment['segments'][number];

/** Where a segment lies in its image, in pixels of it. */
export interface Outline {
  readonly segment: Segment;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/**
 * Returns where the segments of a history image lie: as they are stacked when it is drawn, the oldest ones left out where a limit
 * says so. None where the record does not say how tall each is.
 */
export function outlinesOf({ segments, cutSegments, raw, resized, renderSpec }: ImageShownFragment): readonly Outline[] {
  const drawn = segments.slice(cutSegments);
  if (raw.height === 0 || drawn.some(({ height }) => height === null)) return [];
  const border = borderOf(renderSpec?.spec);
  const scale = resized.height / raw.height;
  let top = raw.height - drawn.reduce((sum, { height }) => sum + (height ?? 0), 0); // below the line that says what is left out
  if (top < 0) return [];
  return drawn.map((segment) => {
    const height = segment.height ?? 0;
    const outline = { segment, left: border, top: border + top * scale, width: resized.width, height: height * scale };
    top += height;
    return outline;
  });
}

function borderOf(spec: unknown): number {
  const { border } = (spec ?? {}) as { readonly border?: unknown };
  return typeof border === 'number' ? border : 0;
}
