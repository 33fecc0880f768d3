import { openPool } from '../postgres/pool.ts';
import { closeWithin } from '../runtime/close-in-turn.ts';
import { gathering } from '../runtime/gathering.ts';
import { doubling, retry } from '../runtime/retry.ts';
import { AppendQueue, type QueuedRecord } from './append-queue.ts';
import { logFault } from './embedded-log-fault.ts';
import { subscribeEmbedded } from './embedded-log-reader.ts';
import { restoreRecords } from './embedded-log-restore.ts';
import { CHANNEL } from './embedded-log-session.ts';
import {
  ensureTopics,
  findTopics,
  type LogTopic,
  type Pool,
  readEnds,
  readExtents,
  readUnread,
  refuseUnknown,
} from './embedded-log-topics.ts';
import { type EventLog, LogError, type LogRecord, type Subscription } from './event-log.ts';
import { partitionOf } from './partition-for-key.ts';

export interface EmbeddedLogOptions {
  /** The address of a migrated database (migrations/0001-log.sql). */
  readonly url: string;
  /** The same database with sessions of one's own, for subscriptions; by default `url`, whose sessions are one's own then. */
  readonly directUrl?: string;
  /** How long a lost connection is tried again before an append fails, ms. A subscription waits until it is closed. */
  readonly patienceMs?: number;
  /** How long a member of a group may be silent before its partitions go to others, ms. */
  readonly leaseMs?: number;
}

const PATIENCE_MS = 30_000; // a restart of Postgres with its recovery takes seconds
// A process that is stopped or starved for longer is replaced, and comes back as another member.
const LEASE_MS = 10_000;
const DROP_TRACES_MS = 60_000;
const MOST_NAMED = 500; // partitions of one notice, which has at most 8,000 bytes
const CONNECTIONS = 3; // one for appends, the others for ends and ensureTopics; each subscription has one of its own

/**
 * Opens the log that is stored in tables of Postgres: the promises of the Kafka log for the processes of one machine. The caller
 * closes it. Appends that queue up during a transaction share the next one: thirty-two single appends cost about as many syncs to
 * disk as two. A transaction whose answer was lost may then be in the log twice, as after any redelivery.
 * @throws LogError `unreachable` when no server answers at the address.
 */
