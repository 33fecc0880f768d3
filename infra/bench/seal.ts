import { prepareEvents } from '../../src/append/prepare-events.ts';
import type { Envelope } from '../../src/events/envelope.ts';
import { DEFAULT_STAMP } from '../../src/events/envelope.ts';
import type { EventLog } from '../../src/log/event-log.ts';
import { sealingLog } from '../../src/log/sealing-log.ts';
import { type Platform, sealsOf } from '../../src/platform/open-platform.ts';
import { runProjections } from '../../src/projections/runner.ts';
import { waitUntilProjected } from '../../src/projections/wait-until.ts';
import type { Outcome } from './outcome.ts';
import { median } from './percentile.ts';
import type { Size, Stage } from './stage.ts';
import { openStagePlatform } from './stage-platform.ts';
import { GROUP, meanStepBytes, recordTrajectories } from './trajectories.ts';

const TREES: Record<Size, number> = { full: 100, quick: 2 };
const ROUNDS: Record<Size, number> = { full: 7, quick: 1 };
const BATCH = 500;
const WAIT_MS = 300_000;

/**
 * Measures what sealing costs: events are prepared, sealed and appended to the embedded log, and projected from it, against the
 * same in the clear. Rounds alternate, each with trees (and so keys) of its own. By processor time (`getrusage` of this process,
 * without that of Postgres) the figures hold on a machine that does other things too.
 */
export async function benchSeal(stage: Stage): Promise<Outcome> {
  const platform = await openStagePlatform(stage);
  const sealing = sealingLog(platform.log, sealsOf(platform.database.db, true));
  const rates = () => ({ sealed: [] as number[], clear: [] as number[] });
  const [appended, projected, appendedByCpu, projectedByCpu] = [rates(), rates(), rates(), rates()];
  let events: readonly Envelope[] = [];
  for (let round = -1; round < ROUNDS[stage.size]; round++) {
    for (const way of ['sealed', 'clear'] as const) {
      events = recordTrajectories({ ...GROUP, trees: TREES[stage.size], name: `${way} ${round}` });
      const append = await timed(() => appendAll(way === 'sealed' ? sealing : platform.log, platform, events));
      await platform.database.pool.query('checkpoint');
      const project = await timed(() => projectAll(platform));
      if (round < 0) continue; // the first round warms up
      appended[way].push(events.length / append.seconds);
      projected[way].push(events.length / project.seconds);
      appendedByCpu[way].push(events.length / append.cpu);
      projectedByCpu[way].push(events.length / project.cpu);
    }
  }
  const figure = (name: string, { sealed, clear }: typeof appended) => ({
    name,
    value: median(sealed),
    unit: 'events/s' as const,
    baseline: { name: 'in the clear', value: median(clear), unit: 'events/s' as const },
    goal: { kind: 'ratio', least: 0.45 } as const, // appends 0.52, projections 0.83 by processor time, at events of 1 KB
  });
  return {
    bench: 'seal',
    figures: [
      figure('prepare and append sealed events', appended),
      figure('project sealed events', projected),
      figure('prepare and append, by processor time', appendedByCpu),
      figure('project, by processor time', projectedByCpu),
    ],
    conditions: {
      events: events.length,
      rounds: `${ROUNDS[stage.size]}, the median`,
      'bytes per StepTaken': meanStepBytes(events),
      batch: BATCH,
      ...stage.conditions(),
    },
  };
}

async function appendAll(log: EventLog, { blobs }: Platform, events: readonly Envelope[]): Promise<void> {
  for (let from = 0; from < events.length; from += BATCH)
    await log.append(await prepareEvents(events.slice(from, from + BATCH), blobs, DEFAULT_STAMP));
}

async function projectAll({ log, database }: Platform): Promise<void> {
  const projecting = await runProjections({ log, database });
  const target = await log.ends(['runs', 'trees']);
  await waitUntilProjected(database.db, target, { timeoutMs: WAIT_MS, pollMs: 20 });
  await projecting.close();
}

/** Returns the seconds it took, and those of a processor. */
async function timed(work: () => Promise<void>): Promise<{ readonly seconds: number; readonly cpu: number }> {
  const [began, from] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(from);
  return { seconds: (performance.now() - began) / 1_000, cpu: (user + system) / 1_000_000 };
}
