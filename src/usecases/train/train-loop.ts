import type { BlobStore } from '../../blobs/blob-store.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import { findMismatch } from '../../domain/training/correction/mismatch.ts';
import { wellFormed } from '../../events/well-formed.ts';
import { isTransientFault } from '../../projections/transient-fault.ts';
import { inSpan, type OpenSpan, startSpan } from '../../runtime/tracing.ts';
import { type Backend, CheckpointDamaged, type Updated, type UpdateInput } from '../../training/backends/backend.ts';
import type { StepRow } from '../../training/backends/step-row.ts';
import { BackendFailed } from '../../training/backends/torch/python-process.ts';
import type { TrainingSettings } from '../../training/backends/training-settings.ts';
import { checkpointIdOf, keepCheckpoint, readCheckpoint } from '../../training/checkpoints/checkpoint-store.ts';
import type { LeaseService } from '../../training/leases/lease-service.ts';
import type { AckRequest, Lease } from '../../training/leases/protocol.ts';
import { RowsError } from '../../training/rows/batch-rows.ts';
import { computeVersion, UpdateRefused } from './compute-version.ts';

interface TrainLoopOptions {
  readonly policyId: string;
  /** Names this trainer. One that was killed and begins again under the same name gets its batch back at once. */
  readonly consumer: string;
  readonly service: LeaseService;
  readonly blobs: BlobStore;
  readonly backend: Backend;
  readonly settings: TrainingSettings;
  /** `after`: what the new weights give to the sampled tokens is recorded with each update, where the backend reads it. */
  readonly logProbs?: UpdateInput['logProbs'];
  /** Reads the rows of a leased batch, when the read models hold all of it: what is missing then is missing for ever. */
  readonly readRows: (lease: Lease, signal: AbortSignal) => Promise<ReadRows>;
  /** Waits until there may be a batch. */
  readonly idle: (signal: AbortSignal) => Promise<void>;
  readonly ttlMs?: number;
  /** Ends after so many batches; until the signal when left out. */
  readonly updates?: number;
  readonly onUpdate?: (trained: TrainLoopResult) => void;
  readonly onTrouble?: (trouble: BatchFailure) => void;
}

export interface ReadRows {
  readonly rows: readonly StepRow[];
  /** The position in the log up to which their rewards were folded; left out where the reader does not know. */
  readonly rewardsAt?: string;
}

export interface TrainLoopResult {
  readonly ordinal: number;
  readonly version: number;
  readonly weights: string;
  readonly samples: number;
  readonly steps: number;
  /** Of the rollouts of the batch. */
  readonly meanReturn: number;
  readonly metrics: Readonly<Record<string, number>>;
  /** Why somebody should look; null where nothing is unusual. */
  readonly warning: string | null;
  readonly ms: number;
}

/** A batch that was not trained this time, and why; it is there to be leased again. */
export interface BatchFailure {
  readonly ordinal: number;
  readonly reason: string;
}

/** A batch that cannot be trained, or was given back too often: somebody has to look. `espalier abandon` gives it up for ever. */
export class TrainingStuck extends Error {
  override readonly name = 'TrainingStuck';
}

const TTL_MS = 30_000;
const ATTEMPTS = 3; // of what may be a fault of the machine: what fails three times on the same bytes fails for ever

/**
 * Trains a policy on its batches, one after the other: lease → rows → update → keep the checkpoint → acknowledge. The
 * acknowledgement is the effect: killed anywhere before it, the batch is leased again and computed again from the same checkpoint
 * and rows, to the same bytes; killed after it, the lease service is at the next batch. The lease is renewed meanwhile; one
 * that is lost stops the work on it. A batch whose rows contradict themselves is abandoned, and the next one trained on the same
 * base: no trainer could ever read it. @throws TrainingStuck, CheckpointDamaged; a fault that passes (`isTransientFault`), to be
 * begun again when it has.
 */
