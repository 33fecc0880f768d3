import { setTimeout as sleep } from 'node:timers/promises';
import type { Offsets } from '../../../log/event-log.ts';
import { formatPosition } from '../../../log/position.ts';
import type { Db, Trx } from '../../../postgres/database.ts';
import { topicsOf } from '../../../projections/concerns.ts';
import { codeVersionOf, type Projection } from '../../../projections/projection.ts';
import { type ProjectionStatus, readProjectionStatuses } from '../../../projections/projection-statuses.ts';
import { DatasetError } from '../dataset-error.ts';

/**
 * The position of each projection that an export reads, in its snapshot: name and version → next offsets, `step-tree@1` →
 * `trees.0:41`.
 */
export type SnapshotPosition = Readonly<Record<string, string>>;

export interface WaitingEvents {
  /** How long the projections may take to agree. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

const POLL_MS = 20; // under load the projections agree for some milliseconds between two batches; a look takes one

/**
 * Runs `read` in one read-only snapshot of the database in which the projections it reads are at one position: a consistent cut,
 * however long it takes and whatever is appended meanwhile. Projections move one by one, so the cursors are compared inside the
 * snapshot itself; where one is behind another, a new snapshot is taken.
 * @throws DatasetError `projections-behind` when they do not agree within `waitMs`, or the one that is behind is stopped.
 */
export async function readSnapshot<T>(
  db: Db,
  projections: readonly Projection[],
  { waitMs, signal }: WaitingEvents,
  read: (trx: Trx, position: SnapshotPosition) => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const looked = await look(db, projections, signal, read);
    if (looked.kind === 'read') return looked.value;
    const [stopped] = looked.behind.filter(({ reason }) => reason !== null);
    if (stopped)
      throw new DatasetError(
        'projections-behind',
        `projection ${stopped.name} is stopped: ${stopped.reason}; start it again, then export`,
      );
    if (performance.now() > deadline) {
      const names = looked.behind.map(({ name }) => name).join(', ');
      throw new DatasetError(
        'projections-behind',
        `${names} did not reach the position of the other projections within ${waitMs} ms; see that the projector runs, then export again`,
      );
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}

type Looked<T> =
  | { readonly kind: 'read'; readonly value: T }
  | { readonly kind: 'apart'; readonly behind: readonly { readonly name: string; readonly reason: string | null }[] };

/** Takes a snapshot, and reads in it when no projection is behind another there. */
function look<T>(
  db: Db,
  projections: readonly Projection[],
  signal: AbortSignal,
  read: (trx: Trx, position: SnapshotPosition) => Promise<T>,
): Promise<Looked<T>> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      const projectionStatuses = await readProjectionStatuses(trx); // the first statement: it takes the snapshot
      const cursors = new Map(projectionStatuses.map((status) => [status.name, status]));
      const target = furthest(projections, cursors);
      const behind = projections.filter((projection) => !hasReached(projection, cursors.get(projection.name)?.cursors, target));
      if (behind.length > 0)
        return { kind: 'apart', behind: behind.map(({ name }) => ({ name, reason: stopReasonOf(cursors.get(name)) })) };
      const position: Record<string, string> = {};
      for (const { name } of projections) {
        const cursor = cursors.get(name);
        if (cursor) position[`${name}@${codeVersionOf(cursor.version)}`] = formatPosition(cursor.cursors);
      }
      return { kind: 'read', value: await whileWanted(db, trx, signal, () => read(trx, position)) };
    });
}

/** Cancels the statement that a transaction waits for when the signal is aborted: it may sort for minutes. */
async function whileWanted<T>(db: Db, trx: Trx, signal: AbortSignal, read: () => Promise<T>): Promise<T> {
  const { pid } = await trx.selectNoFrom((of) => of.fn<number>('pg_backend_pid', []).as('pid')).executeTakeFirstOrThrow();
  let canceled: Promise<unknown> | undefined;
  const cancel = () => {
    canceled = db
      .selectNoFrom((of) => of.fn<boolean>('pg_cancel_backend', [of.val(pid)]).as('canceled'))
      .execute()
      .catch(() => undefined);
  };
  signal.throwIfAborted();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    return await read();
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', cancel);
    await canceled; // before another one has the connection
  }
}

/** Why a projection is stopped; null while it runs. */
function stopReasonOf(status: ProjectionStatus | undefined): string | null {
  return status?.state === 'stopped' ? (status.reason ?? 'no reason given') : null;
}

/** A cursor counts on the topics that its projection folds. */
function furthest(projections: readonly Projection[], cursors: ReadonlyMap<string, ProjectionStatus>): Offsets {
  const target = new Map<string, Map<number, number>>();
  for (const projection of projections) {
    const topics = topicsOf(projection);
    for (const [topic, partitions] of cursors.get(projection.name)?.cursors ?? []) {
      if (!topics.includes(topic)) continue;
      for (const [partition, next] of partitions)
        setOffset(target, topic, partition, Math.max(next, target.get(topic)?.get(partition) ?? 0));
    }
  }
  return target;
}

/** Only the topics that a projection folds count for it. */
function hasReached(projection: Projection, offsets: Offsets | undefined, target: Offsets): boolean {
  return topicsOf(projection).every((topic) => {
    for (const [partition, next] of target.get(topic) ?? []) if ((offsets?.get(topic)?.get(partition) ?? 0) < next) return false;
    return true;
  });
}

function setOffset(offsets: Map<string, Map<number, number>>, topic: string, partition: number, next: number): void {
  const partitions = offsets.get(topic) ?? new Map<number, number>();
  offsets.set(topic, partitions.set(partition, next));
}