export async function openEmbeddedLog({
  url,
  directUrl = url,
  patienceMs = PATIENCE_MS,
  leaseMs = LEASE_MS,
}: EmbeddedLogOptions): Promise<EventLog> {
  const pool = openPool(url, { max: CONNECTIONS, applicationName: 'espalier log' });
  const known = new Map<string, LogTopic>();
  const queue = new AppendQueue({ place, send });
  // Sent after the commit of an append. Within it they would have all appends of the server wait for the disk one after the other:
  // a transaction that notifies holds one lock for all of them until it is durable. One that is lost with its process delays
  // readers until they look by themselves.
  const sendNotices = gathering((ids: readonly (readonly number[])[]) => {
    const grown = [...new Set(ids.flat())];
    return pool.query('select pg_notify($1, $2)', [CHANNEL, grown.length > MOST_NAMED ? '' : grown.join(',')]);
  });
  let nextDrop = 0;
  let noticed: Promise<unknown> = Promise.resolve();
  const subscriptions = new Map<Subscription, string>();
  let closed: Promise<void> | undefined;
  try {
    (await pool.connect()).release();
  } catch (error) {
    await pool.end();
    throw logFault('opening the log', error);
  }
  return {
    async ensureTopics(topics, partitions) {
      refuseClosed();
      await ensureTopics(pool, topics, partitions);
      await learnTopics(topics.map((topic) => ({ topic }))); // what is known stays: partitions that are added move no stream
    },
    append: (records) => queue.append(records),
    async whilePlaced(of, work) {
      refuseClosed();
      await learnTopics([of]);
      const partitionId = partitionIdOf(known, of.topic, partitionOf(of, partitionsOf(of.topic)));
      const result = await work(partitionId);
      notify([partitionId]);
      return result;
    },
    async restore(batch) {
      refuseClosed();
      await learnTopics([batch]);
      const partitionId = partitionIdOf(known, batch.topic, batch.partition);
      await restoreRecords(pool, partitionId, batch);
      notify([partitionId]);
    },
    async subscribe(options) {
      refuseClosed();
      const found = await findTopics(pool, options.topics).catch((error: unknown) => {
        throw logFault(`subscribing as group ${options.group}`, error);
      });
      refuseUnknown(options.topics, found);
      const subscription = await subscribeEmbedded(directUrl, [...found.values()], options, leaseMs);
      subscriptions.set(subscription, options.group);
      const forget = () => subscriptions.delete(subscription);
      subscription.finished.then(forget, forget);
      if (closed) await subscription.close(); // closed while it joined
      refuseClosed();
      return subscription;
    },
    async identity() {
      return 'embedded'; // it is stored in the database whose read models are folded from it
    },
    async ends(topics) {
      refuseClosed();
      return withRetry(
        'reading the ends of the log',
        () => readEnds(pool, topics),
        () => closed === undefined,
      );
    },
    async extents(topics) {
      refuseClosed();
      return readExtents(pool, topics);
    },
    async unread(group, topics) {
      refuseClosed();
      return readUnread(pool, group, topics);
    },
    close() {
      closed ??= closeAll();
      return closed;
    },
  };

  async function place(records: readonly LogRecord[]): Promise<readonly QueuedRecord[]> {
    await learnTopics(records);
    return records.map((record) => ({ record, partition: partitionOf(record, partitionsOf(record.topic)) }));
  }

  async function send(records: readonly QueuedRecord[]): Promise<readonly number[]> {
    const { offsets, partitionIds } = await withRetry('appending', () => appendRecords(pool, known, records, url === directUrl));
    notify(partitionIds);
    if (records.some(({ record }) => record.traceparent !== undefined)) dropOldTraces();
    return offsets;
  }

  /** Of an installation whose projector does not trace nobody takes them. */
  function dropOldTraces(): void {
    if (performance.now() < nextDrop) return;
    nextDrop = performance.now() + DROP_TRACES_MS;
    pool.query("delete from append_traces where appended_at < now() - interval '1 hour'").catch(() => undefined);
  }

  /** @throws LogError `unknown-topic`. */
  async function learnTopics(records: readonly Pick<LogRecord, 'topic'>[]): Promise<void> {
    const topics = [...new Set(records.map(({ topic }) => topic))];
    const missing = topics.filter((topic) => !known.has(topic));
    if (missing.length === 0) return;
    for (const [name, topic] of await withRetry('appending', () => findTopics(pool, missing))) known.set(name, topic);
    refuseUnknown(topics, known);
  }

  function partitionsOf(topic: string): number {
    return known.get(topic)?.partitionIds.length ?? 0;
  }

  function notify(partitionIds: readonly number[]): void {
    noticed = sendNotices(partitionIds).catch(() => undefined);
  }

  function withRetry<T>(what: string, work: () => Promise<T>, may: () => boolean = () => true): Promise<T> {
    return retry(work, {
      pauseMs: doubling(50, 2_000),
      again: ({ error, elapsedMs, pauseMs }) => {
        const fault = logFault(what, error);
        if (!fault.retryable || !may() || elapsedMs + pauseMs > patienceMs) throw fault;
        return true;
      },
    });
  }

  function refuseClosed(): void {
    if (closed) throw new LogError('closed', 'the log is closed');
  }

  async function closeAll(): Promise<void> {
    await Promise.all([
      closeWithin({ what: 'the appends of the log', close: () => queue.close().then(() => noticed) }),
      ...[...subscriptions].map(([subscription, group]) =>
        closeWithin({ what: `the subscription of the group ${group}`, close: () => subscription.close() }),
      ),
    ]).finally(() => closeWithin({ what: "the log's connections", close: () => pool.end() }));
  }
}

const FENCED = 'ESPFE'; // the SQLSTATE of log_write_fenced

/**
 * Appends records in one transaction. The statement and its locking are `log_write` in migrations/0001-log.sql; where collectors
 * append, `log_write_fenced`. @param topics must know every topic of the records. @param sessions whether the pool's connections
 * keep what was prepared on them: a pooler that lends them by the transaction would meet a statement's name on another one.
 * @throws LogError `fenced` when another collector took over a run.
 */
