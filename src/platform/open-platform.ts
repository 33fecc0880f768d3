import { constants } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { BlobStore } from '../blobs/blob-store.ts';
import { openFileBlobStore } from '../blobs/file-blob-store.ts';
import { TOPICS } from '../events/catalogue.ts';
import { openEmbeddedLog } from '../log/embedded-log.ts';
import type { EventLog } from '../log/event-log.ts';
import { openKafkaLog } from '../log/kafka-log.ts';
import { type Database, openDatabase } from '../postgres/database.ts';
import { startEmbeddedPostgres } from '../postgres/embedded-server.ts';
import { migrate } from '../postgres/migrate.ts';
import { installProjections } from '../projections/install.ts';
import type { Config } from '../runtime/config.ts';

/** What every process of the platform works with. Who opens it closes it. */
export interface Platform {
  readonly config: Config;
  readonly databaseUrl: string;
  readonly database: Database;
  readonly log: EventLog;
  readonly blobs: BlobStore;
  readonly mode: { readonly database: 'embedded' | 'given'; readonly log: 'embedded' | 'kafka' };
  close(): Promise<void>;
}

/** The home folder cannot be used. */
export class HomeUnusable extends Error {
  override readonly name = 'HomeUnusable';
  constructor(folder: string, cause: unknown) {
    const why = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    super(`cannot write to ${folder} (${why}); make it writable, or set ESPALIER_HOME to a folder that is`, { cause });
  }
}

/**
 * Opens database, log and blob store as the configuration says: `DATABASE_URL` or the embedded server, `KAFKA_BROKERS` or the log in
 * Postgres tables. Migrations, the tables of the projections and the topics are there when it resolves. What was opened is closed again
 * when a later part fails.
 */
export async function openPlatform(config: Config, name: string): Promise<Platform> {
  const closers: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    await ensureWritable(config.home);
    let databaseUrl = config.databaseUrl;
    if (databaseUrl === null) {
      const server = await startEmbeddedPostgres({ folder: join(config.home, 'postgres') });
      closers.push(() => server.close());
      databaseUrl = server.url;
    }
    const database = await openDatabase(databaseUrl, { applicationName: `espalier ${name}`, max: 16 });
    closers.push(() => database.close());
    await migrate(database.pool);
    await installProjections(database.pool);
    const log = config.kafkaBrokers
      ? await openKafkaLog({ brokers: config.kafkaBrokers, clientId: `espalier-${name}` })
      : await openEmbeddedLog({ url: databaseUrl });
    closers.push(() => log.close());
    await log.ensureTopics(TOPICS, config.partitions);
    const blobs = openFileBlobStore(config.blobs);
    const mode = {
      database: config.databaseUrl ? 'given' : 'embedded',
      log: config.kafkaBrokers ? 'kafka' : 'embedded',
    } as const;
    return { config, databaseUrl, database, log, blobs, mode, close };
  } catch (error) {
    await close().catch(() => undefined); // the fault that led here is the one to tell
    throw error;
  }
}

async function ensureWritable(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.W_OK);
  } catch (error) {
    throw new HomeUnusable(folder, error);
  }
}
