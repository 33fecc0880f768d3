import { smallest } from '../domain/extremes.ts';
import { cutText } from '../domain/text/cut-text.ts';
import { wellFormed } from '../events/well-formed.ts';
import type { BatchAnswer, EventLog, LogBatch, Subscription } from '../log/event-log.ts';
import { formatPosition } from '../log/position.ts';
import type { Database } from '../postgres/database.ts';
import { gathering } from '../runtime/gathering.ts';
import { limitOf } from '../runtime/limit.ts';
import { retry } from '../runtime/retry.ts';
import { inSpan, isTracing } from '../runtime/tracing.ts';
import { applySlices, type SliceOffer, VersionGone } from './apply-slices.ts';
import { topicsOf } from './concerns.ts';
import { readSlices } from './decode-records.ts';
import { markSuperseded } from './epochs/mark-superseded.ts';
import { isDatabaseFault, reasonOf, whileDatabaseFaults } from './fault.ts';
import { markRepeated } from './journal/mark-repeated.ts';
import { liveStatusOf, readLiveVersions } from './live-versions.ts';
import { CURSOR_CHANNEL } from './moved-cursors.ts';
import { atVersion, type Projection } from './projection.ts';
import { readCursors } from './projection-statuses.ts';
import { projections as registered } from './registry.ts';
import { resubscribeOnRegression } from './resubscribe-on-regression.ts';
import type { Slice } from './slice.ts';

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
  | { readonly kind: 'retrying'; readonly reason: string }
  | { readonly kind: 'projected'; readonly topic: string; readonly events: number; readonly milliseconds: number };

// 78 us of CPU per event, 89 at 2,000, 95 at 1,000; a full slice takes a quarter of a second (infra/bench/project)
const BATCH_LIMIT = 4_000;

interface Delivery {
  readonly batch: LogBatch;
  readonly signal: AbortSignal;
}

/** Where a projection is after a slice: its cursor, or undefined where it was stopped. */
interface CursorMove {
  readonly projection: Projection;
  readonly cursor: number | undefined;
}

/**
 * Runs projections over the log: the batches of all partitions that come at the same time, or while others are folded, are one
 * slice. It is decoded once and offered to every projection; they fold it, write and move their cursors in one transaction
 * (`apply-slices.ts`), while the next one is decoded. The cursor in Postgres is the truth and the fence; what the log remembers of
 * the group is a hint. A batch below the cursor is dropped, one above it rewinds the log. A poison event goes to quarantine, a
 * database fault is waited out, what no event explains stops that projection alone: a frozen read model is seen, a wrong one is
 * not.
 *
 * It folds into the version that is live. When another takes over (`espalier rebuild`), the cursors of the one in flight are gone
 * in the same moment, so that it asks which is live now before it writes another row.
 */
