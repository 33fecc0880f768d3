import type { BlobStore } from '../../blobs/blob-store.ts';
import { blobRef } from '../../events/schemas/values.ts';
import type { Problem } from '../reply.ts';
import type { Sent } from './check-events.ts';

/**
 * Finds references to payloads that the blob store does not hold: an event must not point at nothing.
 * @param foreign returns those of some payloads that belong to other projects, which are not there for who sends the event.
 */
export async function missingBlobs(
  events: readonly Sent[],
  blobs: BlobStore,
  foreign: (sha256s: readonly string[]) => Promise<ReadonlySet<string>>,
): Promise<readonly Problem[]> {
  const naming = events.filter(({ event }) => namesBlob(event.data));
  const named = naming.flatMap(({ event }) => [...blobsOf(event.data, 'data')].map(({ sha256 }) => sha256));
  const hidden = await foreign(named);
  const problems: Problem[] = [];
  const held = new Map<string, boolean>();
  for (const { index, event } of naming) {
    for (const { path, sha256 } of blobsOf(event.data, 'data')) {
      const there = held.get(sha256) ?? (!hidden.has(sha256) && (await blobs.has(sha256)));
      held.set(sha256, there);
      if (there) continue;
      problems.push({
        index,
        id: event.id,
        path,
        message: `no payload ${sha256} is in the blob store`,
        remedy: 'send the text or the bytes inline, of any size: the server moves them there',
      });
    }
  }
  return problems;
}

/** Whether anything within looks like a reference: few events hold one, and paths are made of those alone. */
function namesBlob(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(namesBlob);
  if ('blob' in value) return true;
  const object = value as Record<string, unknown>;
  for (const key in object) if (namesBlob(object[key])) return true;
  return false;
}

/** Only what has exactly the form of a reference is one; the nesting was bounded before. */
function* blobsOf(value: unknown, path: string): Generator<{ readonly path: string; readonly sha256: string }> {
  if (typeof value !== 'object' || value === null) return;
  if ('blob' in value) {
    const reference = blobRef.safeParse(value);
    if (reference.success) yield { path, sha256: reference.data.blob };
    return;
  }
  for (const [key, item] of Object.entries(value)) yield* blobsOf(item, `${path}.${key}`);
}
