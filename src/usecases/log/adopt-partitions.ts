import { setTimeout as delay } from 'node:timers/promises';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import type { Layout } from '../../log/layout.ts';
import { LAYOUT_AGE_MS } from '../../log/placed-log.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { layoutOf } from '../../platform/open-recorded-log.ts';
import {
  type AppenderSeen,
  beginAdoption,
  endAdoption,
  forgetAppendersBefore,
  readAppenders,
  recordAdopted,
} from '../../postgres/log-adoption.ts';
import { readLayouts } from '../../postgres/log-layouts.ts';
import { countStreams } from '../../projections/journal/count-streams.ts';
import { journal } from '../../projections/journal/journal.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';

/** What an adoption does, or would do, to a topic. */
export interface AdoptedTopic {
  readonly topic: string;
  /** Partitions that serve new streams so far. */
  readonly used: number;
  /** Partitions that the topic has: what serves new streams afterwards. */
  readonly has: number;
  /** Streams that lie in it, and stay where they are. */
  readonly streams: number;
}

export interface Adoption {
  readonly topics: readonly AdoptedTopic[];
  /** Processes that append to the log now; they go on by the new layout. */
  readonly appenders: readonly AppenderSeen[];
}

/** The partitions of the log cannot be adopted now. */
export class AdoptionRefused extends Error {
  override readonly name = 'AdoptionRefused';
}

// An appender places records for LAYOUT_AGE_MS after it last confirmed its layout, and a send is tried for two minutes.
const GONE_MS = LAYOUT_AGE_MS + 120_000 + 60_000;
const POLL_MS = 100;
const LONG_GONE_MS = 86_400_000;

/** Returns what an adoption would do, and changes nothing. */
export async function planAdoption({ log, database: { db } }: Pick<Platform, 'log' | 'database'>): Promise<Adoption> {
  const [layouts, extents, streams] = [await readLayouts(db), await log.extents(TOPICS), await countStreams(db)];
  const topics = [...extents].flatMap(([topic, partitions]) => {
    const used = layouts.get(topic)?.at(-1)?.partitions ?? 0;
    return partitions.size > used ? [{ topic, used, has: partitions.size, streams: streams.get(topic) ?? 0 }] : [];
  });
  return { topics, appenders: await readAppenders(db, GONE_MS, null) };
}

/**
 * Takes partitions that were added to topics into use, for new streams: streams that exist stay where they are. Appends of every
 * process wait meanwhile: each acknowledges that nothing it placed by the earlier layout is on its way, one that does not answer
 * is waited for until it cannot have placed anything, and the journal must hold every record, since it says where streams lie.
 * @throws AdoptionRefused.
 */
export async function adoptPartitions(
  platform: Pick<Platform, 'log' | 'database'>,
  { limitMs, signal }: { readonly limitMs: number; readonly signal: AbortSignal },
): Promise<Adoption> {
  const { log, database } = platform;
  const { db } = database;
  const deadline = performance.now() + limitMs;
  const plan = await planAdoption(platform);
  if (plan.topics.length === 0) return plan;
  const adoption = newId();
  if (!(await beginAdoption(db, adoption, limitMs)))
    throw new AdoptionRefused('partitions are being adopted by another process; run the command again when it has ended');
  try {
    await untilAcknowledged(db, adoption, deadline, signal);
    const left = Math.max(1, deadline - performance.now());
    await waitUntilProjected(db, await log.ends(TOPICS), { timeoutMs: left, signal, projections: [journal] });
    const extents = await log.extents(TOPICS);
    const layouts = new Map<string, Layout>();
    for (const { topic, used } of plan.topics) {
      const layout = layoutOf(extents.get(topic) ?? new Map());
      // Where the partitions hold records already (this database is an older copy), nobody knows since when they do.
      layouts.set(topic, { ...layout, ends: layout.ends.some((end, i) => i >= used && end > 0) ? [] : layout.ends });
    }
    if (!(await recordAdopted(db, adoption, layouts)))
      throw new AdoptionRefused(
        `the adoption took longer than ${limitMs / 1_000} s and was given up; --wait allows it more time`,
      );
    await forgetAppendersBefore(db, LONG_GONE_MS);
    return plan;
  } finally {
    await endAdoption(db, adoption);
  }
}

async function untilAcknowledged(
  db: Platform['database']['db'],
  adoption: string,
  deadline: number,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const silent = await readAppenders(db, GONE_MS, adoption);
    const [first] = silent;
    if (!first) return;
    if (performance.now() > deadline)
      throw new AdoptionRefused(
        `${silent.length} ${silent.length === 1 ? 'process that appends has' : 'processes that append have'} not acknowledged the adoption (${first.name}, last seen ${Math.round(first.age / 1_000)} s ago); stop them, or set --wait to more than ${Math.ceil((GONE_MS - first.age) / 1_000)} s: then what was killed counts as gone`,
      );
    await delay(POLL_MS, undefined, { signal });
  }
}
