import type { Db } from '../../postgres/database.ts';
import type { Notices } from '../../postgres/notices.ts';
import { openCache } from '../../runtime/cache.ts';
import type { Running } from '../../runtime/lifecycle.ts';
import { rest } from '../../runtime/retry.ts';
import { untilClosed } from '../../runtime/until-closed.ts';
import { readUnrecorded, type UnrecordedBatch } from '../../training/leases/read-awaited.ts';
import type { PackedRows } from './packed-rows.ts';
import type { RowFormat, RowFormatHints } from './row-format-hints.ts';

const LOOK_MS = 500; // between two looks, however much is folded
const QUIET_MS = 100; // since a trainer asked for something: packing holds the event loop that answers it
const RECENT_MS = 3_600_000; // how long a plan or a lease counts as that of a training that goes on
const AGAIN_MS = 60_000; // until a batch that could not be read, or was evicted, is packed again
const DEPTH = 64; // batches of a policy; there is room for fewer
// What is expected of a body until one of its policy was packed.
const TOKEN_BYTES = 13; // id, log-probability, mask and version
const SAMPLE_BYTES = 1_024; // names and short texts

/** A body that was packed here. */
interface Body {
  readonly policyId: string;
  readonly form: RowFormat;
  readonly bytes: number;
  /** Bytes that were expected of it before any was packed. */
  readonly guessed: number;
}

interface Options {
  readonly lookMs?: number;
  readonly quietMs?: number;
}

/**
 * Packs the batches that trainers elsewhere will lease, as soon as they are planned and while nobody asks: the next of every
 * policy first, and as many behind it as there is room for in the packed rows, of which each policy has an equal share. It evicts
 * nothing.
 */
export function packAhead(
  {
    db,
    packed,
    asking,
    notices,
  }: { readonly db: Db; readonly packed: PackedRows; readonly asking: RowFormatHints; readonly notices: Notices },
  { lookMs = LOOK_MS, quietMs = QUIET_MS }: Options = {},
): Running {
  const tried = openCache<UnrecordedBatch>({ max: 10_000, ttl: AGAIN_MS });
  const ready = new Map<string, Body>();
  const last = openCache<Body>({ max: 1_000 }); // of a policy in the form in which it is read
  return untilClosed(run);

  async function run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const seen = notices.count;
      const found = await look(signal).catch(() => 'done' as const); // a fault of the database: who leases meets it
      if (found === 'done') await notices.beyond(seen, RECENT_MS, signal);
      await rest(lookMs, signal);
    }
  }

  /** Packs what there is room for; `interrupted` where a trainer asked meanwhile: what is left comes after it. */
  async function look(signal: AbortSignal): Promise<'done' | 'interrupted'> {
    const since = new Date(Date.now() - RECENT_MS);
    const awaited = await readUnrecorded(db, { since, policies: asking.within(RECENT_MS), depth: DEPTH });
    const waiting = new Set(awaited.map(({ batchId }) => batchId));
    for (const [batchId, { policyId, form }] of [...ready]) {
      const wanted = asking.wantedBy(policyId);
      if (waiting.has(batchId) && form.layout === wanted.layout && form.advantages === wanted.advantages) continue;
      ready.delete(batchId);
      tried.delete(batchId);
      packed.drop(batchId, form);
    }
    const policies = new Set(awaited.map(({ policyId }) => policyId)).size;
    for (const batch of awaited) {
      if (tried.has(batch.batchId) || !isRoomFor(batch, policies)) continue;
      if (signal.aborted || asking.quietMs() < quietMs) return 'interrupted';
      await pack(batch);
    }
    return 'done';
  }

  function isRoomFor(batch: UnrecordedBatch, policies: number): boolean {
    const { policyId } = batch;
    const own = [...ready.values()].filter((body) => body.policyId === policyId);
    const held = own.reduce((sum, { bytes }) => sum + bytes, 0);
    const like = last.get(keyOf(policyId, asking.wantedBy(policyId)));
    const expected = guessOf(batch) * (like ? like.bytes / like.guessed : 1);
    const { limit, free } = packed.room();
    return expected <= free && (held === 0 || held + expected <= limit / policies);
  }

  async function pack(batch: UnrecordedBatch): Promise<void> {
    const { batchId, policyId } = batch;
    tried.set(batchId, batch);
    const form = asking.wantedBy(policyId);
    const body = await packed.get(batchId, form.layout, form.advantages).catch(() => undefined); // who asks meets the fault
    if (body?.kind !== 'encoded') return;
    const packedBody = { policyId, form, bytes: body.bytes, guessed: guessOf(batch) };
    ready.set(batchId, packedBody);
    last.set(keyOf(policyId, form), packedBody);
  }
}

function guessOf({ tokens, samples }: UnrecordedBatch): number {
  return tokens * TOKEN_BYTES + samples * SAMPLE_BYTES;
}

function keyOf(policyId: string, { layout, advantages }: RowFormat): string {
  return `${layout} ${advantages} ${policyId}`;
}
