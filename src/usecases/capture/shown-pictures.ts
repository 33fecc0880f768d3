import { sha256Hex } from '../../digest/sha256.ts';
import type { CallMessage } from '../../domain/capture/call-message.ts';
import { PICTURE_LIMITS, type Picture, PictureRefused, readPictures } from '../../images/picture.ts';
import { openCache } from '../../runtime/cache.ts';

/** A picture of a request as it is recorded: read, or why it is not. */
export type ShownPicture = Picture | { readonly unread: string };

/** The pictures of a request, by what the program sent: a data URL or an address. */
export type ShownPictures = ReadonlyMap<string, ShownPicture>;

/** What a request shows: its messages, and their pictures. */
export interface ShownRequest {
  readonly messages: readonly CallMessage[];
  readonly pictures: ShownPictures;
}

export type PictureReader = (messages: readonly CallMessage[]) => Promise<ShownPictures>;

const CACHED_BYTES = 64 * 1_048_576; // a program sends the pictures of its whole conversation with each call

/** Opens the reading of pictures that programs show to models. An address is not fetched: it may hold another picture by now. */
export function openPictureReader(): PictureReader {
  const cache = openCache<{ readonly shown: ShownPicture }>({
    maxSize: CACHED_BYTES,
    sizeCalculation: ({ shown }) => 500 + ('png' in shown ? shown.png.length : 0),
  });
  return async (messages) => {
    const found = new Map<string, ShownPicture>();
    for (const { parts } of messages)
      for (const part of parts) {
        if (part.kind !== 'picture' || found.has(part.url)) continue;
        const key = sha256Hex(part.url);
        const shown = cache.get(key)?.shown ?? (await read(part.url));
        cache.set(key, { shown });
        found.set(part.url, shown);
      }
    return found;
  };
}

async function read(url: string): Promise<ShownPicture> {
  if (!url.startsWith('data:')) return { unread: 'an address, which is not fetched: send the picture as a data URL' };
  try {
    const [picture] = await readPictures([url]);
    return picture ?? { unread: 'no picture' };
  } catch (error) {
    if (error instanceof PictureRefused) return { unread: error.message };
    throw error;
  }
}

/** Returns the pictures of messages that were read, in order, as many as one observation holds. */
export function picturesIn(messages: readonly CallMessage[], shown: ShownPictures): readonly Picture[] {
  return messages
    .flatMap(({ parts }) => parts)
    .flatMap((part): Picture[] => {
      const picture = part.kind === 'picture' ? shown.get(part.url) : undefined;
      return picture && 'png' in picture ? [picture] : [];
    })
    .slice(0, PICTURE_LIMITS.count);
}

const OF_CALL = 64; // pictures of one call that no observation holds

/** Returns the pictures of a request that the record does not hold yet, and the ids of those that it holds then. */
export function picturesBesides(
  shown: ShownPictures,
  recorded: ReadonlySet<string>,
): { readonly besides: readonly Picture[]; readonly held: ReadonlySet<string> } {
  const read = [...shown.values()].filter((each) => 'png' in each);
  const byId = new Map(read.map((picture) => [picture.imageId, picture]));
  const besides = [...byId.values()].filter(({ imageId }) => !recorded.has(imageId)).slice(0, OF_CALL);
  return { besides, held: new Set([...recorded, ...besides.map(({ imageId }) => imageId)]) };
}
