import { prepareEvents } from '../append/prepare-events.ts';
import { TOPICS } from '../events/catalogue.ts';
import { DEFAULT_STAMP, type Envelope } from '../events/envelope.ts';
import { openEmbeddedLog } from '../log/embedded-log.ts';
import type { EventLog } from '../log/event-log.ts';
import { type Database, openDatabase } from '../postgres/database.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { createTestDatabase } from './database.ts';
import { MemoryBlobs } from './memory-blobs.ts';

/** An embedded log with a database of its own for it and the read models, for tests of the runner. */
export interface TestWorld {
  readonly url: string;
  readonly database: Database;
  readonly log: EventLog;
  append(events: readonly Envelope[]): Promise<void>;
  /** Waits until every projection has folded the whole log. */
  settled(database?: Database): Promise<void>;
  close(): Promise<void>;
}

/** Opens a log of `partitions` partitions per topic, with nobody who projects. */
export async function openTestWorld(partitions = 2): Promise<TestWorld> {
  const made = await createTestDatabase();
  const database = await openDatabase(made.url);
  const log = await openEmbeddedLog({ url: made.url });
  await log.ensureTopics(TOPICS, partitions);
  return {
    url: made.url,
    database,
    log,
    append: async (events) => void (await log.append(await prepareEvents(events, new MemoryBlobs(), DEFAULT_STAMP))),
    settled: async (other = database) => waitUntilProjected(other.db, await log.ends(TOPICS), { timeoutMs: 60_000 }),
    async close() {
      await log.close();
      await database.close();
      await made.drop();
    },
  };
}
