import { setTimeout as delay } from 'node:timers/promises';
import { TOPICS } from '../../src/events/catalogue.ts';
import { isProjected } from '../../src/projections/wait-until.ts';
import type { World } from './inject-fault.ts';
import type { Role } from './process-group.ts';
import { withRetry } from './with-retry.ts';

const REPLACED_MS = { embedded: 30_000, kafka: 60_000 }; // Kafka waits for a silent member before it shares again
const FREEZE_MS = 12_000; // longer than a lease of the embedded log
const SILENT_MS = 15_000; // after which the holder of a run is replaced
const ENDS_MS = 60_000;

/**
 * Freezes a process until another one has done what the first would have done, and for longer than its leases last. A collector
 * that was replaced must end by itself. Returns the seconds until it was replaced; null when there was nobody to freeze.
 * @throws Error when nobody replaced it in time.
 */
export async function freeze(world: World, role: Role, ms: number): Promise<number | null> {
  const { group, platform } = world;
  let seconds = Number.NaN;
  let began = performance.now();
  const isReplaced = await successOf(world, role);
  const frozen = await group.freeze(role, {
    async silent() {
      began = performance.now();
      if (role === 'collector') await untilSilent(world);
    },
    async meanwhile() {
      const limitMs = REPLACED_MS[platform.mode.log];
      const since = performance.now();
      while (!(await withRetry(isReplaced))) {
        if (performance.now() - since > limitMs)
          throw new Error(`the ${role} was frozen, and nobody replaced it within ${limitMs / 1_000} s`);
        await delay(50);
      }
      seconds = (performance.now() - began) / 1_000;
      await delay(Math.max(0, began + FREEZE_MS - performance.now()));
    },
    async together(ended) {
      if (role !== 'collector') return delay(ms);
      const over = await Promise.race([ended, delay(ENDS_MS, 'alive' as const, { ref: false })]);
      if (over === 'alive') throw new Error('a collector that was replaced goes on when it wakes');
    },
  });
  return frozen ? seconds : null;
}

/** Returns what asks whether another process of a role has gone on with the work. */
async function successOf({ platform, training, group, acknowledged }: World, role: Role): Promise<() => Promise<boolean>> {
  const { db, pool } = platform.database;
  const numberOf = async (statement: string, value: string) =>
    Number((await pool.query<{ n: string | null }>(statement, [value])).rows[0]?.n ?? 0);
  if (role === 'collector') {
    const epoch = () => numberOf('select epoch as n from run_epochs where run_id = $1', training.runId);
    const before = await withRetry(epoch);
    return async () => group.collected() || (await epoch()) > before;
  }
  if (role === 'trainer') {
    const version = () => numberOf('select max(version) as n from policy_versions where policy_id = $1', training.policyId);
    const before = await withRetry(version);
    return async () => (await version()) > Math.min(before, training.updates - 1);
  }
  if (role === 'api') {
    const before = acknowledged();
    return async () => acknowledged() > before + 6; // more than a request that was answered before the freeze
  }
  let ends: Awaited<ReturnType<typeof platform.log.ends>> | undefined;
  return async () => {
    ends ??= await platform.log.ends(TOPICS);
    return isProjected(db, ends);
  };
}

/** Waits until the holder of the run may be replaced. */
async function untilSilent({ platform, training, group }: World): Promise<void> {
  const silent = () =>
    platform.database.pool.query(
      `select from run_epochs where run_id = $1 and holder is not null
       and heard_at > clock_timestamp() - make_interval(secs => $2::float8 / 1000)`,
      [training.runId, SILENT_MS],
    );
  while (!group.collected() && ((await withRetry(silent)).rowCount ?? 0) > 0) await delay(100);
}