async function appendRecords(
  pool: Pool,
  topics: ReadonlyMap<string, LogTopic>,
  records: readonly QueuedRecord[],
  sessions: boolean,
): Promise<{ readonly offsets: readonly number[]; readonly partitionIds: readonly number[] }> {
  const places = records.map(({ record, partition }) => partitionIdOf(topics, record.topic, partition));
  const ids = [...new Set(places)].sort((a, b) => a - b);
  const slotOf = new Map(ids.map((id, i) => [id, i]));
  const counts = ids.map(() => 0);
  const slots = places.map((id) => slotOf.get(id) ?? 0);
  const ranks = slots.map((slot) => {
    const rank = counts[slot] ?? 0;
    counts[slot] = rank + 1;
    return rank;
  });
  const lengths = records.map(({ record }) => record.value.byteLength);
  let end = 0;
  const starts = lengths.map((length) => {
    end += length;
    return end - length;
  });
  const bodies = Buffer.concat(
    records.map(({ record }) => record.value),
    end,
  );
  const keys = records.map(({ record }) => record.key);
  const values = [ids, counts, slots.map((slot) => slot + 1), ranks, keys, starts, lengths, bodies];
  const firsts = await append(pool, values, { fences: fencesOf(records), traces: tracesOf(records, slots, ranks), sessions });
  return { offsets: slots.map((slot, i) => (firsts[slot] ?? Number.NaN) + (ranks[i] ?? 0)), partitionIds: ids };
}

function partitionIdOf(topics: ReadonlyMap<string, LogTopic>, topic: string, partition: number): number {
  const id = topics.get(topic)?.partitionIds[partition];
  if (id === undefined) throw new TypeError(`partition ${partition} of ${topic} was not looked up`);
  return id;
}

interface AppendOptions {
  readonly fences: ReadonlyMap<string, number>;
  readonly traces: readonly Trace[];
  readonly sessions: boolean;
}

/** Where the first record of a trace goes: the partition in order, from 1, and its place among the records there. */
interface Trace {
  readonly slot: number;
  readonly rank: number;
  readonly traceparent: string;
}

function tracesOf(records: readonly QueuedRecord[], slots: readonly number[], ranks: readonly number[]): readonly Trace[] {
  const traces = new Map<string, Trace>();
  for (const [i, { record }] of records.entries()) {
    const { traceparent } = record;
    if (traceparent === undefined || traces.has(`${slots[i]} ${traceparent}`)) continue;
    traces.set(`${slots[i]} ${traceparent}`, { slot: (slots[i] ?? 0) + 1, rank: ranks[i] ?? 0, traceparent });
  }
  return [...traces.values()];
}

/** Returns the first offset in each partition. */
async function append(
  pool: Pool,
  values: readonly unknown[],
  { fences, traces, sessions }: AppendOptions,
): Promise<readonly number[]> {
  const fenced = fences.size > 0;
  const written = fenced ? 'log_write_fenced' : 'log_write';
  const all = fenced ? [[...fences.keys()], [...fences.values()], ...values] : [...values];
  const places = all.map((_, i) => `$${i + 1}`).join(', ');
  const ids = fenced ? 3 : 1;
  const traced = traces.length > 0;
  if (traced) for (const of of ['slot', 'rank', 'traceparent'] as const) all.push(traces.map((trace) => trace[of]));
  const name = traced ? `${written}_traced` : written;
  try {
    // Without a name Postgres plans each append for its values and copies half a megabyte of them: 11 us of its CPU per event,
    // 7.5 with one (batches of 500).
    const { rows } = await pool.query<{ firsts: string[] }>({
      ...(sessions ? { name } : {}),
      text: traced
        ? `with written as materialized (select ${written}(${places}) as firsts), noted as (
             insert into append_traces (partition_id, "offset", traceparent)
             select ($${ids}::integer[])[t.slot], w.firsts[t.slot] + t.rank, t.traceparent
             from written w, unnest($${all.length - 2}::integer[], $${all.length - 1}::integer[], $${all.length}::text[]) as t (slot, rank, traceparent))
           select firsts::text[] from written`
        : `select ${written}(${places})::text[] as firsts`,
      values: all,
    });
    return rows[0]?.firsts.map(Number) ?? [];
  } catch (error) {
    if ((error as { code?: unknown } | null)?.code !== FENCED) throw error;
    throw new LogError('fenced', 'another collector took over the run', { cause: error });
  }
}

/** The lowest epoch of each run that collectors append to. */
function fencesOf(records: readonly QueuedRecord[]): ReadonlyMap<string, number> {
  const fences = new Map<string, number>();
  for (const { record } of records) {
    const { fence } = record;
    if (fence) fences.set(fence.runId, Math.min(fence.epoch, fences.get(fence.runId) ?? fence.epoch));
  }
  return fences;
}
