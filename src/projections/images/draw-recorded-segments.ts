import type { BlobStore } from '../../blobs/blob-store.ts';
import { textReader } from '../../blobs/read-text.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import { streamOf } from '../../events/stream-of.ts';
import { segmentId } from '../../images/image-id.ts';
import { renderSegment } from '../../images/render-segment.ts';
import { parseRenderSpec, type RenderSpec, renderSpecId } from '../../images/render-spec.ts';
import { type RenderedSegment, segmentBytes } from '../../images/rendered-segment.ts';
import type { Db } from '../../postgres/database.ts';
import { isForgotten } from '../../postgres/stream-keys.ts';
import { readRenderSpecs } from './read-render-specs.ts';
import { readSegments, type SegmentRecord } from './read-segments.ts';

/** What images are drawn from. `draw` may take segments from a cache. */
export interface DrawingWorld {
  readonly db: Db;
  readonly blobs: Pick<BlobStore, 'get'>;
  /** Where the keys of streams lie; `db` unless that shows the rows of some projects alone. */
  readonly keys?: Db;
  readonly draw?: (spec: RenderSpec, text: string) => RenderedSegment;
}

/** Why no image comes out of the record. */
export type UndrawnSegments =
  /** What of it is wrong, and how. */
  | { readonly kind: 'damaged'; readonly what: 'render-spec' | 'segment' | 'image'; readonly id: string; readonly detail: string }
  /** A segment was forgotten. */
  | { readonly kind: 'forgotten'; readonly id: string; readonly detail: string }
  | { readonly kind: 'too-large'; readonly detail: string };
export type DamagedSegments = Extract<UndrawnSegments, { kind: 'damaged' }>;

const DRAWN_LIMIT = 2 ** 27; // bytes of drawn segments
const TEXT_LIMIT = 2 ** 26; // bytes of text from the blob store
export const AT_ONCE = 500; // segments whose texts are in memory together

/** Reads a spec and compares it with its id. */
export async function readDrawableSpec(
  db: Db,
  id: string,
): Promise<{ readonly kind: 'spec'; readonly spec: RenderSpec } | DamagedSegments> {
  const damaged = (detail: string): DamagedSegments => ({ kind: 'damaged', what: 'render-spec', id, detail });
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

/** Draws segments from their recorded texts, each compared with its id before it is drawn. Bounded in memory. */
export async function drawRecordedSegments(
  { db, blobs, keys = db, draw = renderSegment }: DrawingWorld,
  spec: RenderSpec,
  ids: readonly string[],
): Promise<{ readonly kind: 'drawn'; readonly segments: ReadonlyMap<string, RenderedSegment> } | UndrawnSegments> {
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
): Promise<{ readonly kind: 'text'; readonly text: string } | DamagedSegments> {
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

/** Describes what is wrong with a segment. */
export function segmentDamage(id: string, detail: string): DamagedSegments {
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
