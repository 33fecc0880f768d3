/** Returns an image as a PNG; undefined where the record does not give it, or not any more. */
export type ReadImage = (id: string) => Promise<Uint8Array | undefined>;

const URL_OF_IMAGE = /^\/images\/([0-9a-f]{64})\.png$/;
const NO_IMAGE = 'data:,'; // loads nothing: the view says that there is no image

/** Replaces the address of every image in a value by the image, while there is room. */
export async function embedImages(
  within: object,
  read: ReadImage,
  bytes: number,
): Promise<{ readonly leftOut: number; readonly missing: number }> {
  const found = new Map<string, { url: string }[]>();
  collect(within, found);
  let [left, leftOut, missing] = [bytes, 0, 0];
  for (const [id, places] of found) {
    const png = left > 0 ? await read(id) : undefined;
    if (left <= 0 || (png && png.length > left)) leftOut++;
    else if (!png) missing++;
    const shown = png && png.length <= left ? `data:image/png;base64,${Buffer.from(png).toString('base64')}` : NO_IMAGE;
    if (shown !== NO_IMAGE) left -= png?.length ?? 0;
    for (const place of places) place.url = shown;
  }
  return { leftOut, missing };
}

/** Collects the objects of answers that have the address of an image. */
function collect(value: unknown, found: Map<string, { url: string }[]>): void {
  if (typeof value !== 'object' || value === null) return;
  if ('url' in value && typeof value.url === 'string') {
    const id = URL_OF_IMAGE.exec(value.url)?.[1];
    if (id !== undefined) found.set(id, [...(found.get(id) ?? []), value as { url: string }]);
  }
  for (const each of Object.values(value)) collect(each, found);
}
