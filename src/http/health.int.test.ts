import { expect, test } from '@jest/globals';
import { projections } from '../projections/registry.ts';
import { runProjections } from '../projections/runner.ts';
import { until } from '../testing/until.ts';
import { useTestPlatform } from '../testing/use-test-platform.ts';
import { systemHealth } from './health.ts';
import { watchStalls } from './stalled-projections.ts';
import { watchUnread } from './unread-partitions.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'none' });

test('an installation without records is not healthy while nobody would project the next one, and healthy once a projector reads', async () => {
  const clock = { now: 0 };
  const now = () => clock.now;
  const watches = { stalls: watchStalls(now), unread: watchUnread(now) };
  const look = async (): Promise<{ status: number; healthy: boolean; reasons: string[] }> => {
    const { database, log } = platform;
    const { status, body } = await systemHealth({ db: database.db, log, projections }, watches, { projects: 'all' });
    return { status, ...JSON.parse(String(body)) };
  };
  expect(await look()).toMatchObject({ status: 200, reasons: [] }); // a projector may be on its way
  clock.now = 15_001;
  expect(await look()).toMatchObject({
    status: 503,
    healthy: false,
    reasons: [
      expect.stringMatching(
        /^no projection worker has read \w+\.0, \w+\.1, \w+\.2 and \d+ more partitions for over 15 s; start one, and look at the one that runs: a process that is frozen loses its partitions$/,
      ),
    ],
  });
  const projector = await runProjections({ log: platform.log, database: platform.database });
  try {
    await until(async () => (await look()).healthy);
  } finally {
    await projector.close();
  }
});
