import { setTimeout as delay } from 'node:timers/promises';
import { TOPICS } from '../../src/events/catalogue.ts';
import type { Platform } from '../../src/platform/open-platform.ts';
import { isProjected } from '../../src/projections/wait-until.ts';
import type { CuttableProxy, WorstMoment } from '../../src/testing/cuttable-proxy.ts';
import type { Fault, Means } from './faults.ts';
import { copyDatabase, type OlderCopy } from './older-copy.ts';
import { type ProcessGroup, ROLES, type Role, withRetry } from './process-group.ts';

/** Everything that a fault reaches. */
export interface World {
  readonly platform: Platform;
  readonly group: ProcessGroup;
  /** Between the group and the database. */
  readonly proxy: CuttableProxy;
  readonly means: Means;
  readonly training: { readonly runId: string; readonly policyId: string; readonly updates: number };
  /** Counts the events whose requests the API answered. */
  readonly acknowledged: () => number;
}

/** What of a fault is drawn, always all of it, so that what comes next does not depend on what was done. */
interface DrawnFault {
  /** How long it lasts, up to a second. */
  readonly ms: number;
  /** In [0, 1). */
  readonly which: number;
}

/** What a fault struck. */
export type Struck = 'database' | 'broker' | 'home' | Role;

/**
 * Does what is done to the servers and the connections to them. Returns what it struck and how; null when the moment did not
 * come.
 */
export async function injectFault(
  fault: Exclude<Fault, 'kill' | 'pause' | 'restore' | 'records-deleted'>,
  world: World,
  drawn: DrawnFault,
): Promise<{ readonly struck: Struck; readonly how: string } | null> {
  const { group, proxy, platform, means } = world;
  const { ms, which } = drawn;
  switch (fault) {
    case 'cut':
      await group.outage(async () => {
        proxy.cut();
        await delay(ms);
        proxy.restore();
      });
      return { struck: 'database', how: `for ${ms} ms` };
    case 'crash':
      await group.outage(() => crashDatabase(platform));
      return { struck: 'database', how: '' };
    case 'statement': {
      const moments = worstMoments(platform.mode.log);
      const [how, moment] = moments[Math.floor(which * moments.length)] ?? moments[0] ?? [];
      const met = moment ? await group.outage(() => proxy.cutAt(moment, MOMENT_MS)) : false;
      return met ? { struck: 'database', how: how ?? '' } : null;
    }
    case 'postmaster':
      await group.outage(async () => {
        await means.postgres?.kill();
        await withRetry(() => platform.database.pool.query('select'));
      });
      return { struck: 'database', how: '' };
    case 'freeze': {
      const role = ROLES[Math.floor(which * ROLES.length)] ?? 'projector';
      const seconds = await freeze(world, role, ms);
      return seconds === null ? null : { struck: role, how: `replaced within ${seconds.toFixed(1)} s` };
    }
    case 'owner-ends': {
      const signal = which < 0.5 ? 'SIGKILL' : 'SIGTERM';
      await means.postgres?.endOwner(signal);
      return { struck: 'database', how: `${signal}; the server stayed` };
    }
    case 'broker':
      await group.outage(async () => {
        await means.broker?.kill(() => delay(ms));
        await withRetry(() => platform.log.identity());
      });
      return { struck: 'broker', how: `for ${ms} ms and its start` };
    case 'disk':
      return fillDisk(world, drawn);
    default:
      return fault satisfies never;
  }
}

const MOMENT_MS = 3_000; // an update takes less; a moment that is rare is passed over
const [FULL_MS, FULLER_MS] = [500, 2]; // long enough for appends and checkpoints to meet it

async function fillDisk({ group, platform, means }: World, { ms, which }: DrawnFault): Promise<{ struck: Struck; how: string }> {
  const [struck, disk] = which < 0.5 ? (['database', means.databaseDisk] as const) : (['home', means.homeDisk] as const);
  if ('reason' in disk) throw new Error(`there is no disk to fill: ${disk.reason}`);
  const lasts = FULL_MS + FULLER_MS * ms;
  let gaveUp = false;
  await group.outage(async () => {
    await disk.fill();
    await delay(lasts);
    await disk.freeSpace();
    gaveUp = (await means.postgres?.revive()) ?? false;
    await withRetry(() => platform.database.pool.query('select'));
  });
  return { struck, how: `full for ${lasts} ms${gaveUp ? '; the server gave up and was started again' : ''}` };
}

/** Takes the copy that is restored later. */
export async function takeCopy({ group, proxy, platform }: World): Promise<OlderCopy> {
  return copyDatabase(platform.databaseUrl, (meanwhile) =>
    group.outage(async () => {
      proxy.cut();
      try {
        return await meanwhile();
      } finally {
        proxy.restore();
      }
    }),
  );
}

/**
 * Kills the server process of a connection: the postmaster then ends all others, for they share memory, and recovers from the
 * write-ahead log.
 */
async function crashDatabase({ database }: Platform): Promise<void> {
  const { rows } = await withRetry(() =>
    database.pool.query<{ pid: number }>(
      "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() order by pid limit 1",
    ),
  );
  if (rows[0]) process.kill(rows[0].pid, 'SIGKILL');
  await withRetry(() => database.pool.query('select'));
}

const COMMIT = /^Q commit/;
// Bound to lease_service_decide, which is a transaction of its own: the notes of decide.ts.
const LEASED = /^B .*"ordinal":\d+,"fence":/s;
const ACKNOWLEDGED = /^B .*"ordinal":\d+,"lease_id":/s;

/** Where a lost connection hurts most: what was decided is durable and its decider does not know, or half of it was sent. */
const MOMENTS: Readonly<Record<string, WorstMoment>> = {
  'a commit that is not sent': { messages: [/^Q begin/, COMMIT], fate: 'unsent' },
  'a commit that is not answered': { messages: [/^Q begin/, COMMIT], fate: 'unanswered' },
  'a lease that is not answered': { messages: [LEASED], fate: 'unanswered' },
  'a lease that is not sent': { messages: [LEASED], fate: 'unsent' },
  'an acknowledgement that is not answered': { messages: [ACKNOWLEDGED], fate: 'unanswered' },
  'an acknowledgement that is not sent': { messages: [ACKNOWLEDGED], fate: 'unsent' },
  'a cursor whose move is not answered': { messages: [/update public\.cursors/, COMMIT], fate: 'unanswered' },
  'a COPY cut in half': { messages: [/^d/], fate: 'unsent' },
  'a COPY that is not answered': { messages: [/^c/], fate: 'unanswered' },
};
/** Only where the log lies in Postgres. */
const APPENDS: Readonly<Record<string, WorstMoment>> = {
  'an append that is not sent': { messages: [/^B .*log_write/], fate: 'unsent' },
  'an append that is not answered': { messages: [/^B .*log_write/], fate: 'unanswered' },
};

/** Only where it lies elsewhere: what the lease service decides is relayed. */
const RELAYED: Readonly<Record<string, WorstMoment>> = {
  'records relayed and not marked': { messages: [/update outbox/], fate: 'unsent' },
};

/** Returns the moments that come in a training over a log. */
function worstMoments(log: 'embedded' | 'kafka'): readonly (readonly [name: string, moment: WorstMoment])[] {
  return Object.entries({ ...MOMENTS, ...(log === 'embedded' ? APPENDS : RELAYED) });
}

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
