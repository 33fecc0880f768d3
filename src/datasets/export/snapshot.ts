import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import type { Offsets } from '../../log/event-log.ts';
import { formatPosition } from '../../log/position.ts';
import type { Db, Trx } from '../../postgres/database.ts';
import type { Tables } from '../../postgres/tables.ts';
import { topicsOf } from '../../projections/apply-slice.ts';
import { codeVersionOf, type Projection } from '../../projections/projection.ts';
import { DatasetError } from '../dataset-error.ts';

/** Where each projection that an export reads stood in its snapshot: name and version → next offsets, `step-tree@1` → `trees.0:41`. */
export type SnapshotPosition = Readonly<Record<string, string>>;

export interface Waiting {
  /** How long the projections may take to agree. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

const POLL_MS = 100; // between looks at the cursors; an export takes seconds

/**
 * Runs `read` in one read-only snapshot of the database: a consistent cut of every projection it reads, however long it takes and whatever
 * is appended meanwhile. Projections move one by one, so it first waits until each has reached what the furthest of them had read.
 * @throws DatasetError `projections-behind` when they do not within `waitMs`, or one of them is stopped.
 */
export async function readSnapshot<T>(
  db: Db,
  projections: readonly Projection[],
  { waitMs, signal }: Waiting,
  read: (trx: Trx, position: SnapshotPosition) => Promise<T>,
): Promise<T> {
  await awaitAgreement(db, projections, { waitMs, signal });
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      const cursors = await readCursors(trx, projections);
      const position: Record<string, string> = {};
      for (const { name } of projections) {
        const cursor = cursors.get(name);
        if (cursor) position[`${name}@${codeVersionOf(cursor.version)}`] = formatPosition(cursor.offsets);
      }
      return read(trx, position);
    });
}

interface Cursor {
  readonly version: number;
  readonly stopped: string | null;
  readonly offsets: Map<string, Map<number, number>>;
}

async function awaitAgreement(db: Db, projections: readonly Projection[], { waitMs, signal }: Waiting): Promise<void> {
  const target = furthest(await readCursors(db, projections));
  const deadline = performance.now() + waitMs;
  for (;;) {
    const cursors = await readCursors(db, projections);
    const behind = projections.filter((projection) => !hasReached(projection, cursors.get(projection.name)?.offsets, target));
    if (behind.length === 0) return;
    for (const { name } of behind) {
      const stopped = cursors.get(name)?.stopped;
      if (stopped)
        throw new DatasetError('projections-behind', `projection ${name} is stopped: ${stopped}; start it again, then export`);
    }
    if (performance.now() > deadline) {
      const names = behind.map(({ name }) => name).join(', ');
      throw new DatasetError(
        'projections-behind',
        `${names} did not reach the position of the other projections within ${waitMs} ms; see that the projector runs, then export again`,
      );
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** The live version of each projection with its cursors. */
async function readCursors(db: Kysely<Tables>, projections: readonly Projection[]): Promise<ReadonlyMap<string, Cursor>> {
  const { rows } = await sql<{
    name: string;
    version: number;
    stopped: string | null;
    topic: string | null;
    partition: number | null;
    next: number | null;
  }>`
    select p.name, p.version, case when p.state = 'stopped' then coalesce(p.reason, 'no reason given') end as stopped,
           c.topic, c.partition, c.next_offset as next
    from projections p left join cursors c on c.projection = p.name and c.version = p.version
    where p.name = any(${projections.map(({ name }) => name)}::text[])`.execute(db);
  const cursors = new Map<string, Cursor>();
  for (const { name, version, stopped, topic, partition, next } of rows) {
    const cursor = cursors.get(name) ?? { version, stopped, offsets: new Map() };
    cursors.set(name, cursor);
    if (topic !== null && partition !== null && next !== null) setOffset(cursor.offsets, topic, partition, next);
  }
  return cursors;
}

function furthest(cursors: ReadonlyMap<string, Cursor>): Offsets {
  const target = new Map<string, Map<number, number>>();
  for (const { offsets } of cursors.values()) {
    for (const [topic, partitions] of offsets) {
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
