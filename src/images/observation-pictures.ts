import type { DataOf } from '../events/catalogue.ts';
import { imageId } from './image-id.ts';
import { decodePng, encodePng } from './png.ts';

/** A picture that an environment or a tool returned. */
export interface Picture {
  /** SHA-256 of size and pixels. */
  readonly imageId: string;
  readonly width: number;
  readonly height: number;
  readonly png: Uint8Array;
}

/** A picture as a program returns it: the bytes of a PNG or JPEG, those in base64, or a data URL; or one that was read. */
export type GivenPicture = Picture | Uint8Array | string;

/** What was given is no picture that can be shown; the message says which and why. */
export class PictureRefused extends Error {
  override readonly name = 'PictureRefused';
}

/** Limits of what one observation shows: servers of models refuse more, and a record should not grow by films. */
export const PICTURE_LIMITS = { count: 16, bytes: 5 * 1024 * 1024, side: 4_096 } as const;

/**
 * Reads the pictures of one observation in their order. Each is kept as the PNG of its pixels, a transparent one laid on white:
 * its id is that of the pixels, whatever file they came in. @throws PictureRefused.
 */
export async function readPictures(given: unknown, most: number = PICTURE_LIMITS.count): Promise<readonly Picture[]> {
  if (!Array.isArray(given)) throw new PictureRefused(`pictures must be a list, not ${given === null ? 'null' : typeof given}`);
  if (given.length > most)
    throw new PictureRefused(
      `${given.length} pictures are more than ${most}, of the ${PICTURE_LIMITS.count} of one observation: show fewer at once`,
    );
  return Promise.all(given.map((each: unknown, i) => readPicture(each, `picture ${i + 1}`)));
}

async function readPicture(given: unknown, place: string): Promise<Picture> {
  if (isPicture(given)) return given;
  const bytes = bytesOf(given, place);
  if (bytes.length > PICTURE_LIMITS.bytes)
    throw new PictureRefused(`${place} has ${bytes.length} bytes, more than ${PICTURE_LIMITS.bytes}: make it smaller`);
  const size = pictureSize(bytes);
  if (size === null)
    throw new PictureRefused(`${place} is neither a PNG nor a JPEG: it begins with ${hexOf(bytes) || 'nothing'}`);
  if (Math.max(size.width, size.height) > PICTURE_LIMITS.side)
    throw new PictureRefused(
      `${place} has ${size.width} × ${size.height} pixels, more than ${PICTURE_LIMITS.side} on a side: make it smaller`,
    );
  const image = await decodePng(bytes).catch((cause: unknown) => {
    const [said] = (cause instanceof Error ? cause.message : String(cause)).split('\n');
    throw new PictureRefused(
      `${place} cannot be read (${said}): its file is damaged or cut off, return all bytes of a PNG or JPEG`,
      { cause },
    );
  });
  const { width, height, rgb } = image;
  const png = await encodePng(image);
  if (png.length > PICTURE_LIMITS.bytes)
    throw new PictureRefused(
      `${place} has ${png.length} bytes as a PNG, which is recorded, more than ${PICTURE_LIMITS.bytes}: make it smaller`,
    );
  return { imageId: imageId(width, height, rgb), width, height, png };
}

/** The pictures of an observation as they are recorded; nothing where there are none. */
export function pictureData(pictures: readonly Picture[]): Pick<DataOf<'StepTaken'>, 'pictures'> {
  if (pictures.length === 0) return {};
  return {
    pictures: pictures.map(({ imageId, width, height, png }) => {
      const bytes = Buffer.from(png).toString('base64');
      return { imageId, width, height, png: { dtype: 'uint8' as const, length: png.length, bytes } };
    }),
  };
}

/** Whether a picture was read already. */
export function isPicture(given: unknown): given is Picture {
  return typeof given === 'object' && given !== null && 'imageId' in given && 'png' in given && given.png instanceof Uint8Array;
}

const BASE64 = /^[A-Za-z0-9+/\s]*={0,2}\s*$/;

function bytesOf(given: unknown, place: string): Uint8Array {
  if (given instanceof Uint8Array) return given;
  if (typeof given !== 'string')
    throw new PictureRefused(`${place} is of the type ${typeof given}: return bytes, base64 or a data URL`);
  const url = /^data:([^,]*),/.exec(given.slice(0, 200));
  if (url && !/;base64$/i.test(url[1] ?? '')) throw new PictureRefused(`${place} is a data URL that is not in base64`);
  const text = url ? given.slice(url[0].length) : given;
  if (text.length > PICTURE_LIMITS.bytes * 2)
    throw new PictureRefused(`${place} has more than ${PICTURE_LIMITS.bytes} bytes: make it smaller`);
  if (!BASE64.test(text)) throw new PictureRefused(`${place} is no base64: it begins with ${JSON.stringify(given.slice(0, 40))}`);
  return Buffer.from(text, 'base64');
}

/** Reads the size in the head of a PNG or JPEG, before anything is unpacked; null where the bytes are neither. */
export function pictureSize(bytes: Uint8Array): { readonly width: number; readonly height: number } | null {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (head.length >= 24 && head.readUInt32BE(0) === 0x89504e47 && head.readUInt32BE(4) === 0x0d0a1a0a)
    return { width: head.readUInt32BE(16), height: head.readUInt32BE(20) };
  if (head.length < 4 || head.readUInt16BE(0) !== 0xffd8) return null;
  for (let at = 2; at + 9 <= head.length; ) {
    if (head[at] !== 0xff) return null;
    const marker = head[at + 1] ?? 0;
    // a frame header (C0 to CF) without the tables C4, C8 and CC
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return { width: head.readUInt16BE(at + 7), height: head.readUInt16BE(at + 5) };
    at += marker === 0xff ? 1 : 2 + head.readUInt16BE(at + 2);
  }
  return null;
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, 8)).toString('hex');
}
