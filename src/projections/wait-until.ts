import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Offsets } from '../log/event-log.ts';
import { formatPosition } from '../log/position.ts';
import type { Db, Trx } from '../postgres/database.ts';
import { doubling } from '../runtime/retry.ts';
import { topicsOf } from './concerns.ts';
import type { Projection } from './projection.ts';
import { readCursors } from './projection-statuses.ts';
import { projections as registered } from './registry.ts';

/** Returns the cursor of one live projection. */
export async function readCursor(db: Db, { name }: Projection): Promise<Offsets> {
  return (await readCursors(db)).get(name) ?? new Map();
}

/** Returns how far any live projection has read each partition. */
export async function furthestCursors(db: Db): Promise<Offsets> {
  const furthest = new Map<string, Map<number, number>>();
  for (const topics of (await readCursors(db)).values())
    for (const [topic, cursors] of topics) {
      const partitions = furthest.get(topic) ?? new Map<number, number>();
      for (const [partition, next] of cursors) partitions.set(partition, Math.max(next, partitions.get(partition) ?? 0));
      furthest.set(topic, partitions);
    }
  return furthest;
}

/** Nobody projects, or too slowly: the position was not reached in the time given. */
export class ProjectionsBehind extends Error {
  override readonly name = 'ProjectionsBehind';
  constructor(projection: string, target: Offsets, milliseconds: number) {
    super(
      `projection ${projection} did not reach ${formatPosition(target)} within ${milliseconds} ms; is a projector running (\`espalier up\`, \`espalier serve project\`), and is none stopped (\`espalier status\`)?`,
    );
  }
}

export interface WaitOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** The longest pause between two looks; the first ones are shorter, since most waits are for a slice that is being folded. */
  readonly pollMs?: number;
  /** Those that are to be there; without it all. */
  readonly projections?: readonly Projection[];
}

const FIRST_POLL_MS = 2;

/** Waits until the projections have folded all that lies below the target. @throws ProjectionsBehind when the time is over. */
export async function waitUntilProjected(db: Db, target: Offsets, options: WaitOptions): Promise<void> {
  const deadline = performance.now() + options.timeoutMs;
  const pauseOf = doubling(FIRST_POLL_MS, options.pollMs ?? 25);
  for (let looks = 1; ; looks++) {
    options.signal?.throwIfAborted();
    const behind = await findBehind(db, target, options.projections ?? registered);
    if (!behind) return;
    if (performance.now() > deadline) throw new ProjectionsBehind(behind.name, target, options.timeoutMs);
    await delay(pauseOf(looks), undefined, options.signal ? { signal: options.signal } : {});
  }
}

/**
 * Reads at one moment at which the projections, all unless they are named, hold what lies below the target. A wait before it is
 * no proof: projections commit without waiting for the disk, and a database that crashed in between is at an earlier place.
 * @throws ProjectionsBehind.
 */
export async function readProjected<T>(
  db: Db,
  target: Offsets,
  read: (trx: Trx) => Promise<T>,
  projections: readonly Projection[] = registered,
): Promise<T> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => {
      const behind = await findBehind(trx, target, projections);
      if (behind) throw new ProjectionsBehind(behind.name, target, 0);
      return read(trx);
    });
}

/** Returns whether projections, all unless they are named, have folded what lies below the target. */
export async function isProjected(db: Db, target: Offsets, projections: readonly Projection[] = registered): Promise<boolean> {
  return (await findBehind(db, target, projections)) === undefined;
}

async function findBehind(db: Db, target: Offsets, projections: readonly Projection[]): Promise<Projection | undefined> {
  const readers = projections.flatMap((projection) => topicsOf(projection).map((topic) => ({ name: projection.name, topic })));
  const places = [...target].flatMap(([topic, partitions]) =>
    [...partitions].flatMap(([partition, next]) => (next > 0 ? [{ topic, partition, next }] : [])),
  );
  if (readers.length === 0 || places.length === 0) return undefined;
  const { rows } = await sql<{ name: string }>`
    select r.name
    from unnest(${readers.map(({ name }) => name)}::text[], ${readers.map(({ topic }) => topic)}::text[]) as r (name, topic)
    join unnest(${places.map(({ topic }) => topic)}::text[], ${places.map(({ partition }) => partition)}::int[],
      ${places.map(({ next }) => next)}::bigint[]) as t (topic, partition, next) on t.topic = r.topic
    where not exists (
      select from projections p join cursors c on c.projection = p.name and c.version = p.version
      where p.name = r.name and c.topic = t.topic and c.partition = t.partition and c.next_offset >= t.next)
    limit 1`.execute(db);
  return projections.find(({ name }) => name === rows[0]?.name);
}

/** Keeps the topics a projection reads: it never moves on the others. */
export function restrictToTopics(offsets: Offsets, topics: readonly string[]): Offsets {
  return new Map([...offsets].filter(([topic]) => topics.includes(topic)));
}
