import { cutText } from '../domain/text/cut-text.ts';
import { wellFormed } from '../events/well-formed.ts';
import type { EventLog, LogBatch, Subscription } from '../log/event-log.ts';
import type { Database } from '../postgres/database.ts';
import { gathering } from '../runtime/gathering.ts';
import { retry } from '../runtime/retry.ts';
import { concerns, topicsOf, VersionGone } from './apply-slice.ts';
import { applyTogether, type Pass, passCursors } from './apply-together.ts';
import { decodeRecords } from './decode-records.ts';
import { markSuperseded } from './epochs/mark-superseded.ts';
import { isDatabaseFault, reasonOf, whileDatabaseFaults } from './fault.ts';
import { applyIsolatingPoison } from './isolate-poison.ts';
import { keepAtCursors } from './keep-at-cursors.ts';
import { liveStatusOf, readLiveVersions } from './live-versions.ts';
import { atVersion, type Projection } from './projection.ts';
import { projections as registered } from './registry.ts';
import type { Slice } from './slice.ts';
import { readCursors } from './wait-until.ts';

/** The NOTIFY channel on which a move of cursors is announced; the payload names the projections that moved. */
export const CURSOR_CHANNEL = 'espalier_cursor';

/** The group as which projectors read the log. */
export const PROJECTORS = 'projections';

export interface RunnerOptions {
  readonly log: EventLog;
  readonly database: Database;
  readonly group?: string;
  readonly projections?: readonly Projection[];
  readonly batchLimit?: number;
  /** Called for what stops or quarantines; once, where it is decided. */
  readonly report?: (event: RunnerReport) => void;
}
export type RunnerReport =
  | { readonly kind: 'stopped'; readonly projection: string; readonly reason: string }
  | { readonly kind: 'quarantined'; readonly projection: string; readonly count: number }
  | { readonly kind: 'retrying'; readonly projection: string; readonly reason: string }
  | { readonly kind: 'projected'; readonly topic: string; readonly events: number; readonly milliseconds: number };

// 78 us of CPU per event, 89 at 2,000, 95 at 1,000; a full batch takes a quarter of a second (infra/bench/project)
const BATCH_LIMIT = 4_000;
// A slice of this many events pays for a transaction of its own, and is folded next to those of other partitions.
const ALONE = 500;

/**
 * Runs projections over the log: each batch is decoded once and offered to every projection, each of which folds it, writes and
 * moves its cursor in one transaction of its own. Small batches of several partitions that come while a projection is at work
 * share its next transaction. The cursor in Postgres is the truth and the fence; what the log remembers of
 * the group is a hint. A batch below the cursor is dropped, one above it rewinds the log. A poison event goes to quarantine, a
 * database fault is waited out, a bug stops that projection alone: a frozen read model is seen, a wrong one is not.
 *
 * It folds into the version that is live. When another takes over (`espalier rebuild`), the cursors of the one in flight are gone
 * in the same moment, so that it asks which is live now before it writes another row.
 */
