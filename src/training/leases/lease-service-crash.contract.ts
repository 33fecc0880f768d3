import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Subscription } from '../../log/event-log.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { runProjections } from '../../projections/runner.ts';
import { crashService, serviceRecord, wholeRecord } from '../../testing/crashing-lease-service.ts';

/** What holds of the lease service over any log when trainers are killed at seeded points of their work. */
export function leaseServiceCrashContract(
  open: () => Promise<Platform>,
  options: { readonly seed: number; readonly kills: number; readonly leastPoints: number },
): void {
  let platform: Platform;
  let projector: Subscription;
  beforeEach(async () => {
    platform = await open();
    projector = await runProjections({ log: platform.log, database: platform.database });
  });
  afterEach(async () => {
    await projector.close();
    await platform.close();
  });

  test('a trainer killed between any two statements or appends, or with an answer lost, loses nothing and trains nothing twice', async () => {
    const { policies, died, points } = await crashService(platform, options);
    expect(died).toBe(policies.length);
    expect(points).toBeGreaterThan(options.leastPoints);
    for (const policyId of ['undisturbed', ...policies])
      expect({ policyId, ...(await serviceRecord(platform, policyId)) }).toEqual({ policyId, ...wholeRecord(policyId) });
    const { db, pool } = platform.database;
    expect(await db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
    // An append whose mark was lost is repeated: the journal keeps the first. Nothing is missing and nothing out of order.
    const anomalies = await db.selectFrom('anomalies').select('kind').distinct().execute();
    expect(anomalies.filter(({ kind }) => kind !== 'duplicate')).toEqual([]);
    expect((await pool.query('select * from outbox where relayed_at is null')).rows).toEqual([]);
  });
}
