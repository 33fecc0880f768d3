import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../src/domain/random/random.ts';
import { TOPICS } from '../../src/events/catalogue.ts';
import type { Platform } from '../../src/platform/open-platform.ts';
import type { CuttableProxy } from '../../src/testing/cuttable-proxy.ts';
import type { Crew, Role } from './crew.ts';

/** What is done to a training. `cut` breaks every connection to the database, `crash` kills one of its processes: it ends all others, recovers from its log, and is there again. */
export const DEEDS = ['kill', 'pause', 'cut', 'crash'] as const;
export type Deed = (typeof DEEDS)[number];

export interface Done {
  readonly deed: Deed;
  readonly role: Role | 'database';
  /** Records in the log when it was done. */
  readonly records: number;
}

export interface Disturbance {
  readonly random: Random;
  readonly kills: number;
  readonly roles: readonly Role[];
  readonly deeds: readonly Deed[];
  readonly onDone?: (done: Done) => void;
}

const STUCK_MS = 180_000;
const PAUSE_SHARE = 0.15;
const OUTAGE_SHARE = 0.08; // each takes everybody's connections

/**
 * Kills a drawn member of the crew each time the log has grown by a drawn number of records, and does the other deeds between, until so many
 * were killed or the collector has come to the end of its run. @throws Error when the log grows no more.
 */
export async function disturb(
  platform: Platform,
  crew: Crew,
  proxy: CuttableProxy,
  { random, kills, roles, deeds, onDone }: Disturbance,
): Promise<readonly Done[]> {
  const done: Done[] = [];
  let killed = 0;
  while (killed < kills && !crew.collected()) {
    // Everything is drawn before the wait: what is done next must not depend on how the last deed went.
    const role = roles[random.int(roles.length)] ?? 'collector';
    const kind = random.next();
    const [few, many] = [1 + random.int(3), 1 + random.int(25)];
    const training = TRAINING.has(role) && random.next() < 0.5;
    const ms = random.int(600);
    const unready = random.next() < 0.1;
    if (!(await untilGrown(platform, crew, training ? 'training' : 'all', training ? few : many))) break;
    const deed = chooseDeed(kind, deeds);
    if (!unready) await crew.ready(role);
    if (deed === 'kill') {
      if (!(await crew.kill(role))) continue; // the collector is done
      killed++;
    } else if (deed === 'pause') await crew.pause(role, () => delay(ms));
    else if (deed === 'cut') {
      proxy.cut();
      await delay(ms);
      proxy.mend();
    } else await crashDatabase(platform);
    const event = {
      deed,
      role: deed === 'kill' || deed === 'pause' ? role : ('database' as const),
      records: await countRecords(platform, TOPICS),
    };
    done.push(event);
    onDone?.(event);
  }
  return done;
}

// Of these, half the points are counted in what is decided about batches: that is a small part of the log.
const TRAINING: ReadonlySet<Role> = new Set<Role>(['batcher', 'trainer', 'relay']);

function chooseDeed(kind: number, deeds: readonly Deed[]): Deed {
  if (deeds.includes('crash') && kind < OUTAGE_SHARE) return 'crash';
  if (deeds.includes('cut') && kind < 2 * OUTAGE_SHARE) return 'cut';
  if (deeds.includes('pause') && kind < 2 * OUTAGE_SHARE + PAUSE_SHARE) return 'pause';
  return 'kill';
}

async function untilGrown(platform: Platform, crew: Crew, what: 'training' | 'all', by: number): Promise<boolean> {
  const topics = what === 'training' ? (['training'] as const) : TOPICS;
  const target = (await countRecords(platform, topics)) + by;
  const deadline = performance.now() + STUCK_MS;
  while (!crew.collected()) {
    if ((await countRecords(platform, topics)) >= target) return true;
    if (performance.now() > deadline)
      throw new Error(`the log grew no more for ${STUCK_MS / 1_000} s; last words:\n${crew.lastWords()}`);
    await delay(3);
  }
  return false;
}

async function countRecords({ log }: Platform, topics: readonly string[]): Promise<number> {
  const ends = await patiently(() => log.ends(topics));
  let records = 0;
  for (const partitions of ends.values()) for (const end of partitions.values()) records += end;
  return records;
}

/** Kills the server process of a connection: the postmaster then ends all others, for they share memory, and recovers from the write-ahead log. */
async function crashDatabase({ database }: Platform): Promise<void> {
  const { rows } = await database.pool.query<{ pid: number }>(
    "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() order by pid limit 1",
  );
  if (rows[0]) process.kill(rows[0].pid, 'SIGKILL');
  await patiently(() => database.pool.query('select'));
}

/** Asks again while the database or the broker is away. @throws what was thrown last when that takes too long. */
export async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await delay(100);
    }
  }
}