export async function runProjections(options: RunnerOptions): Promise<Subscription> {
  const { log, database } = options;
  const report = options.report ?? (() => undefined);
  const wanted = options.projections ?? registered;
  let projections = wanted;
  const stopped = new Set<string>();
  const rewound = new Map<string, number>();
  // as reported to the log
  const done = new Map<string, { readonly topic: string; readonly partition: number; readonly next: number }>();
  await database.db
    .updateTable('projections')
    .set({ state: 'running', reason: null })
    .where('name', 'in', namesOf(projections))
    .execute();
  await followLive();

  const pass = gathering((passes: readonly Pass[]) => passCursors(database.db, passes));
  const together = new Map(
    wanted.map(({ name }) => [
      name,
      gathering(async (slices: readonly Slice[]) => {
        const projection = projections.find((p) => p.name === name);
        if (!projection || stopped.has(name)) return new Set<Slice>();
        const { applied, quarantined } = await applyTogether(database.db, projection, slices);
        if (quarantined > 0) report({ kind: 'quarantined', projection: name, count: quarantined });
        return applied;
      }),
    ]),
  );
  const notify = gathering((moved: readonly string[]) =>
    database.pool.query('select pg_notify($1, topic) from unnest($2::text[]) as topic', [CURSOR_CHANNEL, [...new Set(moved)]]),
  );

  /**
   * Returns whether a slice was folded with those of other partitions. Where it was not, or that failed, the projection takes a
   * transaction for this slice alone, which finds out what is wrong with it, or waits out what is wrong with the database.
   */
  async function isShared(projection: Projection, slice: Slice): Promise<boolean> {
    try {
      if (!slice.items.some((item) => concerns(projection, item))) {
        const one = { projection, slice };
        return (await pass(one)).has(one);
      }
      return slice.items.length < ALONE && ((await together.get(projection.name)?.(slice))?.has(slice) ?? false);
    } catch {
      return false;
    }
  }

  async function handle(batch: LogBatch, signal: AbortSignal): ReturnType<Parameters<EventLog['subscribe']>[0]['handle']> {
    const started = performance.now();
    const read = async () => markSuperseded(database.db, batch, await decodeRecords(database.db, batch));
    const items = await retry(read, whileDatabaseFaults(signal));
    const slice: Slice = { topic: batch.topic, partition: batch.partition, from: batch.from, next: batch.next, items };
    const active = projections.filter((p) => !stopped.has(p.name) && topicsOf(p).includes(batch.topic));
    const cursors = await Promise.all(
      active.map(async (projection) =>
        (await isShared(projection, slice)) ? slice.next : applyUntilSettled(projection, slice, signal),
      ),
    );
    const lowest = Math.min(batch.next, ...cursors.filter((cursor) => cursor !== undefined));
    if (lowest < batch.next) {
      const place = `${batch.topic}.${batch.partition}`;
      if (rewound.get(place) !== lowest) {
        rewound.set(place, lowest);
        return { kind: 'rewind', to: lowest };
      }
      // The log was asked for this offset and began above it: what lies between is gone (retention), and folding on would be a
      // lie.
      for (const [i, projection] of active.entries()) {
        const cursor = cursors[i];
        if (cursor !== undefined && cursor < batch.from)
          await stop(projection, `the log no longer holds ${place} from ${cursor} to ${batch.from}`);
      }
    }
    rewound.delete(`${batch.topic}.${batch.partition}`);
    await notify(batch.topic).catch(() => undefined); // waiters also poll
    report({ kind: 'projected', topic: batch.topic, events: items.length, milliseconds: performance.now() - started });
    done.set(`${batch.topic}.${batch.partition}`, batch);
    return { kind: 'done', next: batch.next };
  }

  /** Takes each projection at the version that is live; one that only other code can fold is stopped here. */
  async function followLive(): Promise<void> {
    const live = await readLiveVersions(database.db);
    projections = await Promise.all(
      wanted.map(async (projection) => {
        const status = liveStatusOf(projection, live);
        if (status.kind === 'folds') return atVersion(projection, status.version);
        if (!stopped.has(projection.name)) await stop(projection, status.reason);
        return projection;
      }),
    );
  }

  /**
   * Returns the cursor after the slice, or undefined when the projection is stopped. Database faults are waited out until the
   * signal.
   */
  async function applyUntilSettled(wantedNow: Projection, slice: Slice, signal: AbortSignal): Promise<number | undefined> {
    let projection = wantedNow;
    const apply = async (): Promise<number | undefined> => {
      try {
        const result = await applyIsolatingPoison(database.db, projection, slice);
        if (result.quarantined > 0) report({ kind: 'quarantined', projection: projection.name, count: result.quarantined });
        return result.cursor;
      } catch (error) {
        if (isDatabaseFault(error)) throw error;
        if (error instanceof VersionGone)
          await followLive().catch((fault: unknown) => {
            if (!isDatabaseFault(fault)) throw fault;
          });
        else await stop(projection, reasonOf(error));
        if (stopped.has(projection.name)) return undefined;
        projection = projections.find(({ name }) => name === wantedNow.name) ?? projection;
        throw error;
      }
    };
    const onFault = (error: unknown) => report({ kind: 'retrying', projection: projection.name, reason: reasonOf(error) });
    return retry(
      apply,
      whileDatabaseFaults(signal, onFault, (error) => error instanceof VersionGone),
    );
  }

  /**
   * Returns the lowest cursor of the projections that run: where all of them can go on. Without it a projection that was stopped,
   * or a database that was restored, would wait for the next record of each partition before anything is delivered again.
   */
  async function startAt(topic: string, partition: number): Promise<number | undefined> {
    const active = projections.filter((p) => !stopped.has(p.name) && topicsOf(p).includes(topic));
    if (active.length === 0) return undefined;
    try {
      const rows = await database.db
        .selectFrom('cursors')
        .select(['projection', 'version', 'nextOffset'])
        .where('topic', '=', topic)
        .where('partition', '=', partition)
        .execute();
      const cursorOf = (p: Projection) =>
        rows.find((row) => row.projection === p.name && row.version === p.version)?.nextOffset ?? 0;
      return Math.min(...active.map(cursorOf));
    } catch (error) {
      if (!isDatabaseFault(error)) throw error;
      return undefined; // the log's own memory is a hint as good as any: each batch is checked against the cursor
    }
  }

  /**
   * Returns whether a cursor lies below what was reported to the log as done: the database lost its last commits, or is an older
   * copy.
   */
  async function regressed(): Promise<boolean> {
    const applied = [...done.values()]; // before the cursors are read: they are never behind what was reported by then
    const isBehind = async () => {
      const cursors = await readCursors(database.db);
      return projections.some(
        (p) =>
          !stopped.has(p.name) &&
          applied.some(
            ({ topic, partition, next }) =>
              topicsOf(p).includes(topic) && (cursors.get(p.name)?.get(topic)?.get(partition) ?? 0) < next,
          ),
      );
    };
    if (!(await isBehind())) return false;
    await followLive(); // a version that took over has cursors of its own
    return isBehind();
  }

  async function stop(projection: Projection, reason: string): Promise<void> {
    stopped.add(projection.name);
    report({ kind: 'stopped', projection: projection.name, reason });
    await database.db
      .updateTable('projections')
      .set({ state: 'stopped', reason: cutText(wellFormed(reason).value, 2_000) })
      .where('name', '=', projection.name)
      .execute();
  }

  const topics = [...new Set(projections.flatMap(topicsOf))];
  await refuseShrunkLog(log, database, topics);
  const subscribe = async () => {
    done.clear();
    return log.subscribe({
      group: options.group ?? PROJECTORS,
      topics,
      handle,
      startAt,
      batchLimit: options.batchLimit ?? BATCH_LIMIT,
    });
  };
  return keepAtCursors(subscribe, regressed);
}

function namesOf(projections: readonly Projection[]): string[] {
  return projections.map((p) => p.name);
}

/** The log ends before a cursor: what was folded is gone from it, and what is appended now would pass for a redelivery. */
export class LogShrunk extends Error {
  override readonly name = 'LogShrunk';
}

async function refuseShrunkLog(log: EventLog, database: Database, topics: readonly string[]): Promise<void> {
  const ends = await log.ends(topics);
  for (const [projection, cursors] of await readCursors(database.db)) {
    for (const [topic, partitions] of cursors) {
      for (const [partition, cursor] of partitions) {
        const end = ends.get(topic)?.get(partition);
        if (end === undefined || cursor <= end) continue;
        throw new LogShrunk(
          `the log of ${topic}.${partition} ends at ${end}, but ${projection} has folded it up to ${cursor}: the topic was made again or lost its tail; point DATABASE_URL to a new database to fold what is left`,
        );
      }
    }
  }
}
