import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openSha256, type Sha256 } from '../../../digest/sha256.ts';
import type { ByteSink } from './format.ts';

const SHARD_BYTES = 256 * 1024 * 1024; // what the Hugging Face hub converts and shows without a notice

/** A finished file of a split. */
export interface Shard {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

interface OpenShard {
  readonly path: string;
  readonly handle: FileHandle;
  readonly hash: Sha256;
  bytes: number;
}

/**
 * Writes a split as files `data/<split>-00000-of-00002<ending>` of a folder. Lines go on in the next file where one is full; who
 * writes Parquet asks whether it is, and ends it with a footer. Who opens it finishes or discards it.
 */
export class ShardSink implements ByteSink {
  readonly #folder: string;
  readonly #split: string;
  readonly #ending: string;
  readonly #limit: number;
  readonly #done: OpenShard[] = [];
  #open: OpenShard | null = null;

  /** @param limit bytes after which a line, or a row group, begins the next file. */
  constructor(folder: string, { split, ending }: { readonly split: string; readonly ending: string }, limit = SHARD_BYTES) {
    this.#folder = folder;
    this.#split = split;
    this.#ending = ending;
    this.#limit = limit;
  }

  get isFull(): boolean {
    return this.#open !== null && this.#open.bytes >= this.#limit;
  }

  next(): Promise<void> {
    return this.#close();
  }

  async write(data: string | Uint8Array): Promise<void> {
    const bytes = Buffer.from(data);
    if (this.isFull && this.#ending !== '.parquet') await this.#close();
    this.#open ??= await this.#begin();
    const { handle, hash } = this.#open;
    hash.update(bytes);
    for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten;
    this.#open.bytes += bytes.length;
  }

  /** Makes the files durable under their names. Returns them with their paths from the folder. */
  async finish(): Promise<readonly Shard[]> {
    await this.#close();
    const of = pad(this.#done.length);
    return Promise.all(
      this.#done.map(async ({ path, bytes, hash }, i) => {
        const name = `data/${this.#split}-${pad(i)}-of-${of}${this.#ending}`;
        await rename(path, join(this.#folder, name));
        return { path: name, bytes, sha256: hash.digest('hex') };
      }),
    );
  }

  /** Removes what was written of a split without rows. */
  async discard(): Promise<void> {
    await this.#close();
    for (const { path } of this.#done) await rm(path, { force: true });
  }

  async #begin(): Promise<OpenShard> {
    const path = join(this.#folder, 'data', `.${this.#split}-${pad(this.#done.length)}.partial`);
    return { path, handle: await open(path, 'wx'), hash: openSha256(), bytes: 0 };
  }

  async #close(): Promise<void> {
    if (!this.#open) return;
    await this.#open.handle.sync();
    await this.#open.handle.close();
    this.#done.push(this.#open);
    this.#open = null;
  }
}

function pad(number: number): string {
  return String(number).padStart(5, '0');
}
