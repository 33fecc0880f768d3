import type { GraphQLFieldResolver } from 'graphql';
import type { BlobStore } from '../src/blobs/blob-store.ts';
import { BlobMissing } from '../src/blobs/blob-store.ts';
import { rangeOf } from '../src/domain/text/cut-text.ts';
import type { BlobRef } from '../src/events/schemas/values.ts';
import type { Blobs } from '../src/postgres/column-types.ts';
import { refusal } from './errors.ts';

const SHOWN = 65_536; // characters of a large text that its own field shows
const REQUEST_LIMIT = 64 * 2 ** 20; // bytes of large texts that one request may read

/** A text that the blob store holds, and the field of its record that it belongs to. */
export interface LargeTextModel extends BlobRef {
  readonly field: string;
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

/** Resolves a text of a record: from the blob store where it is large. */
export function textOf(field: string): GraphQLFieldResolver<Readonly<Record<string, unknown>>, { readonly texts: LargeTexts }> {
  return (record, _, { texts }) => {
    const reference = (record.blobs as Blobs | null | undefined)?.[field]; // of a type with the field `largeTexts`
    return reference ? texts.text(reference) : record[field];
  };
}

/** Lists the large texts of a record. */
export function largeTextsOf(record: { readonly blobs: Blobs | null }): LargeTextModel[] {
  return Object.entries(record.blobs ?? {}).map(([field, reference]) => ({ ...reference, field }));
}
