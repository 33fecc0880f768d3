import { BlobCorrupt, BlobMissing, type BlobStore } from '../blobs/blob-store.ts';
import { sha256Hex } from '../digest/sha256.ts';

/** A content-addressed store in memory, with the promises of the port; a test may damage or lose what it holds. */
export class MemoryBlobs implements BlobStore {
  readonly held = new Map<string, Uint8Array>();

  async put(bytes: Uint8Array, mediaType: string) {
    const blob = sha256Hex(bytes);
    this.held.set(blob, Uint8Array.from(bytes));
    return { blob, size: bytes.length, mediaType };
  }
  async get(name: string): Promise<Uint8Array> {
    const bytes = this.held.get(name);
    if (!bytes) throw new BlobMissing(`no blob ${name}`);
    if (sha256Hex(bytes) !== name) throw new BlobCorrupt(`blob ${name} holds other bytes`);
    return bytes;
  }
  async has(name: string): Promise<boolean> {
    return this.held.has(name);
  }
}
