import type { Envelope } from '../../events/envelope.ts';
import { PICTURE_LIMITS, pictureSize } from '../../images/picture.ts';
import type { Problem } from '../reply.ts';

type Wrong = Pick<Problem, 'path' | 'message' | 'remedy'>;

const REMEDY = 'send each picture as the PNG of its pixels, with its own width and height';

/**
 * Finds pictures of an event that nobody can be shown: bytes that are no PNG, or of another length or size than they say. Pixels
 * are compared with the id, and bytes in the blob store looked at, when a picture is read.
 */
export function wrongPictures(event: Envelope): Wrong | null {
  if (event.type !== 'TreeOpened' && event.type !== 'StepTaken' && event.type !== 'CallCaptured') return null;
  for (const [i, { width, height, png }] of (event.data.pictures ?? []).entries()) {
    const message = faultOf({ width, height }, png);
    if (message !== null) return { path: `data.pictures.${i}.png`, message, remedy: REMEDY };
  }
  return null;
}

type Shown = NonNullable<Extract<Envelope, { type: 'StepTaken' }>['data']['pictures']>[number];

function faultOf({ width, height }: Pick<Shown, 'width' | 'height'>, { dtype, length, bytes }: Shown['png']): string | null {
  const found = typeof bytes === 'string' ? Buffer.byteLength(bytes, 'base64') : bytes.size;
  if (dtype !== 'uint8') return `has the type ${dtype}, not uint8`;
  if (found !== length || length === 0) return `has ${found} bytes and says ${length}`;
  if (length > PICTURE_LIMITS.bytes) return `has ${length} bytes, more than ${PICTURE_LIMITS.bytes}`;
  if (Math.max(width, height) > PICTURE_LIMITS.side) return `is ${width} × ${height}, more than ${PICTURE_LIMITS.side} on a side`;
  if (typeof bytes !== 'string') return null;
  const head = Buffer.from(bytes.slice(0, 64), 'base64');
  const size = head[0] === 0x89 ? pictureSize(head) : null;
  if (size === null) return 'is no PNG';
  if (size.width === width && size.height === height) return null;
  return `has ${size.width} × ${size.height} pixels and says ${width} × ${height}`;
}
