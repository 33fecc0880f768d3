import type { DataOf } from '../events/catalogue.ts';
import type { Picture } from './picture.ts';

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
