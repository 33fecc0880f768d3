import { setTimeout as delay } from 'node:timers/promises';
import { TOPICS } from '../../src/events/catalogue.ts';
import type { EventLog } from '../../src/log/event-log.ts';
import { runProjections } from '../../src/projections/runner.ts';
import { waitUntilProjected } from '../../src/projections/wait-until.ts';
import type { Figure, Outcome } from './outcome.ts';
import { percentile } from './percentile.ts';
import type { Size, Stage, StageDatabase } from './stage.ts';
import { EVENTS_PER_GROUP, GROUP, interleave, recordsOf, recordTrajectories } from './trajectories.ts';
import { watchCursors } from './watch-cursors.ts';

const PER_SECOND = 2_000;
const TICK_MS = 10;
const SECONDS: Record<Size, number> = { full: 20, quick: 2 };
const WARM_UP_SECONDS: Record<Size, number> = { full: 5, quick: 1 };
const TREES_AT_ONCE = 32;
const PARTITIONS = 8;

/**
 * Measures how long after the call of `append` an event is visible in the tables of journal and step tree, at a steady 2,000
 * events/s, on both logs. The baseline is the append alone: how long until the event is durable.
 */
export async function benchLag(stage: Stage): Promise<Outcome> {
  const other = stage.another(); // a database of its own per log: cursors are offsets of one log
  const figures = [
    ...(await measureLag(stage.size, await stage.database(), 'Kafka', await stage.kafkaLog())),
    ...(await measureLag(stage.size, await other.database(), 'the embedded log', await other.embeddedLog())),
  ];
  return {
    bench: 'lag',
    figures,
    conditions: {
      'events/s': PER_SECOND,
      seconds: SECONDS[stage.size],
      'append calls/s': 1_000 / TICK_MS,
      'trees at once': TREES_AT_ONCE,
      partitions: PARTITIONS,
      'producer and projector': 'one process',
      ...stage.conditions(),
    },
  };
}

async function measureLag(size: Size, database: StageDatabase, name: string, log: EventLog): Promise<readonly Figure[]> {
  await log.ensureTopics(TOPICS, PARTITIONS);
  const warmUp = WARM_UP_SECONDS[size] * PER_SECOND;
  const count = warmUp + SECONDS[size] * PER_SECOND;
  const records = recordsOf(
    interleave(recordTrajectories({ ...GROUP, trees: Math.ceil(count / EVENTS_PER_GROUP), name }), TREES_AT_ONCE),
  );
  const projecting = await runProjections({ log, database });
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
    name: `append to queryable on ${name}, p${share * 100}`,
    value: percentile(queryable, share),
    unit: 'ms',
    baseline: { name: 'append to durable', value: percentile(durable, share), unit: 'ms' },
    goal: share === 0.99 ? { kind: 'below', limit: 250 } : null,
  }));
}