export async function trainLoop(options: TrainLoopOptions, signal: AbortSignal): Promise<number> {
  const { service, policyId, consumer } = options;
  const failures = new Map<string, number>();
  let done = 0;
  while (!signal.aborted && done < (options.updates ?? Number.POSITIVE_INFINITY)) {
    const span = startSpan('train batch', { attributes: { 'espalier.policy': policyId } }); // ended, and so exported, where a batch was leased
    const leasing = span.within(() => startSpan('lease', {}));
    const answer = await leasing.within(() => service.lease({ policyId, consumer, ttlMs: options.ttlMs ?? TTL_MS }));
    if (answer.kind === 'refused') throw new TrainingStuck(`${answer.message}; ${answer.remedy}`);
    if (answer.kind === 'nothing') {
      await options.idle(signal).catch(() => undefined); // only the signal ends a pause early
      continue;
    }
    leasing.end();
    const outcome = await inStartedSpan(span, answer.lease, () => trainBatch(options, answer.lease, signal));
    if (outcome.kind === 'trained') {
      done++;
      options.onUpdate?.(outcome.trained);
    } else if (outcome.kind === 'abandoned') {
      options.onTrouble?.({ ordinal: answer.lease.ordinal, reason: `it was abandoned: ${outcome.reason}` });
    } else if (outcome.kind !== 'stopped') {
      const { batchId, ordinal } = answer.lease;
      const times = (failures.get(batchId) ?? 0) + 1;
      failures.set(batchId, times);
      options.onTrouble?.({ ordinal, reason: outcome.reason });
      if (outcome.kind === 'refused' || times >= ATTEMPTS)
        throw new TrainingStuck(
          `batch ${ordinal} of ${policyId} was given back${times > 1 ? ` ${times} times` : ''}: ${outcome.reason}; repair that and begin again, or give the batch up: \`espalier abandon ${batchId} --reason …\``,
        );
    }
  }
  return done;
}

async function inStartedSpan(span: OpenSpan, { ordinal, fence }: Lease, work: () => Promise<Outcome>): Promise<Outcome> {
  span.set({ 'espalier.batch': ordinal, 'espalier.fence': fence });
  try {
    const outcome = await span.within(work);
    span.set({ 'espalier.outcome': outcome.kind });
    span.end('reason' in outcome ? outcome.reason : undefined);
    return outcome;
  } catch (error) {
    span.end(error);
    throw error;
  }
}

