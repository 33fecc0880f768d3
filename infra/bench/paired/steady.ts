import { setTimeout as delay } from 'node:timers/promises';
import type { EventLog } from '../../../src/log/event-log.ts';
import { percentile } from '../percentile.ts';
import { EVENTS_PER_GROUP, interleave } from '../trajectories.ts';
import { watchCursors } from '../watch-cursors.ts';
import { type Ground, measured, type Round } from './works.ts';

const TICK_MS = 10;
const TREES_AT_ONCE = 32;
const WARM_UP = 0.2; // of a round, which says nothing of how long an event waits
const PARTITIONS = 8;

/** Appends at a steady rate while the projector runs, and measures how long after its append a step lies in journal and tree. */
export async function openSteady(ground: Ground, log: EventLog, perSecond: number): Promise<() => Promise<Round>> {
  const { checkout, database, server, trees } = ground;
  await log.ensureTopics(checkout.TOPICS, PARTITIONS);
  const projecting = await checkout.runProjections({ log, database });
  const watching = await watchCursors(database, ['journal', 'step-tree']);
  ground.stage.closing(async () => {
    await watching.close();
    await projecting.close();
  });
  let round = 0;
  return async () => {
    const events = checkout.recordTrajectories({ ...checkout.GROUP, trees, name: `steady ${round++}` });
    const records = checkout.recordsOf(interleave(events, TREES_AT_ONCE)).slice(0, trees * EVENTS_PER_GROUP);
    const perTick = (perSecond * TICK_MS) / 1_000;
    const waited: number[] = [];
    const pending: Promise<void>[] = [];
    const appendOne = async (from: number): Promise<void> => {
      const called = performance.now();
      const receipts = await log.append(records.slice(from, from + perTick));
      const seen = receipts
        .filter(({ topic }) => topic === 'trees') // the step tree never moves on the others
        .map(async (receipt) => {
          const at = await watching.passed(receipt);
          if (from > records.length * WARM_UP) waited.push(at - called);
        });
      await Promise.all(seen);
    };
    const took = await measured(server, records.length, async () => {
      const began = performance.now();
      for (let sent = 0; sent < records.length; sent += perTick) {
        const early = began + (sent / perSecond) * 1_000 - performance.now();
        if (early > 0) await delay(early);
        pending.push(appendOne(sent));
      }
      await Promise.all(pending);
    });
    return { ...took, waited: { p50: percentile(waited, 0.5), p99: percentile(waited, 0.99) } };
  };
}
