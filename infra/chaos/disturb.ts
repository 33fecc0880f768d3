import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../src/domain/random/random.ts';
import { TOPICS } from '../../src/events/catalogue.ts';
import type { Platform } from '../../src/platform/open-platform.ts';
import { type Fault, HEAVY, type HeavyFault } from './faults.ts';
import { injectFault, type Struck, takeCopy, type World } from './inject-fault.ts';
import type { OlderCopy } from './older-copy.ts';
import { type Role, withRetry } from './process-group.ts';

export interface Done {
  readonly fault: Fault;
  readonly subject: Role | Struck;
  readonly how: string;
  /** Records in the log when it was done. */
  readonly records: number;
}

export interface Disturbance {
  readonly random: Random;
  readonly kills: number;
  /** Which processes to kill and pause; one that is named twice is drawn twice as often. */
  readonly roles: readonly Role[];
  /** Those that can be done; heavy ones are done once each. */
  readonly faults: readonly Fault[];
  readonly onDone?: (done: Done) => void;
}

const STUCK_MS = 180_000;
const MOST_BROKEN = 3;
const VOLLEY_SHARE = 0.3; // two at the same moment, as when a machine dies under both
const SHARES: readonly (readonly [fault: 'pause' | 'cut' | 'crash' | 'statement', share: number])[] = [
  ['pause', 0.08],
  ['cut', 0.03], // takes everybody's connections, as does a crash
  ['crash', 0.03],
  ['statement', 0.06],
];

/**
 * Kills a drawn member of the group each time the log has grown by a drawn number of records, and does the other faults between,
 * until so many were killed or the collector has come to the end of its run. @throws Error when the log grows no more.
 */
export async function disturb(world: World, { random, kills, roles, faults, onDone }: Disturbance): Promise<readonly Done[]> {
  const { platform, group } = world;
  const done: Done[] = [];
  const heavy = placeHeavy(random.fork('heavy'), faults, kills);
  const did = async (fault: Fault, subject: Done['subject'], how: string) => {
    const event = { fault, subject, how, records: await countRecords(platform, TOPICS) };
    done.push(event);
    onDone?.(event);
  };
  let killed = 0;
  let copy: OlderCopy | undefined;
  try {
    while ((killed < kills || heavy.length > 0) && !group.collected()) {
      // Everything is drawn before the wait: what is done next must not depend on how the last fault went.
      const role = roles[random.int(roles.length)] ?? 'collector';
      const kind = random.next();
      const [few, many] = [1 + random.int(3), 1 + random.int(20)];
      const training = TRAINING.has(role) && random.next() < 0.5;
      const drawn = { ms: random.int(600), which: random.next() };
      const unready = random.next() < 0.1;
      const second = roles[random.int(roles.length)] ?? role;
      const isVolley = random.next() < VOLLEY_SHARE;
      if (!(await untilGrown(world, training ? 'training' : 'all', training ? few : many))) break;
      const next = heavy[0];
      if (next && next.at <= killed) {
        heavy.shift();
        if (next.fault === 'copy') copy = await takeCopy(world);
        else if (next.fault === 'restore') {
          await copy?.restore();
          await did('restore', 'database', '');
        } else {
          const result = await injectFault(next.fault, world, drawn);
          if (result) await did(next.fault, result.struck, result.how);
        }
        continue;
      }
      const fault = killed < kills ? chooseFault(kind, faults) : 'kill';
      if (fault !== 'kill' && fault !== 'pause') {
        const result = await injectFault(fault, world, drawn);
        if (result) await did(fault, result.struck, result.how);
        continue;
      }
      if (!unready) await group.ready(role);
      if (fault === 'pause') {
        await group.pause(role, () => delay(drawn.ms));
        await did(fault, role, '');
        continue;
      }
      const victims = isVolley && second !== role && killed + 1 < kills ? [role, second] : [role];
      const ends = await Promise.all(victims.map((victim) => group.kill(victim)));
      for (const [i, victim] of victims.entries()) {
        if (!ends[i]) continue; // the collector is done
        killed++;
        await did('kill', victim, victims.length > 1 ? 'two at once' : '');
      }
    }
  } finally {
    await copy?.remove();
  }
  return done;
}

// Of these, half the points are counted in what is decided about batches: that is a small part of the log.
const TRAINING: ReadonlySet<Role> = new Set<Role>(['batcher', 'trainer', 'relay']);

/**
 * Places every heavy fault behind a drawn number of kills, in the first three quarters; a restored copy is taken some kills
 * before.
 */
function placeHeavy(random: Random, faults: readonly Fault[], kills: number): Placed[] {
  const last = Math.max(1, Math.floor(kills * 0.75));
  const placed: Placed[] = [];
  for (const fault of HEAVY) {
    if (!faults.includes(fault)) continue;
    const at = random.int(last);
    if (fault === 'restore') placed.push({ fault: 'copy', at });
    placed.push({ fault, at: fault === 'restore' ? at + 1 + random.int(Math.max(1, Math.floor(kills / 8))) : at });
  }
  return placed.sort((a, b) => a.at - b.at);
}

interface Placed {
  readonly fault: HeavyFault | 'copy';
  /** Behind so many kills. */
  readonly at: number;
}

function chooseFault(kind: number, faults: readonly Fault[]): 'kill' | (typeof SHARES)[number][0] {
  let below = 0;
  for (const [fault, share] of SHARES) {
    below += share;
    if (kind < below) return faults.includes(fault) ? fault : 'kill';
  }
  return 'kill';
}

async function untilGrown({ platform, group }: World, what: 'training' | 'all', by: number): Promise<boolean> {
  const topics = what === 'training' ? (['training'] as const) : TOPICS;
  const target = (await countRecords(platform, topics)) + by;
  const deadline = performance.now() + STUCK_MS;
  while (!group.collected()) {
    if ((await countRecords(platform, topics)) >= target) return true;
    const broken = group.exited.filter(({ at }) => at === 'no reason');
    if (broken.length > MOST_BROKEN) throw new Error(`${broken[0]?.role} does not start: ${broken[0]?.words}`);
    if (performance.now() > deadline) throw new Error(`the log grew no more for ${STUCK_MS / 1_000} s`);
    await delay(3);
  }
  return false;
}

async function countRecords({ log }: Platform, topics: readonly string[]): Promise<number> {
  const ends = await withRetry(() => log.ends(topics));
  let records = 0;
  for (const partitions of ends.values()) for (const end of partitions.values()) records += end;
  return records;
}
