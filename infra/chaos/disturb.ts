import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../src/domain/random/random.ts';
import { TOPICS } from '../../src/events/catalogue.ts';
import type { Platform } from '../../src/platform/open-platform.ts';
import type { Role } from './crew.ts';
import { type Deed, HEAVY, type HeavyDeed } from './deeds.ts';
import { doDeed, type Struck, takeCopy, type World } from './do-deed.ts';
import type { OlderCopy } from './older-copy.ts';
import { patiently } from './patiently.ts';

export interface Done {
  readonly deed: Deed;
  readonly whom: Role | Struck;
  readonly how: string;
  /** Records in the log when it was done. */
  readonly records: number;
}

export interface Disturbance {
  readonly random: Random;
  readonly kills: number;
  /** Whom to kill and pause; one that is named twice is drawn twice as often. */
  readonly roles: readonly Role[];
  /** Those that can be done; heavy ones are done once each. */
  readonly deeds: readonly Deed[];
  readonly onDone?: (done: Done) => void;
}

const STUCK_MS = 180_000;
const MOST_BROKEN = 3;
const VOLLEY_SHARE = 0.3; // two at the same moment, as when a machine dies under both
const SHARES: readonly (readonly [deed: 'pause' | 'cut' | 'crash' | 'statement', share: number])[] = [
  ['pause', 0.08],
  ['cut', 0.03], // takes everybody's connections, as does a crash
  ['crash', 0.03],
  ['statement', 0.06],
];

/**
 * Kills a drawn member of the crew each time the log has grown by a drawn number of records, and does the other deeds between,
 * until so many were killed or the collector has come to the end of its run. @throws Error when the log grows no more.
 */
export async function disturb(world: World, { random, kills, roles, deeds, onDone }: Disturbance): Promise<readonly Done[]> {
  const { platform, crew } = world;
  const done: Done[] = [];
  const heavy = placeHeavy(random.fork('heavy'), deeds, kills);
  const did = async (deed: Deed, whom: Done['whom'], how: string) => {
    const event = { deed, whom, how, records: await countRecords(platform, TOPICS) };
    done.push(event);
    onDone?.(event);
  };
  let killed = 0;
  let copy: OlderCopy | undefined;
  try {
    while ((killed < kills || heavy.length > 0) && !crew.collected()) {
      // Everything is drawn before the wait: what is done next must not depend on how the last deed went.
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
        if (next.deed === 'copy') copy = await takeCopy(world);
        else if (next.deed === 'restore') {
          await copy?.restore();
          await did('restore', 'database', '');
        } else {
          const result = await doDeed(next.deed, world, drawn);
          if (result) await did(next.deed, result.struck, result.how);
        }
        continue;
      }
      const deed = killed < kills ? chooseDeed(kind, deeds) : 'kill';
      if (deed !== 'kill' && deed !== 'pause') {
        const result = await doDeed(deed, world, drawn);
        if (result) await did(deed, result.struck, result.how);
        continue;
      }
      if (!unready) await crew.ready(role);
      if (deed === 'pause') {
        await crew.pause(role, () => delay(drawn.ms));
        await did(deed, role, '');
        continue;
      }
      const victims = isVolley && second !== role && killed + 1 < kills ? [role, second] : [role];
      const ends = await Promise.all(victims.map((victim) => crew.kill(victim)));
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
 * Places every heavy deed behind a drawn number of kills, in the first three quarters; a restored copy is taken some kills
 * before.
 */
function placeHeavy(random: Random, deeds: readonly Deed[], kills: number): Placed[] {
  const last = Math.max(1, Math.floor(kills * 0.75));
  const placed: Placed[] = [];
  for (const deed of HEAVY) {
    if (!deeds.includes(deed)) continue;
    const at = random.int(last);
    if (deed === 'restore') placed.push({ deed: 'copy', at });
    placed.push({ deed, at: deed === 'restore' ? at + 1 + random.int(Math.max(1, Math.floor(kills / 8))) : at });
  }
  return placed.sort((a, b) => a.at - b.at);
}

interface Placed {
  readonly deed: HeavyDeed | 'copy';
  /** Behind so many kills. */
  readonly at: number;
}

function chooseDeed(kind: number, deeds: readonly Deed[]): 'kill' | (typeof SHARES)[number][0] {
  let below = 0;
  for (const [deed, share] of SHARES) {
    below += share;
    if (kind < below) return deeds.includes(deed) ? deed : 'kill';
  }
  return 'kill';
}

async function untilGrown({ platform, crew }: World, what: 'training' | 'all', by: number): Promise<boolean> {
  const topics = what === 'training' ? (['training'] as const) : TOPICS;
  const target = (await countRecords(platform, topics)) + by;
  const deadline = performance.now() + STUCK_MS;
  while (!crew.collected()) {
    if ((await countRecords(platform, topics)) >= target) return true;
    const broken = crew.fallen.filter(({ at }) => at === 'no reason');
    if (broken.length > MOST_BROKEN) throw new Error(`${broken[0]?.role} does not start: ${broken[0]?.words}`);
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
