import type { BlobStore } from '../src/blobs/blob-store.ts';
import { BlobMissing } from '../src/blobs/blob-store.ts';
import { rangeOf } from '../src/domain/text/cut-text.ts';
import type { BlobRef } from '../src/events/schemas/values.ts';
import type { Blobs } from '../src/postgres/column-types.ts';
import { bounded } from './connection.ts';
import { refusal } from './errors.ts';

const SHOWN = 65_536; // characters of a large text that its own field shows
const PART_LIMIT = 1_000_000; // characters of one `LargeText.text`
const REQUEST_LIMIT = 64 * 2 ** 20; // bytes of large texts that one request may read

export interface LargeTextModel {
  readonly field: string;
  readonly sha256: string;
  readonly size: number;
  readonly mediaType: string;
  text(args: { readonly offset: number; readonly length: number }, context: WithTexts): Promise<string>;
}

/** Reads blobs for one request: each once, and together no more than the limit. */
export class LargeTexts {
  readonly #blobs: Pick<BlobStore, 'get'>;
  readonly #read = new Map<string, Promise<Uint8Array>>();
  #bytes = 0;

  constructor(blobs: Pick<BlobStore, 'get'>) {
    this.#blobs = blobs;
  }

  /** @throws TEXTS_TOO_LARGE past the limit; TEXT_MISSING when the store does not hold it. */
  async bytes({ blob, size }: BlobRef): Promise<Uint8Array> {
    let bytes = this.#read.get(blob);
    if (!bytes) {
      this.#bytes += size;
      if (this.#bytes > REQUEST_LIMIT)
        throw refusal(
          'TEXTS_TOO_LARGE',
          `the large texts of this query exceed ${REQUEST_LIMIT} bytes; ask for fewer records at once`,
        );
      bytes = this.#blobs.get(blob).catch((error: unknown) => {
        if (error instanceof BlobMissing)
          throw refusal(
            'TEXT_MISSING',
            `the blob store does not hold ${blob}; is it the store that the events were appended with?`,
          );
        throw error;
      });
      this.#read.set(blob, bytes);
    }
    return bytes;
  }

  async text(reference: BlobRef, offset = 0, length = SHOWN): Promise<string> {
    const text = Buffer.from(await this.bytes(reference)).toString('utf8');
    return rangeOf(text, offset, offset + length);
  }
}

/**
 * Adds its large texts to a record: each field named by `blobs` becomes a function that the executor calls when the field is
 * asked for. The record itself comes back where there are none, which is nearly always, so that plain fields stay plain.
 */
export function withLargeTexts<Item extends { readonly blobs: Blobs | null }>(record: Item): Item {
  if (record.blobs === null) return record;
  const copy: Record<string, unknown> = { ...record };
  for (const [field, reference] of Object.entries(record.blobs))
    copy[field] = (_args: unknown, context: WithTexts) => context.texts.text(reference);
  return copy as Item; // the executor takes a function for the value it returns
}

/** What a resolver finds the large texts of its request in. */
export interface WithTexts {
  readonly texts: LargeTexts;
}

/** Lists the large texts of a record. */
export function largeTextsOf(record: { readonly blobs: Blobs | null }): LargeTextModel[] {
  return Object.entries(record.blobs ?? {}).map(([field, reference]) => ({
    field,
    sha256: reference.blob,
    size: reference.size,
    mediaType: reference.mediaType,
    text: ({ offset, length }, context) =>
      context.texts.text(reference, Math.max(0, offset), bounded('length', length, PART_LIMIT)),
  }));
}
