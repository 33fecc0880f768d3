import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { prepareEvents } from '../append/prepare-events.ts';
import { TOPICS } from '../events/catalogue.ts';
import { DEFAULT_STAMP } from '../events/envelope.ts';
import type { EventLog, SubscribeOptions } from '../log/event-log.ts';
import { openPlatform, type Platform } from '../platform/open-platform.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { readModels } from '../testing/read-models.ts';
import { until } from '../testing/until.ts';
import type { Projection } from './projection.ts';
import { projections } from './registry.ts';
import { runProjections } from './runner.ts';
import { runs } from './runs/runs.ts';
import { isProjected } from './wait-until.ts';

/**
 * Describes what a projector that froze in the middle of its work does when it wakes after its partition went to another one,
 * over one event log.
 * @param replace ends the membership of the frozen one, as its silence would; left out where the log sees a silent handler.
 */
export function describeLateCommit(open: () => Promise<Platform>, replace?: (platform: Platform) => Promise<unknown>): void {
  let platform: Platform;
  let other: Platform;
  beforeAll(async () => {
    platform = await open();
    other = await openPlatform({ ...platform.config, kafkaSessionMs: 6_000 }, 'frozen');
  });
  afterAll(async () => {
    await other.close();
    await platform.close();
  });

  test.each(['before its transaction', 'in its transaction', 'before its commit'] as const)(
    'a projector that froze %s commits nothing when it wakes after another one folded the same records',
    async (place) => {
      let [freeze, wake] = [() => {}, () => {}];
      const frozen = new Promise<void>((resolve) => {
        freeze = resolve;
      });
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const stop = async () => {
        freeze();
        await woken;
      };
      let tries = 0;
      // What it commits late would be seen: it sets every record aside.
      const wrong: Projection = {
        ...runs,
        async project(batch, trx) {
          if (tries++ > 0) return runs.project(batch, trx);
          if (place === 'in its transaction') await stop();
          if (place === 'before its commit') {
            await runs.project(batch, trx);
            await stop();
          }
          return batch.map((delivery) => ({ delivery, code: 'range', field: 'data', reason: 'was committed late' }));
        },
      };
      let handed = 0;
      const subscribe = (options: SubscribeOptions) =>
        other.log.subscribe({
          ...options,
          async handle(batch, signal) {
            if (place === 'before its transaction' && batch.topic === 'runs' && handed++ === 0) await stop();
            return options.handle(batch, signal);
          },
        });
      const log: EventLog = { ...other.log, subscribe };
      const reports: string[] = [];
      const first = await runProjections({
        log,
        database: other.database,
        projections: projections.map((each) => (each === runs ? wrong : each)),
        report: (report) => reports.push(report.kind),
      });
      const builder = new EventBuilder(place);
      builder.walk(builder.tree(builder.run()), 0, 3, 1);
      await platform.log.append(await prepareEvents(builder.events, platform.blobs, DEFAULT_STAMP));
      await frozen;
      await replace?.(platform);
      const second = await runProjections({ log: platform.log, database: platform.database });
      try {
        await until(async () => isProjected(platform.database.db, await platform.log.ends(TOPICS)));
        const folded = await readModels(platform.database.db, ['updated_at']);
        wake();
        await first.close(); // behind what it was at
        expect(await readModels(platform.database.db, ['updated_at'])).toEqual(folded);
        expect(await platform.database.db.selectFrom('quarantine').select(['reason']).execute()).toEqual([]);
        expect(reports).not.toContain('quarantined');
        expect(reports).not.toContain('stopped');
      } finally {
        wake();
        await first.close();
        await second.close();
      }
    },
  );
}
