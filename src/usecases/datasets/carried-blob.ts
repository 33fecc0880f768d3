import { z } from 'zod';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { sha256Hex } from '../../digest/sha256.ts';
import { blobReferences } from '../../events/blob-references.ts';
import type { Envelope } from '../../events/envelope.ts';
import { name, sha256 } from '../../events/schemas/values.ts';

/**
 * A payload that an event names and cannot hold inline: it travels in a line of its own, once per file, before the first event
 * that names it.
 */
export interface CarriedBlob {
  readonly sha256: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

const line = z.strictObject({ blob: z.strictObject({ sha256, mediaType: name, base64: z.base64() }) });

/**
 * Reads the payloads that events name and `seen` does not hold yet. One that only free-form JSON names and that the store lacks
 * is no payload.
 */
export async function readCarried(
  events: readonly Envelope[],
  blobs: BlobStore,
  seen: Set<string>,
): Promise<readonly CarriedBlob[]> {
  const carried: CarriedBlob[] = [];
  for (const event of events) {
    for (const { reference, part } of blobReferences(event)) {
      const { blob, mediaType } = reference;
      if (seen.has(blob) || (part === 'free-form' && !(await blobs.has(blob)))) continue;
      seen.add(blob);
      carried.push({ sha256: blob, mediaType, bytes: await blobs.get(blob) });
    }
  }
  return carried;
}

/** Writes a payload as a line. */
export function blobLine({ sha256: digest, mediaType, bytes }: CarriedBlob): string {
  return `${JSON.stringify({ blob: { sha256: digest, mediaType, base64: Buffer.from(bytes).toString('base64') } })}\n`;
}

/** Reads such a line; a text says what is wrong with it. Undefined for a line of another kind. */
export function parseBlobLine(value: unknown): CarriedBlob | string | undefined {
  if (typeof value !== 'object' || value === null || !('blob' in value)) return undefined;
  const parsed = line.safeParse(value);
  if (!parsed.success)
    return `the payload does not fit: ${parsed.error.issues[0]?.path.join('.')} ${parsed.error.issues[0]?.message}`;
  const { sha256: digest, mediaType, base64 } = parsed.data.blob;
  const bytes = Buffer.from(base64, 'base64');
  const found = sha256Hex(bytes);
  return found === digest ? { sha256: digest, mediaType, bytes } : `the payload ${digest} has the content of ${found}`;
}
