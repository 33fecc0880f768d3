import type { RgbImage } from './lanczos.ts';

/** Makes a PNG of an image. Equal pixels are promised, equal PNG bytes are not: versions of zlib differ. */
export async function encodePng({ width, height, rgb }: RgbImage): Promise<Uint8Array> {
  const sharp = await loadSharp();
  return sharp(rgb, { raw: { width, height, channels: 3 }, limitInputPixels: false })
    .png({ compressionLevel: 6 })
    .toBuffer();
}

/** Reads the pixels of a PNG; a transparent one is laid on white. @throws Error when the bytes are no image. */
export async function decodePng(png: Uint8Array): Promise<RgbImage> {
  const sharp = await loadSharp();
  const { data, info } = await sharp(png)
    .flatten({ background: '#fff' })
    .toColourspace('srgb')
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, rgb: data };
}

/** Most processes draw nothing, and loading it takes as long as a short command. */
async function loadSharp() {
  return (await import('sharp')).default;
}
