import type { BlobStore } from '../../blobs/blob-store.ts';
import type { Db } from '../../postgres/database.ts';
import { type EncodedRows, encodeRows } from '../../training/rows/encode-rows.ts';
import type { Layout, NotLaidOut } from '../../training/rows/layout.ts';
import { readRowsOfNow } from '../../training/rows/read-rows-of-now.ts';
import { readRewardState } from '../../training/rows/reward-state.ts';

/**
 * Packed bodies of batches, some kept: several readers of one lease share one, and the next batch is packed while this one is
 * trained.
 */
export interface PackedRows {
  /** Returns the rows of a batch as they are on record now. @throws RowsError. */
  get(batchId: string, layout: Layout): Promise<EncodedRows | NotLaidOut>;
}

type Packed = EncodedRows | NotLaidOut;
interface Kept {
  readonly state: string;
  readonly packing: Promise<Packed>;
  bytes: number;
}

// some ten batches of 1,000 samples of 1,000 tokens; one that is larger is packed again for each reader
const KEPT_BYTES = 256 * 1_048_576;

/** Opens the store of packed rows of one server, in memory: what is lost with the process is packed again. */
export function createPackedRows(
  { db, blobs }: { readonly db: Db; readonly blobs: BlobStore },
  keptBytes = KEPT_BYTES,
): PackedRows {
  const kept = new Map<string, Kept>(); // oldest use first

  return {
    async get(batchId, layout) {
      // Tokens and texts are facts; rewards may come late or be revised, and then the rows are others.
      const state = await readRewardState(db, batchId);
      const key = `${layout} ${batchId}`;
      const before = kept.get(key);
      kept.delete(key);
      const entry = before?.state === state ? before : pack(state, batchId, layout);
      kept.set(key, entry);
      try {
        const packed = await entry.packing;
        entry.bytes = packed.kind === 'encoded' ? packed.bytes : 0;
        return packed;
      } catch (error) {
        if (kept.get(key) === entry) kept.delete(key);
        throw error;
      } finally {
        evict();
      }
    },
  };

  function pack(state: string, batchId: string, layout: Layout): Kept {
    const packing = readRowsOfNow(db, blobs, batchId).then(({ rows, rewardsAt }) => encodeRows(rows, layout, rewardsAt));
    return { state, packing, bytes: 0 };
  }

  function evict(): void {
    let bytes = 0;
    for (const entry of kept.values()) bytes += entry.bytes;
    for (const [key, entry] of kept) {
      if (bytes <= keptBytes) return;
      bytes -= entry.bytes;
      kept.delete(key);
    }
  }
}
