import { setTimeout as delay } from 'node:timers/promises';
import { startInThread } from '../../src/app/start-in-thread.ts';
import { TOPICS } from '../../src/events/catalogue.ts';
import type { EventLog, Receipt } from '../../src/log/event-log.ts';
import { listen } from '../../src/postgres/notices.ts';
import { CURSOR_CHANNEL } from '../../src/projections/moved-cursors.ts';
import { readCursors } from '../../src/projections/projection-statuses.ts';
import { waitUntilProjected } from '../../src/projections/wait-until.ts';
import { readConfig } from '../../src/runtime/config.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import { type BenchResult, type Figure, percentile } from './bench-result.ts';
import { homeOf, type Size, type Stage, type StageDatabase } from './stage.ts';
import { EVENTS_PER_GROUP, GROUP, interleave, recordsOf, recordTrajectories } from './trajectories.ts';

const TICK_MS = 10;
const PER_SECOND = 2_000;
const LIMIT_MS = 100;
const SECONDS: Record<Size, number> = { full: 20, quick: 2 };
const WARM_UP_SECONDS: Record<Size, number> = { full: 5, quick: 1 };
const TREES_AT_ONCE = 32;
const PARTITIONS = 8;

/**
 * Measures how long after the call of `append` an event is visible in the tables of journal and step tree, at a steady 2,000
 * events/s, on both logs. The baseline is the append alone: how long until the event is durable.
 */
export async function benchLag(stage: Stage): Promise<BenchResult> {
  const other = stage.another(); // a database of its own per log: cursors are offsets of one log
  const logs = [
    { name: 'Kafka', kind: 'kafka', stage, database: await stage.database(), log: await stage.kafkaLog() },
    {
      name: 'the embedded log',
      kind: 'embedded',
      stage: other,
      database: await other.database(),
      log: await other.embeddedLog(),
    },
  ] as const;
  const figures: Figure[] = [];
  for (const { database } of logs) await recycleWal(database, stage.size);
  for (const on of logs) figures.push(...(await measureLag(stage.size, on)));
  return {
    bench: 'lag',
    figures,
    conditions: {
      seconds: SECONDS[stage.size],
      'append calls/s': 1_000 / TICK_MS,
      'trees at once': TREES_AT_ONCE,
      partitions: PARTITIONS,
      'producer and projector': 'threads of one process, as of `espalier up`',
      'files of the WAL': 'used before',
      ...stage.conditions(),
    },
  };
}

const WAL_FILES: Record<Size, number> = { full: 24, quick: 1 }; // of 16 MB: more than a run writes

/**
 * Fills files of the write-ahead log and has Postgres keep them for what comes: those of a database that has just been made are
 * filled with zeros one by one while all commits wait (35 to 80 ms each), until the first checkpoint.
 */
async function recycleWal({ pool }: StageDatabase, size: Size): Promise<void> {
  for (let file = 0; file < WAL_FILES[size]; file++)
    await pool.query(`select pg_logical_emit_message(false, 'bench', repeat('x', 16000000))`);
  await pool.query('checkpoint');
}

interface On {
  readonly name: string;
  readonly kind: 'kafka' | 'embedded';
  readonly stage: Stage;
  readonly database: StageDatabase;
  readonly log: EventLog;
}

async function measureLag(size: Size, { name, kind, stage, database, log }: On): Promise<readonly Figure[]> {
  await log.ensureTopics(TOPICS, PARTITIONS);
  const warmUp = WARM_UP_SECONDS[size] * PER_SECOND;
  const count = warmUp + SECONDS[size] * PER_SECOND;
  const records = recordsOf(
    interleave(recordTrajectories({ ...GROUP, trees: Math.ceil(count / EVENTS_PER_GROUP), name: name }), TREES_AT_ONCE),
  );
  const config = readConfig({ ESPALIER_HOME: await homeOf(stage), ...(await stage.settings(kind)) });
  const urls = { databaseUrl: database.url, directUrl: database.url };
  const projecting = await startInThread('project', { config, ...urls, metrics: createMetrics() }, SILENT);
  const watching = await watchCursors(database, ['journal', 'step-tree']);

  const queryable: number[] = [];
  const durable: number[] = [];
  const perTick = (PER_SECOND * TICK_MS) / 1_000;
  const began = performance.now();
  const pending: Promise<void>[] = [];
  for (let sent = 0; sent < count; sent += perTick) {
    const due = began + (sent / PER_SECOND) * 1_000;
    const early = due - performance.now();
    if (early > 0) await delay(early);
    pending.push(appendOne(sent));
  }
  await Promise.all(pending);
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: 60_000 });
  await watching.close();
  await projecting.close();

  async function appendOne(from: number): Promise<void> {
    const called = performance.now();
    const receipts = await log.append(records.slice(from, from + perTick));
    const acknowledged = performance.now();
    for (const receipt of receipts) {
      if (receipt.topic !== 'trees') continue; // the step tree never moves on the others
      void watching.passed(receipt).then((at) => {
        if (from < warmUp) return;
        queryable.push(at - called);
        durable.push(acknowledged - called);
      });
    }
  }
  return [0.5, 0.99].map((share) => ({
    name: `append to queryable on ${name}, ${PER_SECOND.toLocaleString('en')} events/s, p${share * 100}`,
    value: percentile(queryable, share),
    unit: 'ms',
    baseline: { name: 'append to durable', value: percentile(durable, share), unit: 'ms' },
    floor: share === 0.99 ? { kind: 'below', limit: LIMIT_MS } : null,
  }));
}

interface CursorWatch {
  /** Resolves with the time (performance.now) at which every watched projection was seen past the record. */
  passed(receipt: Receipt): Promise<number>;
  close(): Promise<void>;
}

/** Watches cursors as a waiting reader does: each notice of the projector is a hint to look. */
async function watchCursors(database: StageDatabase, projections: readonly string[]): Promise<CursorWatch> {
  const waiting = new Map<string, { readonly offset: number; readonly resolve: (at: number) => void }[]>();
  let looking: Promise<void> | undefined;
  let again = false;

  async function look(): Promise<void> {
    do {
      again = false;
      const cursors = await readCursors(database.db);
      const at = performance.now();
      for (const [place, waiters] of waiting) {
        const [topic = '', partition = ''] = place.split('/');
        const next = Math.min(...projections.map((name) => cursors.get(name)?.get(topic)?.get(Number(partition)) ?? 0));
        for (const { resolve } of waiters.filter(({ offset }) => offset < next)) resolve(at);
        waiting.set(
          place,
          waiters.filter(({ offset }) => offset >= next),
        );
      }
    } while (again);
  }
  const hint = (): void => {
    again = true;
    looking ??= look().finally(() => {
      looking = undefined;
    });
  };
  const listening = await listen(database.url, [CURSOR_CHANNEL], hint);
  return {
    passed({ topic, partition, offset }) {
      return new Promise((resolve) => {
        const place = `${topic}/${partition}`;
        waiting.set(place, [...(waiting.get(place) ?? []), { offset, resolve }]);
        hint(); // it may be past already
      });
    },
    async close() {
      await listening.close();
      await looking;
    },
  };
}
