import { z } from 'zod';
import type { BlobStore } from '../blobs/blob-store.ts';
import { sha256 } from '../events/schemas/values.ts';
import { encodePng } from '../images/png.ts';
import { SegmentCache } from '../images/segment-cache.ts';
import type { Db } from '../postgres/database.ts';
import { isForgotten } from '../postgres/stream-keys.ts';
import { findHistoryImage, type HistoryImageRecord } from '../projections/images/read-history-images.ts';
import { type RebuiltImage, rebuildImage, redrawImage } from '../projections/images/rebuild-image.ts';
import { findPicture, type OpenedPicture, openPicture, type PictureRecord } from '../projections/pictures/read-pictures.ts';
import { visibleTo } from '../projections/visible-to.ts';
import { limitOf } from '../runtime/limit.ts';
import { type Logger, SILENT } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import { addSegmentCacheGauges } from './gauges.ts';
import { createGate } from './ingest/gate.ts';
import { refusals } from './openapi.ts';
import { type Reply, refuse } from './reply.ts';

export interface ImageEndpointOptions {
  readonly db: Db;
  readonly blobs: BlobStore;
  readonly metrics: Metrics;
  readonly logger?: Logger;
  readonly segmentCache?: SegmentCache;
}

const PNG = { type: 'string', contentMediaType: 'image/png' };
const KEPT = {
  etag: 'The id in quotes; with `@` and the factor where one is asked for.',
  'cache-control': 'Always `private, max-age=31536000, immutable`.',
};
const LARGEST_FACTOR = 100;
const LANES = 2; // drawing holds the event loop for some milliseconds an image: more at once would only hold more memory
const IN_FLIGHT = 100; // a page shows some dozens of images; what is beyond comes back

/**
 * Makes the endpoint for images. Pictures of observations are on record. For a history, it finds a step that was shown the
 * image, draws it again from its segments and compares it with its id; at another compression factor, where one is asked for. An
 * image never changes, so it may be kept for ever (its id is the ETag). A record that no image comes out of is 500, with what
 * is damaged named.
 */
export function imageEndpoint(options: ImageEndpointOptions): Endpoint {
  const { db, blobs, metrics, logger = SILENT, segmentCache: cache = new SegmentCache() } = options;
  const gate = createGate(IN_FLIGHT);
  const inLane = limitOf(LANES);
  const rebuilt = metrics.counter('images_rebuilt_total', 'History images drawn again from the record', ['outcome']);
  addSegmentCacheGauges(metrics, cache);
  const world = { blobs, keys: db, draw: (...drawn: Parameters<SegmentCache['get']>) => cache.get(...drawn).entry.segment };

  return endpoint({
    method: 'GET',
    path: '/images/{id}.png',
    needs: ['read'],
    summary:
      'The history that a step was shown, drawn again and compared with its id, or at another compression factor; or a picture of an observation.',
    // Nothing of a path reaches a file system, and what is no SHA-256 is not looked up.
    params: z.object({ id: sha256.describe('Id of the image: the SHA-256 of its size and pixels.') }),
    query: z.object({
      factor: z.coerce
        .number()
        .min(1)
        .max(LARGEST_FACTOR)
        .optional()
        .describe('The compression factor to draw a history at; the one that the step was shown it at unless given.'),
    }),
    headers: z.looseObject({ 'if-none-match': z.string().optional().describe('A list of tags, or `*`.') }),
    answers: {
      200: { description: 'The image. It never changes.', content: { 'image/png': PNG }, headers: KEPT },
      304: { description: 'The client has it.', headers: KEPT },
      ...refusals({
        404: 'No step on record was shown this image, and no observation holds it.',
        410: 'The image is forgotten, as the text that it showed.',
        422: 'The image is too large to be drawn here.',
        500: 'The record does not give the image: the message names what is damaged.',
        503: 'Too many images are being drawn: ask again after Retry-After seconds.',
      }),
    },
    async handle({ req, params: { id: imageId }, query: { factor }, principal }) {
      const visible = visibleTo(db, principal);
      const historyImage = await findHistoryImage(visible, imageId);
      const seen = historyImage ? undefined : await findPicture(visible, imageId);
      if (!historyImage && !seen)
        return refuse(404, `no step on record was shown the image ${imageId}`, 'ask GraphQL: step { historyImage { url } }');
      if (seen && factor !== undefined)
        return refuse(404, 'the picture of an observation has no compression factor', 'leave factor out');
      const known = req.headers['if-none-match'];
      const other = factor === undefined || factor === historyImage?.factor ? undefined : factor;
      const tag = other === undefined ? imageId : `${imageId}@${other}`;
      if (historyImage && isKept(known, tag) && !(await isForgotten(db, historyImage.treeId)))
        return { status: 304, headers: headersOf(tag), body: '' };
      const leave = gate();
      if (!leave) return refuse(503, 'too many images are being drawn', 'ask again', { headers: { 'retry-after': '1' } });
      try {
        return await inLane(async () => {
          if (seen) {
            const opened = (await isForgotten(db, seen.treeId))
              ? ({ kind: 'forgotten' } as const)
              : await openPicture(seen, (sha256) => blobs.get(sha256));
            return pictureReply(seen, opened, known);
          }
          if (!historyImage) throw new TypeError('one of both was found');
          const from = { ...world, db: visible };
          const result = await (other === undefined ? rebuildImage(from, historyImage) : redrawImage(from, historyImage, other));
          rebuilt.add(1, { outcome: result.kind });
          return reply(result, historyImage, tag, logger);
        });
      } finally {
        leave();
      }
    },
  });
}

