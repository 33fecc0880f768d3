import type { BlobStore } from '../../blobs/blob-store.ts';
import { textReader } from '../../blobs/read-text.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import { streamOf } from '../../events/stream-of.ts';
import { composeHistory, type HistoryImage } from '../../images/compose-history.ts';
import { RenderRefused } from '../../images/history-sizes.ts';
import { segmentId } from '../../images/image-id.ts';
import { renderSegment } from '../../images/render-segment.ts';
import { parseRenderSpec, type RenderSpec, renderSpecId } from '../../images/render-spec.ts';
import { type RenderedSegment, segmentBytes } from '../../images/rendered-segment.ts';
import { segmentDigest } from '../../images/segment-digest.ts';
import type { Db } from '../../postgres/database.ts';
import { isForgotten } from '../../postgres/stream-keys.ts';
import type { HistoryImageRecord } from './read-history-images.ts';
import { readRenderSpecs } from './read-render-specs.ts';
import { readHistories, readSegments, type SegmentRecord } from './read-segments.ts';

/** What images are rebuilt from. `draw` may take segments from a cache. */
export interface RebuildWorld {
  readonly db: Db;
  readonly blobs: Pick<BlobStore, 'get'>;
  /** Where the keys of streams lie; `db` unless that shows the rows of some projects alone. */
  readonly keys?: Db;
  readonly draw?: (spec: RenderSpec, text: string) => RenderedSegment;
}

export type Rebuilt =
  | { readonly kind: 'image'; readonly image: HistoryImage }
  /** The record does not give the image: what of it is wrong, and how. */
  | { readonly kind: 'damaged'; readonly what: 'render-spec' | 'segment' | 'image'; readonly id: string; readonly detail: string }
  /** A segment was forgotten. */
  | { readonly kind: 'forgotten'; readonly id: string; readonly detail: string }
  | { readonly kind: 'too-large'; readonly detail: string };

const PIXEL_LIMIT = 2 ** 25; // of the stack before the resize: about 85,000 lines at the width of a history, some 0.7 s
const DRAWN_LIMIT = 2 ** 27; // bytes of drawn segments
const TEXT_LIMIT = 2 ** 26; // bytes of text from the blob store
const AT_ONCE = 500; // segments whose texts are in memory together

/**
 * Draws the image that a step was shown again, from the record alone: spec, texts of the segments, factor. Everything is compared
 * with its name: the spec and each segment's text before it is drawn, the image at the end, and when that differs each segment's
 * pixels, so that the answer names what is damaged. Bounded in memory and in pixels, whatever the record says.
 */
export async function rebuildImage(world: RebuildWorld, shown: HistoryImageRecord): Promise<Rebuilt> {
  const spec = await readSpec(world.db, shown.renderSpecId);
  if (spec.kind === 'damaged') return spec;
  const history = (await readHistories(world.db, [shown.stepId])).get(shown.stepId) ?? [];
  const drawn = await drawSegments(world, spec.spec, [...new Set(history)]);
  if (drawn.kind !== 'drawn') return drawn;
  const segments = history.map((id) => drawn.segments.get(id)).filter((segment) => segment !== undefined);
  const image = compose(spec.spec, segments, shown);
  if (typeof image === 'string') return { kind: 'damaged', what: 'image', id: shown.id, detail: image };
  const { width, height } = image.raw;
  if (width * height > PIXEL_LIMIT)
    return { kind: 'too-large', detail: `${width} × ${height} px are stacked, over ${PIXEL_LIMIT} px` };
  if (image.imageId === shown.id) return { kind: 'image', image };
  return (
    (await findOther(world.db, drawn.segments)) ?? { kind: 'damaged', what: 'image', id: shown.id, detail: differs(image, shown) }
  );
}

type Damaged = Extract<Rebuilt, { kind: 'damaged' }>;

async function readSpec(db: Db, id: string): Promise<{ readonly kind: 'spec'; readonly spec: RenderSpec } | Damaged> {
  const damaged = (detail: string): Damaged => ({ kind: 'damaged', what: 'render-spec', id, detail });
  const [record] = await readRenderSpecs(db, [id]);
  if (!record) return damaged('is not on record; was its RenderSpecRegistered appended?');
  let spec: RenderSpec;
  try {
    spec = parseRenderSpec(record.spec);
  } catch (error) {
    return damaged(`cannot be drawn by this version of the renderer: ${messageOf(error)}`);
  }
  return renderSpecId(spec) === id ? { kind: 'spec', spec } : damaged('is not what its id is the SHA-256 of');
}

async function drawSegments(
  { db, blobs, keys = db, draw = renderSegment }: RebuildWorld,
  spec: RenderSpec,
  ids: readonly string[],
): Promise<
  { readonly kind: 'drawn'; readonly segments: ReadonlyMap<string, RenderedSegment> } | Exclude<Rebuilt, { kind: 'image' }>
> {
  const segments = new Map<string, RenderedSegment>();
  let [bytes, textBytes] = [0, 0];
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const wanted = ids.slice(from, from + AT_ONCE);
    const records = new Map((await readSegments(db, wanted)).map((record) => [record.id, record]));
    for (const id of wanted) {
      const record = records.get(id);
      if (!record) {
        if (await isForgotten(keys, streamOf('SegmentRendered', { segmentId: id }) ?? '')) {
          return { kind: 'forgotten', id, detail: `segment ${id} is forgotten` };
        }
        return segmentDamage(id, 'is not on record; was its SegmentRendered appended?');
      }
      textBytes += record.blobs?.text?.size ?? 0;
      if (textBytes > TEXT_LIMIT) return { kind: 'too-large', detail: `its texts are over ${TEXT_LIMIT} bytes` };
      const text = await textOf(record, blobs);
      if (text.kind === 'damaged') return text;
      if (segmentId(renderSpecId(spec), text.text) !== id)
        return segmentDamage(id, 'holds a text that is not the one its id is the hash of');
      const segment = draw(spec, text.text);
      bytes += segmentBytes(segment);
      if (bytes > DRAWN_LIMIT) return { kind: 'too-large', detail: `its drawn segments are over ${DRAWN_LIMIT} bytes` };
      segments.set(id, segment);
    }
  }
  return { kind: 'drawn', segments };
}

async function textOf(
  { id, text, blobs: references }: SegmentRecord,
  blobs: Pick<BlobStore, 'get'>,
): Promise<{ readonly kind: 'text'; readonly text: string } | Damaged> {
  const reference = references?.text;
  if (!reference) return { kind: 'text', text };
  try {
    return { kind: 'text', text: await textReader(blobs)(reference.blob) };
  } catch (error) {
    if (!isBlobDamage(error)) throw error;
    return segmentDamage(
      id,
      `has its text in the blob store as ${reference.blob}, which is no longer there as it was: ${messageOf(error)}`,
    );
  }
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
async function findOther(db: Db, drawn: ReadonlyMap<string, RenderedSegment>): Promise<Damaged | undefined> {
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

function differs({ width, height, imageId }: HistoryImage, shown: HistoryImageRecord): string {
  return `step ${shown.stepId} was shown ${shown.width} × ${shown.height} px; its spec, segments and factor ${shown.factor} give ${imageId} of ${width} × ${height} px`;
}

function segmentDamage(id: string, detail: string): Damaged {
  return { kind: 'damaged', what: 'segment', id, detail };
}

function isBlobDamage(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'name' in error &&
    (error.name === 'BlobMissing' || error.name === 'BlobCorrupt')
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? cutText(error.message, 500) : String(error);
}
