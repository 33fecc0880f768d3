import { limitOf } from '../runtime/limit.ts';
import { type BlobStore, isLostBlob, openBlobStore } from './blob-store.ts';
import type { ObjectStore } from './object-store.ts';

export interface CopiedBlobs {
  /** Blobs that were looked at so far; `present` of them were in the target already. */
  readonly blobs: number;
  readonly present: number;
  readonly copied: number;
  readonly bytes: number;
  /** Names of blobs whose content is another than their name says: they are not copied. */
  readonly damaged: readonly string[];
}

export interface CopyOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (soFar: CopiedBlobs) => void;
}

const AT_ONCE = 8;
const AHEAD = 256;

/**
 * Copies the blobs of a store to another one, whose blobs stay. Each is read, compared with its name, and written whole; what the
 * target holds in the same size is not read again, so a copy that was killed goes on where it was.
 */
export async function copyBlobs(from: ObjectStore, to: ObjectStore, { signal, onProgress }: CopyOptions): Promise<CopiedBlobs> {
  const [source, target] = [openBlobStore(from), openBlobStore(to)];
  const sizes = new Map<string, number>();
  for await (const { name, bytes } of target.list()) sizes.set(name, bytes);
  let [blobs, present, copied, bytes] = [0, 0, 0, 0];
  const damaged: string[] = [];
  const soFar = (): CopiedBlobs => ({ blobs, present, copied, bytes, damaged });
  let hasFailed = false;
  const copyOne = async (name: string): Promise<void> => {
    signal.throwIfAborted();
    if (hasFailed) return;
    const content = await readUnlessLost(source, name);
    if (content === null) damaged.push(name);
    else {
      await target.put(content, 'application/octet-stream');
      copied++;
      bytes += content.byteLength;
    }
    onProgress(soFar());
  };
  const inTurn = limitOf(AT_ONCE);
  const running = new Set<Promise<void>>();
  try {
    for await (const blob of source.list()) {
      signal.throwIfAborted();
      blobs++;
      if (sizes.get(blob.name) === blob.bytes) {
        present++;
        continue;
      }
      const work = inTurn(() => copyOne(blob.name));
      running.add(work);
      void work.then(
        () => running.delete(work),
        () => undefined, // the wait below throws it
      );
      if (running.size >= AHEAD) await Promise.race(running);
    }
    await Promise.all(running);
  } catch (error) {
    hasFailed = true;
    await Promise.allSettled(running); // the next attempt has none beside it
    throw error;
  }
  return soFar();
}

async function readUnlessLost(blobs: BlobStore, name: string): Promise<Uint8Array | null> {
  try {
    return await blobs.get(name);
  } catch (error) {
    if (isLostBlob(error)) return null;
    throw error;
  }
}
