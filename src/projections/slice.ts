import type { Refusal } from '../events/codec.ts';
import type { Delivery } from '../events/envelope.ts';

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

/** Returns where in its partition an item was recorded. */
export function offsetOf(item: Item): number {
  return item.kind === 'event' ? item.delivery.offset : item.offset;
}
