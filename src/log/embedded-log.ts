import { openPool } from '../postgres/pool.ts';
import { closeWithin } from '../runtime/close-in-turn.ts';
import { doubling, retry } from '../runtime/retry.ts';
import { EmbeddedAppender } from './embedded-log-appender.ts';
import { logFault } from './embedded-log-fault.ts';
import { openGrowthNotices } from './embedded-log-growth.ts';
import { subscribeEmbedded } from './embedded-log-subscription.ts';
import {
  ensureTopics,
  findTopics,
  readBegunSince,
  readEnds,
  readExtents,
  readUnread,
  refuseUnknown,
} from './embedded-log-topics.ts';
import { type EventLog, LogError, type Subscription } from './event-log.ts';

export interface EmbeddedLogOptions {
  /** The address of a migrated database (migrations/0001-log.sql). */
  readonly url: string;
  /** The same database with sessions of one's own, for subscriptions; by default `url`, whose sessions are one's own then. */
  readonly directUrl?: string;
  /** How long a lost connection is tried again before appends and subscriptions fail, ms. */
  readonly patienceMs?: number;
  /** How long a member of a group may be silent before its partitions go to others, ms. */
  readonly leaseMs?: number;
}

const PATIENCE_MS = 30_000; // a restart of Postgres with its recovery takes seconds
// A process that is stopped or starved for longer is replaced, and comes back as another member.
const LEASE_MS = 10_000;
const CONNECTIONS = 3; // one for appends, the others for ends and ensureTopics; each subscription has one of its own

/**
 * Opens the log that lives in tables of Postgres: the promises of the Kafka log for the processes of one machine. Who opens
 * closes.
 * @throws LogError `unreachable` when nobody answers at the address.
 */
export async function openEmbeddedLog({
  url,
  directUrl = url,
  patienceMs = PATIENCE_MS,
  leaseMs = LEASE_MS,
}: EmbeddedLogOptions): Promise<EventLog> {
  const pool = openPool(url, { max: CONNECTIONS, applicationName: 'espalier log' });
  const grown = openGrowthNotices(pool);
  const appender = new EmbeddedAppender(pool, grown, { patienceMs, sessions: url === directUrl });
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
    },
    append: (records) => appender.append(records),
    async whilePlaced(of, work) {
      const partitionId = await appender.place(of);
      const done = await work(partitionId);
      if (partitionId !== undefined) grown.notify([partitionId]);
      return done;
    },
    async subscribe(options) {
      refuseClosed();
      const found = await findTopics(pool, options.topics).catch((error: unknown) => {
        throw logFault(`subscribing as group ${options.group}`, error);
      });
      refuseUnknown(options.topics, found);
      const subscription = await subscribeEmbedded(directUrl, [...found.values()], options, { patienceMs, leaseMs });
      subscriptions.set(subscription, options.group);
      const forget = () => subscriptions.delete(subscription);
      subscription.finished.then(forget, forget);
      if (closed) await subscription.close(); // closed while it joined
      refuseClosed();
      return subscription;
    },
    async identity() {
      return 'embedded'; // it lies in the database whose read models are folded from it
    },
    async ends(topics) {
      refuseClosed();
      return retry(() => readEnds(pool, topics), {
        pauseMs: doubling(50, 2_000),
        again: ({ error, elapsedMs, pauseMs }) =>
          error instanceof LogError && error.retryable && !closed && elapsedMs + pauseMs <= patienceMs,
      });
    },
    async extents(topics) {
      refuseClosed();
      return readExtents(pool, topics);
    },
    async begunSince(times) {
      refuseClosed();
      return readBegunSince(pool, times);
    },
    async unread(group, topics) {
      refuseClosed();
      return readUnread(pool, group, topics);
    },
    undated: async () => [], // the table has a time for every record
    date: async () => undefined,
    close() {
      closed ??= closeAll();
      return closed;
    },
  };

  function refuseClosed(): void {
    if (closed) throw new LogError('closed', 'the log is closed');
  }

  async function closeAll(): Promise<void> {
    await Promise.all([
      closeWithin({ what: 'the appends of the log', close: () => appender.close().then(() => grown.close()) }),
      ...[...subscriptions].map(([subscription, group]) =>
        closeWithin({ what: `the subscription of the group ${group}`, close: () => subscription.close() }),
      ),
    ]).finally(() => closeWithin({ what: "the log's connections", close: () => pool.end() }));
  }
}
