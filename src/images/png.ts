import sharp from 'sharp';
import type { RgbImage } from './lanczos.ts';

/** Makes a PNG of an image. Equal pixels are promised, equal PNG bytes are not: versions of zlib differ. */
export async function encodePng({ width, height, rgb }: RgbImage): Promise<Uint8Array> {
  return sharp(rgb, { raw: { width, height, channels: 3 }, limitInputPixels: false })
    .png({ compressionLevel: 6 })
    .toBuffer();
}

/** Reads the pixels of a PNG; a transparent one is laid on white. @throws Error when the bytes are no image. */
export async function decodePng(png: Uint8Array): Promise<RgbImage> {
  const { data, info } = await sharp(png)
    .flatten({ background: '#fff' })
    .toColourspace('srgb')
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, rgb: data };
}
