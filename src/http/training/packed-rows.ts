import type { BlobStore } from '../../blobs/blob-store.ts';
import type { Db } from '../../postgres/database.ts';
import { openCache } from '../../runtime/cache.ts';
import { type EncodedRows, encodeRows } from '../../training/rows/encode-rows.ts';
import type { Layout, NotLaidOut } from '../../training/rows/layout.ts';
import { readCurrentRows } from '../../training/rows/read-batch-rows.ts';
import { readPromptsOfBatch } from '../../training/rows/read-prompts-of-rows.ts';
import { readRewardState } from '../../training/rows/reward-state.ts';
import { rowAdvantages } from '../../usecases/train/estimates/estimate-batch.ts';
import type { RowFormat } from './row-format-hints.ts';

/** Packed bodies of batches, some kept: several readers of one lease share one, and batches are packed before they are leased. */
export interface PackedRows {
  /**
   * Returns the rows of a batch as they are on record now, with their advantages or without. @param state what `readRewardState`
   * returned a moment ago; it is asked for otherwise. @throws RowsError.
   */
  get(batchId: string, layout: Layout, advantages?: 'with' | 'without', state?: string): Promise<EncodedRows | NotLaidOut>;
  /** Returns whether rows of a batch are kept, or being packed; without `state` a reward may have been revised since. */
  holds(batchId: string, form: RowFormat, state?: string): boolean;
  /** Returns how many bytes of bodies are kept at most, and how many more have room without one being evicted. */
  room(): { readonly limit: number; readonly free: number };
  /** Drops what is kept of a batch, in one form or in all: nobody will ask for it. */
  drop(batchId: string, form?: RowFormat): void;
  /** Drops what is kept: some of it may be forgotten. */
  clear(): void;
}

type Packed = EncodedRows | NotLaidOut;
interface Kept {
  readonly state: string;
  readonly packing: Promise<Packed>;
}

// some ten batches of 1,000 samples of 1,000 tokens; one that is larger is packed again for each reader
const KEPT_BYTES = 256 * 1_048_576;
const KEPT_MS = 3_600_000; // since it was last asked for

const keyOf = (batchId: string, { layout, advantages }: RowFormat) => `${layout} ${advantages} ${batchId}`;

/** Opens the store of packed rows of one server, in memory: what is lost with the process is packed again. */
export function createPackedRows(
  { db, blobs }: { readonly db: Db; readonly blobs: BlobStore },
  keptBytes = KEPT_BYTES,
): PackedRows {
  const cache = openCache<Kept>({ maxSize: keptBytes, ttl: KEPT_MS, updateAgeOnGet: true });

  return {
    async get(batchId, layout, advantages = 'without', known = undefined) {
      // Tokens and texts are facts until they are forgotten; rewards may come late or be revised: then the rows are others.
      const state = known ?? (await readRewardState(db, batchId));
      const key = keyOf(batchId, { layout, advantages });
      const before = cache.get(key);
      if (before?.state === state) return before.packing;
      const packing = packRows(batchId, layout, advantages);
      const entry = { state, packing };
      cache.set(key, entry, { size: 1 }); // its size is known when it is packed
      try {
        const packed = await packing;
        // the size of a value that is there is not looked at again
        if (packed.kind === 'encoded' && cache.peek(key) === entry && cache.delete(key))
          cache.set(key, entry, { size: packed.bytes });
        return packed;
      } catch (error) {
        if (cache.peek(key) === entry) cache.delete(key);
        throw error;
      }
    },
    holds(batchId, form, state) {
      const there = cache.peek(keyOf(batchId, form));
      return there !== undefined && (state === undefined || there.state === state);
    },
    room() {
      cache.purgeStale();
      return { limit: keptBytes, free: keptBytes - cache.calculatedSize };
    },
    drop(batchId, form) {
      if (form) cache.delete(keyOf(batchId, form));
      else for (const key of [...cache.keys()]) if (key.endsWith(batchId)) cache.delete(key);
    },
    clear: () => cache.clear(),
  };

  async function packRows(batchId: string, layout: Layout, wanted: 'with' | 'without'): Promise<Packed> {
    const { rows, rewardsAt } = await readCurrentRows(db, blobs, batchId);
    const advantages = wanted === 'with' ? await rowAdvantages(db, blobs, rows) : null;
    if (layout === 'step') return encodeRows(rows, layout, { rewardsAt, advantages });
    return encodeRows(rows, layout, { rewardsAt, advantages, prompts: await readPromptsOfBatch(db, blobs, rows) });
  }
}
