import { createHash } from 'node:crypto';
import { BlobCorrupt, BlobMissing, type BlobStore } from '../blobs/blob-store.ts';

/** A content-addressed store in memory, with the promises of the port; a test may damage or lose what it holds. */
export class MemoryBlobs implements BlobStore {
  readonly held = new Map<string, Uint8Array>();

  async put(bytes: Uint8Array, mediaType: string) {
    const blob = sha256(bytes);
    this.held.set(blob, Uint8Array.from(bytes));
    return { blob, size: bytes.length, mediaType };
  }
  async get(name: string): Promise<Uint8Array> {
    const bytes = this.held.get(name);
    if (!bytes) throw new BlobMissing(`no blob ${name}`);
    if (sha256(bytes) !== name) throw new BlobCorrupt(`blob ${name} holds other bytes`);
    return bytes;
  }
  async has(name: string): Promise<boolean> {
    return this.held.has(name);
  }
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