/** A picture of an observation is on record as it is. */
function pictureReply({ imageId, stepId }: PictureRecord, picture: OpenedPicture, known: string | undefined): Reply {
  if (picture.kind === 'forgotten') return refuse(410, `the picture of step ${stepId} is forgotten`, 'nothing brings it back');
  if (picture.kind === 'damaged')
    return refuse(500, `the picture of step ${stepId} ${picture.detail}`, `restore the picture ${imageId}: its blob from a copy`);
  if (isKept(known, imageId)) return { status: 304, headers: headersOf(imageId), body: '' };
  return { status: 200, headers: { 'content-type': 'image/png', ...headersOf(imageId) }, body: picture.picture.png };
}

async function reply(result: RebuiltImage, record: HistoryImageRecord, tag: string, logger: Logger): Promise<Reply> {
  switch (result.kind) {
    case 'image':
      return {
        status: 200,
        headers: { 'content-type': 'image/png', ...headersOf(tag) },
        body: await encodePng(result.image),
      };
    case 'forgotten':
      return refuse(
        410,
        `the image of step ${record.stepId} is forgotten: the text that it showed was`,
        'nothing brings it back',
      );
    case 'too-large':
      return refuse(
        422,
        `the image of step ${record.stepId} is too large to be drawn here: ${result.detail}`,
        'read its text instead',
      );
    case 'damaged': {
      const { what, id, detail } = result;
      logger.error('a history image does not come out of the record', {
        imageId: record.id,
        stepId: record.stepId,
        what,
        id,
        detail,
      });
      const message = `the image of step ${record.stepId} cannot be rebuilt: ${what} ${id} ${detail}`;
      return refuse(500, message, `restore ${what} ${id}: the read models from the log, the blobs from a copy`);
    }
    default:
      return result satisfies never;
  }
}

function headersOf(tag: string): Readonly<Record<string, string>> {
  return { etag: `"${tag}"`, 'cache-control': 'private, max-age=31536000, immutable' };
}

/** Reads If-None-Match (RFC 9110 §13.1.2): `*`, or a list of tags, weak ones too. */
function isKept(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((each) => ['*', `"${tag}"`, `W/"${tag}"`].includes(each.trim()));
}