export async function runProjections(options: RunnerOptions): Promise<Subscription> {
  const { log, database } = options;
  const report = options.report ?? (() => undefined);
  const wanted = options.projections ?? registered;
  let projections = wanted;
  const onFault = (error: unknown) => report({ kind: 'retrying', reason: reasonOf(error) });
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

  const inTurn = limitOf(1); // two transactions of all projections would wait for each other's rows
  const fold = gathering(foldAll, { weigh: ({ batch }) => batch.records.length, full: options.batchLimit ?? BATCH_LIMIT });

  async function handle(batch: LogBatch, signal: AbortSignal): Promise<BatchAnswer> {
    const answer = (await fold({ batch, signal })).get(batch);
    if (answer === undefined) throw new TypeError('a batch was folded and has no answer');
    return answer;
  }

  /** Folds in a span that links to those that appended the records. */
  async function foldAll(given: readonly Delivery[]): Promise<ReadonlyMap<LogBatch, BatchAnswer>> {
    if (!isTracing()) return foldTogether(given);
    const batches = given.map(({ batch }) => batch);
    const position = new Map<string, Map<number, number>>();
    for (const { topic, partition, next } of batches)
      position.set(topic, (position.get(topic) ?? new Map<number, number>()).set(partition, next));
    const attributes = {
      'messaging.batch.message_count': batches.reduce((sum, { records }) => sum + records.length, 0),
      'espalier.position': formatPosition(position),
    };
    const links = batches.flatMap(({ traceparents = [] }) => traceparents);
    return inSpan('fold', { kind: 'consumer', attributes, links }, () => foldTogether(given));
  }

  async function foldTogether(given: readonly Delivery[]): Promise<ReadonlyMap<LogBatch, BatchAnswer>> {
    const started = performance.now();
    const signals = [...new Set(given.map((one) => one.signal))];
    const signal = signals.length === 1 && signals[0] ? signals[0] : AbortSignal.any(signals); // several: a member joined again
    const batches = given.map(({ batch }) => batch);
    const read = async () => markRepeated(database.db, await markSuperseded(database.db, await readSlices(database.db, batches)));
    const slices = await retry(read, whileDatabaseFaults(signal, onFault));
    const reached = await inTurn(() => offer(slices, signal));
    const answers = await Promise.all(
      slices.map((slice) => retry(() => answerTo(slice, reached.get(slice) ?? []), whileDatabaseFaults(signal))),
    );
    const ended = slices.filter((_, i) => answers[i]?.kind === 'done');
    notify(ended);
    const milliseconds = performance.now() - started;
    for (const { topic, partition, next, items } of ended) {
      done.set(`${topic}.${partition}`, { topic, partition, next });
      report({ kind: 'projected', topic, events: items.length, milliseconds });
    }
    return new Map(answers.map((answer, i) => [batches[i] as LogBatch, answer])); // one for each
  }

  /**
   * Offers slices to the projections that run and returns where each is afterwards. Database faults are waited out until the
   * signal; a projection that fails by anything else is stopped, unless another version took over, which is then offered them.
   */
  async function offer(slices: readonly Slice[], signal: AbortSignal): Promise<ReadonlyMap<Slice, readonly CursorMove[]>> {
    const reached = new Map(slices.map((slice) => [slice, [] as CursorMove[]]));
    let offers = projections.flatMap((projection) => offersTo(projection, slices));
    while (offers.length > 0) {
      const results = await retry(() => applySlices(database.db, offers), whileDatabaseFaults(signal, onFault));
      const gone: SliceOffer[] = [];
      for (const [offered, result] of results) {
        const { projection, slice } = offered;
        if ('error' in result && result.error instanceof VersionGone) {
          gone.push(offered);
          continue;
        }
        if ('error' in result) await retry(() => stop(projection, reasonOf(result.error)), whileDatabaseFaults(signal, onFault));
        else if (result.quarantined > 0) report({ kind: 'quarantined', projection: projection.name, count: result.quarantined });
        reached.get(slice)?.push({ projection, cursor: 'error' in result ? undefined : result.cursor });
      }
      if (gone.length > 0) await retry(followLive, whileDatabaseFaults(signal, onFault));
      offers = gone.flatMap(({ projection: { name }, slice }) =>
        projections.filter((projection) => projection.name === name).flatMap((projection) => offersTo(projection, [slice])),
      );
    }
    return reached;
  }

  function offersTo(projection: Projection, slices: readonly Slice[]): readonly SliceOffer[] {
    if (stopped.has(projection.name)) return [];
    const topics = topicsOf(projection);
    return slices.filter(({ topic }) => topics.includes(topic)).map((slice) => ({ projection, slice }));
  }

  async function answerTo({ topic, partition, from, next }: Slice, reached: readonly CursorMove[]): Promise<BatchAnswer> {
    const place = `${topic}.${partition}`;
    const lowest = reached.reduce((least, { cursor }) => Math.min(least, cursor ?? least), next);
    if (lowest < next) {
      if (rewound.get(place) !== lowest) {
        rewound.set(place, lowest);
        return { kind: 'rewind', to: lowest };
      }
      // The log was asked for this offset and began above it: what lies between is gone (retention), and folding on would be a
      // lie.
      for (const { projection, cursor } of reached)
        if (cursor !== undefined && cursor < from)
          await stop(projection, `the log no longer holds ${place} from ${cursor} to ${from}`);
    }
    rewound.delete(place);
    return { kind: 'done', next };
  }

  /** Waiters also poll: what is not heard is seen later. */
  function notify(moved: readonly Slice[]): void {
    const topics = [...new Set(moved.map(({ topic }) => topic))];
    if (topics.length === 0) return;
    const said = database.pool.query('select pg_notify($1, topic) from unnest($2::text[]) as topic', [CURSOR_CHANNEL, topics]);
    said.catch(() => undefined);
  }

  /** Takes each projection at the version that is live; one that only other code can fold is stopped here. */
  async function followLive(): Promise<void> {
    const live = await readLiveVersions(database.db);
    projections = await Promise.all(
      wanted.map(async (projection) => {
        const status = liveStatusOf(projection, live);
        if (status.kind === 'folds') return atVersion(projection, status.version);
        await stop(projection, status.reason);
        return projection;
      }),
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
      return smallest(active.map(cursorOf));
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

  /** The first reason counts: several partitions may stop a projection at once. */
  async function stop(projection: Projection, reason: string): Promise<void> {
    if (stopped.has(projection.name)) return;
    await database.db
      .updateTable('projections')
      .set({ state: 'stopped', reason: cutText(wellFormed(reason).value, 2_000) })
      .where('name', '=', projection.name)
      .where('state', '=', 'running')
      .execute();
    if (stopped.has(projection.name)) return;
    stopped.add(projection.name);
    report({ kind: 'stopped', projection: projection.name, reason });
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
      together: true,
      traced: isTracing(),
      onWaiting: (reason) => report({ kind: 'retrying', reason }),
    });
  };
  return resubscribeOnRegression(subscribe, regressed);
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
