import { describe, expect, test } from '@jest/globals';
import sharp from 'sharp';
import { imageId } from './image-id.ts';
import { PICTURE_LIMITS, readPictures } from './observation-pictures.ts';
import { decodePng } from './png.ts';

const rgb = Uint8Array.from({ length: 4 * 3 * 3 }, (_, i) => (i * 37) % 256);
const raw = () => sharp(rgb, { raw: { width: 4, height: 3, channels: 3 } });
const png = await raw().png().toBuffer();
const jpeg = await raw().jpeg().toBuffer();

describe('readPictures', () => {
  test('bytes, base64 and data URLs of one picture have one id, that of its pixels', async () => {
    const base64 = png.toString('base64');
    const read = await readPictures([new Uint8Array(png), base64, `data:image/png;base64,${base64}`]);
    expect(read.map((each) => each.imageId)).toEqual(Array(3).fill(imageId(4, 3, rgb)));
    expect(Buffer.from((await decodePng(read[0]?.png ?? png)).rgb)).toEqual(Buffer.from(rgb));
  });

  test('a JPEG is kept as the PNG of its pixels', async () => {
    const [read] = await readPictures([jpeg]);
    const { data } = await sharp(jpeg).raw().toBuffer({ resolveWithObject: true });
    expect(read).toMatchObject({ width: 4, height: 3, imageId: imageId(4, 3, data) });
    expect(
      Buffer.from(read?.png ?? [])
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG');
  });

  test('a picture that was read stays as it is', async () => {
    const read = await readPictures([png]);
    expect((await readPictures(read))[0]).toBe(read[0]);
  });

  const large = Buffer.concat([png.subarray(0, 16), Buffer.from([0, 0, 0x20, 0, 0, 0, 0, 1]), png.subarray(24)]);
  test.each<[string, unknown, string]>([
    ['what is no list', 'x', 'pictures must be a list, not string'],
    ['too many', Array(17).fill(png), '17 pictures are more than 16'],
    ['text that is no base64', ['<html>'], 'picture 1 is no base64: it begins with "<html>"'],
    ['a data URL that is not in base64', [png, 'data:image/svg+xml,<svg/>'], 'picture 2 is a data URL that is not in base64'],
    ['a GIF', [Buffer.from('GIF89a..')], 'picture 1 is neither a PNG nor a JPEG: it begins with 474946'],
    ['an object', [{ png: 1 }], 'picture 1 is of the type object'],
    ['a file that is cut off', [png.subarray(0, 40)], '): its file is damaged or cut off, return all bytes of a PNG or JPEG'],
    ['too many bytes', [new Uint8Array(PICTURE_LIMITS.bytes + 1)], 'more than 5242880: make it smaller'],
    ['too many pixels, before they are unpacked', [large], '8192 × 1 pixels, more than 4096 on a side'],
  ])('%s is refused by its place and with the reason', async (_, given, message) => {
    await expect(readPictures(given)).rejects.toThrow(message);
  });
});
