import { composeHistory, type HistoryImage } from '../../images/compose-history.ts';
import { RenderRefused } from '../../images/history-sizes.ts';
import type { RenderSpec } from '../../images/render-spec.ts';
import type { RenderedSegment } from '../../images/rendered-segment.ts';
import { segmentDigest } from '../../images/segment-digest.ts';
import type { Db } from '../../postgres/database.ts';
import {
  AT_ONCE,
  type DamagedSegments,
  type DrawingWorld,
  drawRecordedSegments,
  readDrawableSpec,
  segmentDamage,
  type UndrawnSegments,
} from './draw-recorded-segments.ts';
import type { HistoryImageRecord } from './read-history-images.ts';
import { readHistory, readSegments } from './read-segments.ts';

export type RebuiltImage = { readonly kind: 'image'; readonly image: HistoryImage } | UndrawnSegments;

const PIXEL_LIMIT = 2 ** 25; // of the stack before the resize: about 85,000 lines at the width of a history, some 0.7 s

/**
 * Draws the image that a step was shown again, from the record alone: spec, texts of the segments, factor. Everything is compared
 * with its name: the spec and each segment's text before it is drawn, the image at the end, and when that differs each segment's
 * pixels, so that the answer names what is damaged. Bounded in memory and in pixels, whatever the record says.
 */
export async function rebuildImage(world: DrawingWorld, record: HistoryImageRecord): Promise<RebuiltImage> {
  const drawn = await drawAgain(world, record);
  if (drawn.kind !== 'image' || drawn.image.imageId === record.id) return drawn;
  const { image, segments } = drawn;
  return (
    (await findOther(world.db, segments)) ?? { kind: 'damaged', what: 'image', id: record.id, detail: differs(image, record) }
  );
}

/**
 * Draws the history that a step was shown as it would be at another compression factor: there is no id to compare the whole
 * with, but its spec and texts are compared with theirs.
 */
export async function redrawImage(world: DrawingWorld, record: HistoryImageRecord, factor: number): Promise<RebuiltImage> {
  return drawAgain(world, { ...record, factor });
}

async function drawAgain(
  world: DrawingWorld,
  record: HistoryImageRecord,
): Promise<
  | { readonly kind: 'image'; readonly image: HistoryImage; readonly segments: ReadonlyMap<string, RenderedSegment> }
  | UndrawnSegments
> {
  const spec = await readDrawableSpec(world.db, record.renderSpecId);
  if (spec.kind === 'damaged') return spec;
  const history = await readHistory(world.db, record);
  const recordedSegments = await drawRecordedSegments(world, spec.spec, [...new Set(history)]);
  if (recordedSegments.kind !== 'drawn') return recordedSegments;
  const segments = history.map((id) => recordedSegments.segments.get(id)).filter((segment) => segment !== undefined);
  const image = compose(spec.spec, segments, record);
  if (typeof image === 'string') return { kind: 'damaged', what: 'image', id: record.id, detail: image };
  const { width, height } = image.raw;
  if (width * height > PIXEL_LIMIT)
    return { kind: 'too-large', detail: `${width} × ${height} px are stacked, over ${PIXEL_LIMIT} px` };
  return { kind: 'image', image, segments: recordedSegments.segments };
}

function compose(
  spec: RenderSpec,
  segments: readonly RenderedSegment[],
  { history, factor }: HistoryImageRecord,
): HistoryImage | string {
  try {
    return composeHistory(spec, segments, factor, history === 'blank' ? 'blank' : 'absent');
  } catch (error) {
    if (error instanceof RenderRefused) return `cannot be made from what is on record: ${error.message}`;
    throw error;
  }
}

/** Finds the first segment whose pixels are other than recorded. */
async function findOther(db: Db, drawn: ReadonlyMap<string, RenderedSegment>): Promise<DamagedSegments | undefined> {
  const ids = [...drawn.keys()];
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    for (const { id, rgb } of await readSegments(db, ids.slice(from, from + AT_ONCE))) {
      const segment = drawn.get(id);
      if (segment && segmentDigest(segment) !== rgb)
        return segmentDamage(id, `has pixels of SHA-256 ${segmentDigest(segment)} when it is drawn, not ${rgb} as recorded`);
    }
  }
  return undefined;
}

function differs({ width, height, imageId }: HistoryImage, record: HistoryImageRecord): string {
  return `step ${record.stepId} was shown ${record.width} × ${record.height} px; its spec, segments and factor ${record.factor} give ${imageId} of ${width} × ${height} px`;
}
