import type { Refusal } from '../events/codec.ts';
import type { Delivery } from '../events/envelope.ts';
import type { Trx } from '../postgres/database.ts';
import type { Projection } from './projection.ts';

/** A record of the log after decoding: a delivery, or bytes that are no event of the catalogue, with the reason. */
export type Item =
  | { readonly kind: 'event'; readonly delivery: Delivery }
  | {
      readonly kind: 'refused';
      readonly offset: number;
      readonly bytes: Uint8Array;
      readonly type: string | null;
      readonly refusal: Refusal;
    };

/** A run of records of one partition: everything in [from, next), decoded. */
export interface Slice {
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  readonly next: number;
  readonly items: readonly Item[];
}

export interface Applied {
  /**
   * The projection's cursor after the slice: `slice.next`, or less when the slice began above it and must be read again from
   * there.
   */
  readonly cursor: number;
  readonly quarantined: number;
}

/** What happens to the items of a slice inside its transaction; returns how many went to quarantine. */
export type Write = (trx: Trx, projection: Projection, slice: Slice, items: readonly Item[]) => Promise<number>;
