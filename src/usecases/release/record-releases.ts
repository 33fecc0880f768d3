import { decode } from '../../events/codec.ts';
import { withRelease } from '../../events/with-release.ts';
import type { EventLog, LogRecord, Receipt } from '../../log/event-log.ts';
import { positionAfter } from '../../log/position.ts';
import type { Database, Db } from '../../postgres/database.ts';
import { describePlace, type Place } from '../../projections/place.ts';
import { readReleasedAt, readStreamBehind } from '../../projections/rebuild/read-released.ts';
import { readUnrecordedReleases } from '../../projections/rebuild/unrecorded-releases.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';

export interface RecordedReleases {
  readonly releases: number;
  /** Events of the same streams behind what was released: a fold of the log refused them at their first place, for want of it. */
  readonly followers: number;
}

const AT_ONCE = 500;

/**
 * Appends the releases that versions before this one kept in the database alone, and behind each the events of its stream that
 * came after it: live folded them on top of the release, and a fold of the log can only here. For the live read models all of
 * them are repetitions. Waits until they have passed them.
 * @throws ProjectionsBehind when that takes longer than the time given; what was appended stays, and recording again goes on.
 */
export async function recordReleases(
  { log, database: { db } }: { readonly log: EventLog; readonly database: Database },
  waiting: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<RecordedReleases> {
  const places = new Map((await readUnrecordedReleases(db)).map((release) => [describePlace(release), release]));
  const receipts: Receipt[] = [];
  let followers = 0;
  for (const stream of await byStream(db, [...places.values()])) {
    const behind = await readFollowers(db, stream);
    followers += behind.length;
    const records = [...stream.released, ...behind].sort((a, b) => a.offset - b.offset).map(recordOf);
    for (let i = 0; i < records.length; i += AT_ONCE) receipts.push(...(await log.append(records.slice(i, i + AT_ONCE))));
  }
  if (receipts.length > 0) await waitUntilProjected(db, positionAfter(receipts), waiting);
  return { releases: places.size, followers };
}

interface Released extends Place {
  readonly stream: string;
  readonly body: string;
  readonly at: Date;
}
interface ReleasedStream {
  readonly stream: string;
  readonly topic: string;
  readonly partition: number;
  readonly released: readonly Released[];
}

async function byStream(db: Db, places: readonly Place[]): Promise<readonly ReleasedStream[]> {
  const streams = new Map<string, ReleasedStream & { readonly released: Released[] }>();
  for (const { topic, partition, offset } of places) {
    for (const { stream, body, at } of await readReleasedAt(db, { topic, partition, offset })) {
      const key = `${topic} ${partition} ${stream}`;
      const entry = streams.get(key) ?? { stream, topic, partition, released: [] };
      entry.released.push({ topic, partition, offset, stream, body: body.toString('utf8'), at });
      streams.set(key, entry);
    }
  }
  return [...streams.values()];
}

/** Reads what the journal holds of a stream behind its first release, but for what was released itself, or waits now. */
async function readFollowers(db: Db, { stream, topic, partition, released }: ReleasedStream): Promise<readonly Released[]> {
  const first = Math.min(...released.map(({ offset }) => offset));
  const own = released.map(({ offset }) => offset);
  const rows = await readStreamBehind(db, { stream, topic, partition, offset: first }, own);
  return rows.map((row) => ({ ...row, topic, partition, stream }));
}

const REASON = 'recorded after the fact: the release was made by a version that kept it in the database alone';

function recordOf({ topic, partition, offset, stream, body, at }: Released): LogRecord {
  const decoded = decode(Buffer.from(body, 'utf8'));
  if (decoded.kind === 'refused')
    throw new Error(`${topic}.${partition}:${offset} can no longer be read: ${decoded.refusal.message}`);
  const released = { offset, at: at.toISOString(), reason: REASON };
  return { topic, partition, key: stream, value: Buffer.from(withRelease(body, released), 'utf8') };
}