type Outcome =
  | { readonly kind: 'trained'; readonly trained: TrainLoopResult }
  /** Tried again, it may be trained. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** The same bytes are refused whenever they are tried. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'abandoned'; readonly reason: string }
  | { readonly kind: 'stopped' };

async function trainBatch(options: TrainLoopOptions, lease: Lease, signal: AbortSignal): Promise<Outcome> {
  const { service, onTrouble } = options;
  const began = performance.now();
  try {
    const made = await whileRenewing({ service, lease, ttlMs: options.ttlMs ?? TTL_MS, signal }, (held) =>
      makeVersion(options, lease, held),
    );
    if (made.kind === 'lost') {
      onTrouble?.({ ordinal: lease.ordinal, reason: `the lease was lost: ${made.reason}` });
      return { kind: 'stopped' };
    }
    const { updated, rows, ack } = made.value;
    if (ack.kind === 'refused') {
      onTrouble?.({ ordinal: lease.ordinal, reason: `${ack.message}; what was computed is dropped` });
      return { kind: 'stopped' };
    }
    const { metrics, weights } = updated;
    const ms = performance.now() - began;
    const { samples, ordinal } = lease;
    return {
      kind: 'trained',
      trained: {
        ordinal,
        version: ack.version,
        weights,
        samples,
        steps: rows.length,
        meanReturn: metrics.return ?? 0,
        metrics,
        warning: findMismatch(metrics, options.settings.mismatch)?.reason ?? null,
        ms,
      },
    };
  } catch (error) {
    // Nothing is wrong with the batch: whoever waits the fault out leases it again under its own name.
    if (!signal.aborted && isTransientFault(error)) throw error;
    const reason = signal.aborted ? 'the trainer was stopped' : error instanceof Error ? error.message : String(error);
    if (!signal.aborted && error instanceof RowsError && error.unreadable) {
      const { leaseId, fence } = lease;
      const answer = await service.abandon({ leaseId, fence, reason: reason.slice(0, 9_000) });
      // refused, the lease was lost meanwhile
      return answer.kind === 'abandoned' ? { kind: 'abandoned', reason } : { kind: 'stopped' };
    }
    // Not heard, the batch comes back at the deadline.
    await service
      .nack({ leaseId: lease.leaseId, fence: lease.fence, reason: cutText(wellFormed(reason).value, 9_000) })
      .catch(() => undefined);
    if (error instanceof CheckpointDamaged) throw error;
    if (signal.aborted) return { kind: 'stopped' };
    return { kind: isRefusal(error) ? 'refused' : 'failed', reason };
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof UpdateRefused || (error instanceof BackendFailed && error.code === 'refused');
}

interface Made {
  readonly updated: Updated;
  readonly rows: readonly StepRow[];
  readonly ack: Awaited<ReturnType<LeaseService['ack']>>;
}

async function makeVersion(options: TrainLoopOptions, lease: Lease, signal: AbortSignal): Promise<Made> {
  const { backend, blobs, service, settings, policyId } = options;
  const checkpoint = await inSpan('read checkpoint', {}, () => readCheckpoint(blobs, backend, lease.base));
  const { rows, rewardsAt } = await inSpan('read rows', {}, () => options.readRows(lease, signal));
  const asked = options.logProbs === undefined ? {} : { logProbs: options.logProbs };
  const updated = await inSpan('update', { attributes: { 'espalier.rows': rows.length } }, () =>
    computeVersion(
      { policyId, backend, settings, batch: lease, version: lease.base.version, checkpoint, rows, ...asked },
      signal,
    ),
  );
  const kept = await inSpan('keep checkpoint', {}, () => keepCheckpoint(blobs, updated.checkpoint)); // durable before the acknowledgement that names it
  const { leaseId, fence, base, lineageId } = lease;
  const version = base.version + 1;
  const request: AckRequest = {
    leaseId,
    fence,
    version,
    backend: backend.name,
    weights: updated.weights,
    kept,
    loss: updated.loss,
    metrics: updated.metrics,
    checkpointId: checkpointIdOf(lineageId, version, updated.weights),
    estimator: updated.estimator,
    ...(rewardsAt === undefined ? {} : { rewardsAt }),
  };
  const ack = await inSpan('acknowledge', {}, () =>
    service.ack(updated.logProbs ? { ...request, logProbs: oneBehindTheOther(updated.logProbs) } : request),
  );
  // What cannot be compared with the record any more is left out: the version does not depend on it.
  const withoutThem = ack.kind === 'refused' && ack.code === 'invalid' && updated.logProbs;
  return { updated, rows, ack: withoutThem ? await service.ack(request) : ack };
}

function oneBehindTheOther(rows: readonly ArrayLike<number>[]): Float32Array {
  const values = new Float32Array(rows.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const row of rows) {
    values.set(row, at);
    at += row.length;
  }
  return values;
}

interface Renewal {
  readonly service: LeaseService;
  readonly lease: Lease;
  readonly ttlMs: number;
  readonly signal: AbortSignal;
}

/**
 * Does work while its lease is kept: renewed when a third of its time is over. A renewal that is refused aborts the work, whose
 * result would be refused as well; one that fails (the database is away) is tried again at the next third.
 */
export async function whileRenewing<T>(
  { service, lease, ttlMs, signal }: Renewal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<{ readonly kind: 'done'; readonly value: T } | { readonly kind: 'lost'; readonly reason: string }> {
  const lost = new AbortController();
  let reason: string | null = null;
  let renewing: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    renewing = service.renew({ leaseId: lease.leaseId, fence: lease.fence, ttlMs }).then(
      (answer) => {
        if (answer.kind !== 'refused' || reason !== null) return;
        reason = answer.message;
        lost.abort(new Error(answer.message));
      },
      () => undefined,
    );
  }, ttlMs / 3);
  try {
    return { kind: 'done', value: await work(AbortSignal.any([signal, lost.signal])) };
  } catch (error) {
    if (reason !== null) return { kind: 'lost', reason };
    throw error;
  } finally {
    clearInterval(timer);
    await renewing;
  }
}
