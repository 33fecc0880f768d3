import { join, relative } from 'node:path';
import { type BlobStore, openBlobStore } from '../blobs/blob-store.ts';
import { measuredBlobs } from '../blobs/measured-blobs.ts';
import type { ObjectStore } from '../blobs/object-store.ts';
import { TOPICS } from '../events/catalogue.ts';
import { DEFAULT_STAMP, type Stamp } from '../events/envelope.ts';
import type { EventLog } from '../log/event-log.ts';
import { type LogSource, openLogSource } from '../log/log-source.ts';
import { measuredLog } from '../log/measured-log.ts';
import { type Seals, sealingLog } from '../log/sealing-log.ts';
import { type Database, DatabaseUnreachable, type Db, openDatabase } from '../postgres/database.ts';
import { startEmbeddedPostgres } from '../postgres/embedded-server.ts';
import { fewConnections } from '../postgres/few-connections.ts';
import { readMasterKey, useKeyWrapping } from '../postgres/key-wrapping.ts';
import { claimLogIdentity } from '../postgres/log-identity.ts';
import { migrate } from '../postgres/migrate.ts';
import { readPayloadPolicies } from '../postgres/payload-policies.ts';
import { refusePooledSessions } from '../postgres/pooled-sessions.ts';
import { refuseUnfinishedRestore } from '../postgres/restorations.ts';
import { siblingDatabase } from '../postgres/sibling-database.ts';
import { keysOfStreams } from '../postgres/stream-keys.ts';
import { installProjections, refuseNewerProjections } from '../projections/install.ts';
import type { FoldSource } from '../projections/rebuild/fold-thread.ts';
import { isOutage } from '../projections/transient-fault.ts';
import { type ClosingPart, closeInTurn } from '../runtime/close-in-turn.ts';
import type { Config } from '../runtime/config.ts';
import { createMetrics, type Metrics } from '../runtime/metrics.ts';
import { startTracing } from '../runtime/tracing.ts';
import { CODE_VERSION } from './code-version.ts';
import { ensureWritable } from './ensure-writable.ts';
import type { LogFault } from './log-faults.ts';
import { measurePlatform } from './measure-platform.ts';
import { openObjects } from './open-objects.ts';
import { type OnLogFaults, openRecordedLog } from './open-recorded-log.ts';

/** What every process of the platform works with. Who opens it closes it. */
export interface Platform {
  readonly config: Config;
  readonly databaseUrl: string;
  /** The same database with sessions of one's own: LISTEN, session locks, settings of a connection. */
  readonly directUrl: string;
  readonly database: Database;
  readonly log: EventLog;
  /** What an operator is to be told of it, such as topics with few copies. */
  readonly notes: readonly string[];
  /** How the log is not as it was recorded; empty unless faults were to be reported. */
  readonly logFaults: readonly LogFault[];
  /** What is stored under names besides database and log: blobs, drawn segments, exports. */
  readonly objects: ObjectStore;
  readonly blobs: BlobStore;
  /** Measurements of this process, or thread. */
  readonly metrics: Metrics;
  /** Who appends what this process records, and for which project. */
  readonly stamp: Stamp;
  /** What threads of this process open for themselves to fold the log again. */
  readonly threads: FoldSource;
  readonly mode: { readonly database: 'embedded' | 'given'; readonly log: 'embedded' | 'kafka' };
  close(): Promise<void>;
}

export interface OpenOptions {
  /** What is done about a log that is not as it was recorded. */
  readonly onFaults?: OnLogFaults;
  /** Where its parts are measured. */
  readonly metrics?: Metrics;
  /** Runs before the log is compared with what was recorded. By default it refuses an installation that is half restored. */
  readonly prepare?: (parts: {
    readonly db: Db;
    readonly log: EventLog;
    readonly objects: ObjectStore;
    readonly gaps: 'kept' | 'refused';
  }) => Promise<void>;
}

const FOLD_THREADS = 4; // each holds up to some hundred MB of what it remembers

/** The Kafka cluster cannot be used: nobody answers at the addresses, or not as a broker does. */
export class KafkaUnusable extends Error {
  override readonly name = 'KafkaUnusable';
  constructor(cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`${why}; check KAFKA_BROKERS, or unset it to keep the log in Postgres tables`, { cause });
  }
}

/** Returns whether a platform could not be opened because Postgres or Kafka is away, or a disk is full: not where a login is refused. */
export function isUnreachable(error: unknown): boolean {
  const isWrapped = error instanceof DatabaseUnreachable || error instanceof KafkaUnusable;
  return isOutage(isWrapped ? error.cause : error);
}

/**
 * Opens database, log and blob store as the configuration says: `DATABASE_URL` or the embedded server, `KAFKA_BROKERS` or the log
 * in Postgres tables. Migrations, the tables of the projections and the topics are there when it resolves, and the log is as it
 * was recorded, or its faults are returned where `onFaults` says so. What was opened is closed again when a later part fails.
 */
