import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { BatchAnswer, EventLog, LogBatch, Subscription } from '../../log/event-log.ts';
import type { Database } from '../../postgres/database.ts';
import { retry } from '../../runtime/retry.ts';
import { applySlice, VersionGone } from '../apply-slices.ts';
import { topicsOf } from '../concerns.ts';
import { decodeRecords } from '../decode-records.ts';
import { markSuperseded } from '../epochs/mark-superseded.ts';
import { whileDatabaseFaults } from '../fault.ts';
import { markRepeated } from '../journal/mark-repeated.ts';
import { withRecordedRefusals } from '../quarantine.ts';
import { type Build, isRowOf } from './build.ts';
import { isUnhandledRecord } from './unhandled-records.ts';

const BATCH_LIMIT = 4_000; // as the runner of the live versions
// Members that share the partitions: while one waits for Postgres another decodes. Of 50,000 events one member folds 7,000/s into
// step-tree where three fold 14,000 (infra/bench/project, two cores with other work on them).
const MEMBERS = 3;
const POLL_MS = 20;

/** The log no longer holds records that are to be folded. */
export class RecordsGone extends Error {
  override readonly name = 'RecordsGone';
  constructor(place: string, from: number, to: number) {
    super(
      `the log no longer holds ${place} from ${from} to ${to}: what is live was folded from these records, and nothing can be folded again without them; restore the topic`,
    );
  }
}

/** Which partitions of each topic one of several folds takes: those whose number leaves `index` when divided by `of`. */
export interface Share {
  readonly index: number;
  readonly of: number;
}

/**
 * Folds the log into a build, from its cursors on, and never past those of the live version: so that both hold the fold of the
 * same events whenever the live one rests for a moment. Folds nothing more once the build took over or was dropped.
 */
export async function foldShadow({
  log,
  database,
  build,
  share = { index: 0, of: 1 },
}: {
  readonly log: EventLog;
  readonly database: Database;
  readonly build: Build;
  readonly share?: Share;
}): Promise<Subscription> {
  const { shadow, projection } = build;

  const isMine = (partition: number) => partition % share.of === share.index;

  async function handle(batch: LogBatch, signal: AbortSignal): Promise<BatchAnswer> {
    if (!isMine(batch.partition)) return { kind: 'done', next: batch.next };
    const foldOrStop = (): Promise<BatchAnswer> =>
      fold(batch, signal).catch(async (error) => {
        if (error instanceof VersionGone) await aborted(signal); // it took over or was dropped: the caller closes this
        if (signal.aborted) return { kind: 'done', next: batch.from };
        throw error;
      });
    return retry(foldOrStop, whileDatabaseFaults(signal));
  }

  /**
   * Folds what of a batch the live version has passed. The rest is asked for again: a member may have one batch in flight at a
   * time.
   */
  async function fold(batch: LogBatch, signal: AbortSignal): Promise<BatchAnswer> {
    const { topic, partition, from } = batch;
    const cursor = await shadowCursor(topic, partition);
    if (cursor === undefined) throw new VersionGone(shadow.name, shadow.version);
    if (cursor >= batch.next) return { kind: 'done', next: batch.next };
    if (cursor < from) {
      const first = (await log.extents([topic])).get(topic)?.get(partition)?.first ?? 0;
      if (first > cursor) throw new RecordsGone(`${topic}.${partition}`, cursor, first);
      return { kind: 'rewind', to: cursor };
    }
    const next = Math.min(batch.next, await liveCursor(topic, partition));
    if (next <= cursor) {
      await delay(POLL_MS, undefined, { signal });
      return { kind: 'done', next: cursor };
    }
    const records = batch.records.filter(({ offset, value }) => offset < next && !isUnhandledRecord(projection, value));
    const decoded = await decodeRecords(database.db, { ...batch, next, records });
    const slices = await markSuperseded(database.db, [{ topic, partition, from, next, items: decoded }]);
    const [read] = await markRepeated(database.db, slices);
    const items = await withRecordedRefusals(database.db, projection.name, { topic, partition, from, next }, read?.items ?? []);
    const applied = await applySlice(database.db, shadow, { topic, partition, from, next, items });
    return { kind: 'done', next: applied.cursor };
  }

  async function liveCursor(topic: string, partition: number): Promise<number> {
    const { rows } = await sql<{ nextOffset: number }>`
      select c.next_offset from projections p join cursors c on c.projection = p.name and c.version = p.version
      where p.name = ${projection.name} and c.topic = ${topic} and c.partition = ${partition}`.execute(database.db);
    return rows[0]?.nextOffset ?? 0;
  }

  const shadowCursor = (topic: string, partition: number) => cursorOf(database, build, topic, partition);

  /** Where to begin: at the cursor of the build, and in a partition of another share behind all that there is. */
  async function startAt(topic: string, partition: number): Promise<number | undefined> {
    if (isMine(partition)) return shadowCursor(topic, partition);
    return (await log.ends([topic])).get(topic)?.get(partition);
  }

  const subscribe = () =>
    log.subscribe({
      group: share.of === 1 ? `build-${build.schema}` : `build-${build.schema}-${share.index}-of-${share.of}`,
      topics: topicsOf(projection),
      handle,
      startAt,
      batchLimit: BATCH_LIMIT,
      ephemeral: true, // the cursors of the build say where to go on
    });
  const members: Subscription[] = [];
  const close = async () => void (await Promise.all(members.map((member) => member.close())));
  await refuseRecordsGone({ log, database, build });
  try {
    const count = share.of === 1 ? MEMBERS : 1; // threads are there to decode while others wait
    for (let i = 0; i < count; i++) members.push(await subscribe());
  } catch (error) {
    await close();
    throw error;
  }
  const finished = Promise.all(members.map((member) => member.finished)).then(() => undefined);
  finished.catch(() => undefined); // whoever waits gets the error; one that failed before it must not end the process
  return { finished, close };
}

/**
 * Ends at once what would wait for ever: a partition that holds nothing any more delivers nothing. @throws RecordsGone when the
 * log no longer holds what is to be folded.
 */
export async function refuseRecordsGone({
  log,
  database,
  build,
}: {
  readonly log: EventLog;
  readonly database: Database;
  readonly build: Build;
}): Promise<void> {
  for (const [topic, partitions] of await log.extents(topicsOf(build.projection)))
    for (const [partition, { first }] of partitions) {
      const cursor = (await cursorOf(database, build, topic, partition)) ?? 0;
      if (first > cursor) throw new RecordsGone(`${topic}.${partition}`, cursor, first);
    }
}

async function cursorOf(database: Database, build: Build, topic: string, partition: number): Promise<number | undefined> {
  const { rows } = await sql<{ nextOffset: number }>`
    select c.next_offset from cursors c join projection_builds b on ${isRowOf(build)}
    where c.projection = ${build.shadow.name} and c.topic = ${topic} and c.partition = ${partition}`.execute(database.db);
  return rows[0]?.nextOffset;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
