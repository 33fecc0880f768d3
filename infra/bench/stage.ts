import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { serveApi } from '../../src/app/serve-api.ts';
import { startInThread } from '../../src/app/start-in-thread.ts';
import { openEmbeddedLog } from '../../src/log/embedded-log.ts';
import type { EventLog } from '../../src/log/event-log.ts';
import { openKafkaLog } from '../../src/log/kafka-log.ts';
import { prefixedLog } from '../../src/log/prefixed-log.ts';
import { openPlatform, type Platform } from '../../src/platform/open-platform.ts';
import { type Database, openDatabase } from '../../src/postgres/database.ts';
import { startEmbeddedPostgres } from '../../src/postgres/embedded-server.ts';
import { createKey } from '../../src/postgres/keys.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { installProjections } from '../../src/projections/install.ts';
import { readConfig } from '../../src/runtime/config.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import { createDatabase } from '../../src/testing/database.ts';
import { writeLocalToken } from '../../src/testing/local-token.ts';
import { startKafka } from '../kafka/start-kafka.ts';
import type { Conditions } from './bench-result.ts';

/** How much a bench does: `quick` only shows that it runs. */
export type Size = 'full' | 'quick';

/** What a bench runs on: servers of its own, opened when asked for, all closed by `close`. */
export interface Stage {
  readonly size: Size;
  /** A migrated database of its own, on real fsync. */
  database(): Promise<StageDatabase>;
  /** A broker. @throws Error that says what to install. */
  brokers(): Promise<readonly string[]>;
  /** The Kafka log on that broker, under topic names of its own. */
  kafkaLog(): Promise<EventLog>;
  embeddedLog(): Promise<EventLog>;
  /** The configuration of a process that uses the same servers: the database, and the log of that kind. */
  settings(log: 'kafka' | 'embedded'): Promise<Readonly<Record<string, string>>>;
  /** A second stage with a database of its own. It closes with this one. */
  another(): Stage;
  /** Makes a topic for raw clients, removed with the stage. */
  rawTopic(partitions: number): Promise<string>;
  /** What is always reported: machine and versions of what was opened. */
  conditions(): Conditions;
  /** Hands over something to be closed with the stage. */
  closing(closer: () => Promise<unknown>): void;
  close(): Promise<void>;
}
export type StageDatabase = Database & { readonly url: string };

/** Opens a stage. `DATABASE_URL` and `KAFKA_BROKERS` name servers to use; otherwise it starts its own. The caller closes it. */
export function openStage(size: Size, env: Readonly<Record<string, string | undefined>> = process.env): Stage {
  const closers: (() => Promise<unknown>)[] = [];
  const known: Record<string, string | number> = { cores: availableParallelism(), node: process.versions.node };
  const prefix = `bench-${randomBytes(4).toString('hex')}-`;
  const closing = (closer: () => Promise<unknown>): void => void closers.push(closer);
  let database: Promise<StageDatabase> | undefined;
  let brokers: Promise<readonly string[]> | undefined;

  async function openOwnDatabase(): Promise<StageDatabase> {
    const url = env.DATABASE_URL ? await createOn(env.DATABASE_URL) : await startOwnPostgres();
    const opened = await openDatabase(url, { applicationName: 'espalier bench', max: 16 });
    closing(() => opened.close());
    await migrate(opened.pool);
    await installProjections(opened.pool);
    for (const setting of ['server_version', 'fsync', 'synchronous_commit', 'shared_buffers']) {
      const { rows } = await opened.pool.query<Record<string, string>>(`show ${setting}`);
      known[setting === 'server_version' ? 'Postgres' : setting] = rows[0]?.[setting] ?? '';
    }
    return { ...opened, url };
  }

  async function createOn(server: string): Promise<string> {
    const created = await createDatabase(server, 'espalier_bench', 'template0');
    closing(() => created.drop());
    return created.url;
  }

  async function startOwnPostgres(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'espalier-bench-'));
    closing(() => rm(folder, { recursive: true, force: true }));
    const server = await startEmbeddedPostgres({ folder, durability: 'fsync' });
    closing(() => server.close());
    return server.url;
  }

  async function openBrokers(): Promise<readonly string[]> {
    const given = env.KAFKA_BROKERS;
    if (given) {
      known.Kafka = 'a given cluster';
      closing(() => removeTopics(given.split(','), prefix));
      return given.split(',');
    }
    const kafka = await startKafka();
    known.Kafka = 'one broker of infra/kafka, acks=all, flushed by the operating system';
    closing(() => kafka.stop());
    return kafka.brokers;
  }

  const stage: Stage = {
    size,
    database: () => (database ??= openOwnDatabase()),
    brokers: () => (brokers ??= openBrokers()),
    async kafkaLog() {
      const log = await openKafkaLog({ brokers: await stage.brokers(), clientId: 'espalier-bench' });
      closing(() => log.close());
      return prefixedLog(log, prefix);
    },
    async embeddedLog() {
      const log = await openEmbeddedLog({ url: (await stage.database()).url });
      closing(() => log.close());
      return log;
    },
    async settings(log) {
      const { url } = await stage.database();
      if (log === 'embedded') return { DATABASE_URL: url };
      const brokers = (await stage.brokers()).join(',');
      return { DATABASE_URL: url, KAFKA_BROKERS: brokers, ESPALIER_KAFKA_PREFIX: prefix };
    },
    another() {
      const other = openStage(size, env);
      closing(() => other.close());
      return other;
    },
    async rawTopic(partitions) {
      const topic = `raw-${randomBytes(4).toString('hex')}`;
      await (await stage.kafkaLog()).ensureTopics([topic], partitions); // it waits until the broker knows the topic
      return `${prefix}${topic}`;
    },
    conditions: () => known,
    closing,
    async close() {
      for (const closer of closers.splice(0).reverse()) await closer();
    },
  };
  return stage;
}

/** Opens the platform on a stage's database, with the embedded log. It closes with the stage. */
export async function openStagePlatform(stage: Stage): Promise<Platform> {
  const home = await homeOf(stage);
  await writeLocalToken(home);
  const database = await stage.database();
  const config = readConfig({ ESPALIER_HOME: home, DATABASE_URL: database.url, ESPALIER_PORT: '0' });
  const platform = await openPlatform(config, 'bench');
  stage.closing(() => platform.close());
  return platform;
}

/** Serves the platform of a stage with its projections, and makes a key for recorders. They close with the stage. */
export async function serveStage(stage: Stage): Promise<{ readonly url: string; readonly key: string }> {
  const platform = await openStagePlatform(stage);
  const projector = await startInThread('project', platform, SILENT);
  stage.closing(() => projector.close());
  const server = await serveApi(platform, SILENT);
  stage.closing(() => server.close());
  const { key } = await createKey(platform.database.db, { name: 'bench', scopes: ['ingest', 'read'], projects: 'all' });
  return { url: server.url, key };
}

/** Makes an empty ESPALIER_HOME that is removed with the stage. */
export async function homeOf(stage: Stage): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'espalier-bench-home-'));
  stage.closing(() => rm(home, { recursive: true, force: true }));
  return home;
}

async function removeTopics(brokers: readonly string[], prefix: string): Promise<void> {
  const admin = new Kafka({ brokers: [...brokers], clientId: 'espalier-bench-admin', logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(prefix));
    if (topics.length > 0) await admin.deleteTopics({ topics });
  } finally {
    await admin.disconnect();
  }
}