export async function openPlatform(
  config: Config,
  name: string,
  { onFaults = 'refuse', metrics = createMetrics(), prepare = ({ db }) => refuseUnfinishedRestore(db) }: OpenOptions = {},
): Promise<Platform> {
  const opened: ClosingPart[] = [];
  const notes: string[] = [];
  const close = () => closeInTurn(opened.splice(0).reverse());
  try {
    const tracing = await startTracing(config.tracing, { name, version: CODE_VERSION, metrics });
    opened.push({ what: 'the export of spans', close: () => tracing.close() });
    if (needsHome(config)) await ensureWritable('ESPALIER_HOME', config.home);
    const objects = await openObjects(config); // now, not at the first large payload of a run
    opened.push({ what: 'the store of objects', close: async () => objects.close() });
    const kafka =
      config.kafkaBrokers && (await openKafka(kafkaSourceOf(config, config.kafkaBrokers), name, (note) => notes.push(note)));
    if (kafka) opened.push({ what: 'the connections to Kafka', close: () => kafka.close() });
    let databaseUrl = config.databaseUrl;
    if (databaseUrl === null) {
      const server = await startEmbeddedPostgres({ folder: join(config.home, 'postgres') });
      opened.push({ what: 'the embedded Postgres', close: () => server.close() });
      // Each log has its own read models: one server holds a database for the embedded log and one for every cluster met.
      databaseUrl = kafka ? await siblingDatabase(server.url, await kafka.identity()) : server.url;
    }
    const database = await openDatabase(databaseUrl, { applicationName: `espalier ${name}`, max: config.databaseConnections });
    opened.push({ what: 'the database', close: () => database.close(), state: () => usedOf(database) });
    const directUrl = config.databaseUrl === null ? databaseUrl : (config.databaseDirectUrl ?? databaseUrl);
    await refusePooledSessions(database.pool, directUrl);
    const few = await fewConnections(database.pool, config.databaseConnections);
    if (few !== null) notes.push(few);
    await refuseNewerProjections(database.pool);
    await migrate(database.pool);
    await installProjections(database.pool);
    useKeyWrapping(config.masterKeyFile === null ? null : await readMasterKey(config.masterKeyFile));
    const bare = kafka ?? (await openLogSource({ kind: 'embedded', url: databaseUrl, directUrl }, name));
    if (!kafka) opened.push({ what: 'the log', close: () => bare.close() });
    await refuseAnotherLog(database.db, await bare.identity());
    await prepare({ db: database.db, log: bare, objects, gaps: kafka ? 'refused' : 'kept' });
    const { log: clear, faults: logFaults } = await openRecordedLog(bare, database.db, {
      topics: TOPICS,
      partitions: config.partitions,
      onFaults,
    });
    const log = measuredLog(sealingLog(clear, sealsOf(database.db, config.seal)), metrics);
    opened.push({ what: 'the log', close: () => log.close() });
    const blobs = measuredBlobs(openBlobStore(objects), metrics);
    measurePlatform(metrics, { config, database });
    const mode = {
      database: config.databaseUrl ? 'given' : 'embedded',
      log: config.kafkaBrokers ? 'kafka' : 'embedded',
    } as const;
    const stamp = { principal: DEFAULT_STAMP.principal, project: config.project };
    const threads = foldSourceOf(config, databaseUrl, directUrl);
    return {
      config,
      databaseUrl,
      directUrl,
      database,
      log,
      notes,
      logFaults,
      objects,
      blobs,
      metrics,
      stamp,
      threads,
      mode,
      close,
    };
  } catch (error) {
    await close().catch(() => undefined); // the fault that led here is the one to report
    throw error;
  }
}

/** Returns what threads open for themselves to fold the log again. */
function foldSourceOf(config: Config, databaseUrl: string, directUrl: string): FoldSource {
  const { kafkaBrokers: brokers, masterKeyFile, cores } = config;
  return {
    databaseUrl,
    log: brokers ? kafkaSourceOf(config, brokers) : { kind: 'embedded', url: databaseUrl, directUrl },
    masterKeyFile,
    threads: Math.min(cores, FOLD_THREADS),
  };
}

function usedOf({ pool }: Database): string {
  const { totalCount, idleCount, waitingCount } = pool;
  return `${totalCount - idleCount} of its connections are in use, ${waitingCount} requests wait for one`;
}

/** Keys and rules as the database holds them; `otherwise` decides for a project that says nothing. */
export function sealsOf(db: Db, otherwise: boolean): Seals {
  return {
    keysOf: (streams) => keysOfStreams(db, streams),
    rules: async () => {
      const payloadPolicies = await readPayloadPolicies(db);
      return new Map(payloadPolicies.flatMap(({ project, seal }) => (seal === null ? [] : [[project, seal] as const])));
    },
    otherwise,
  };
}

/** Returns the log in Kafka with every option of its client that an operator sets. */
export function kafkaSourceOf(config: Config, brokers: readonly string[]): LogSource {
  return {
    kind: 'kafka',
    prefix: config.kafkaPrefix,
    options: {
      brokers,
      security: config.kafkaSecurity,
      sessionMs: config.kafkaSessionMs,
      compression: config.kafkaCompression,
      replication: config.kafkaReplication ?? undefined,
      minInsync: config.kafkaMinInsync ?? undefined,
    },
  };
}

async function openKafka(source: LogSource, name: string, note: (text: string) => void): Promise<EventLog> {
  try {
    return await openLogSource(source, name, note);
  } catch (error) {
    throw new KafkaUnusable(error);
  }
}

/** The database holds the read models of another log. */
export class LogMismatch extends Error {
  override readonly name = 'LogMismatch';
  constructor(held: string, given: string) {
    super(
      `this database holds the read models of the log ${held}, not of ${given}: their offsets would be confused; use another database, or the log it belongs to`,
    );
  }
}

async function refuseAnotherLog(db: Db, identity: string): Promise<void> {
  const held = await claimLogIdentity(db, identity);
  if (held !== identity) throw new LogMismatch(held, identity);
}

/** Whether a start writes to ESPALIER_HOME: a process with database and blobs elsewhere may have a home that it cannot write to. */
export function needsHome({ databaseUrl, home, blobs, bucket }: Config): boolean {
  return databaseUrl === null || (bucket === null && !relative(home, blobs).startsWith('..'));
}
