import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPlatform, type Platform } from '../../src/platform/open-platform.ts';
import { startEmbeddedPostgres } from '../../src/postgres/embedded-server.ts';
import { readConfig } from '../../src/runtime/config.ts';
import { createDatabase } from '../../src/testing/database.ts';
import { startKafka } from '../kafka/start-kafka.ts';

/** Servers of its own, and platforms on them. */
export interface Laboratory {
  /** Opens an empty platform: a database, a folder and, with Kafka, topics that nobody else has. */
  platform(log: 'embedded' | 'kafka'): Promise<Platform & { readonly home: string }>;
  close(): Promise<void>;
}

/** Opens the laboratory. `DATABASE_URL` and `KAFKA_BROKERS` name servers to use; otherwise it starts its own when asked for. */
export async function openLaboratory(env: Readonly<Record<string, string | undefined>> = process.env): Promise<Laboratory> {
  const closers: (() => Promise<unknown>)[] = [];
  const server = env.DATABASE_URL ?? (await ownPostgres(closers));
  let brokers: Promise<readonly string[]> | undefined;
  const ownBrokers = async () => {
    const kafka = await startKafka();
    closers.push(() => kafka.stop());
    return kafka.brokers;
  };
  return {
    async platform(log) {
      if (log === 'kafka') brokers ??= env.KAFKA_BROKERS ? Promise.resolve(env.KAFKA_BROKERS.split(',')) : ownBrokers();
      const database = await createDatabase(server, 'espalier_chaos', 'template0');
      const home = await mkdtemp(join(tmpdir(), 'espalier-chaos-'));
      const config = readConfig({
        ...{ ESPALIER_HOME: home, DATABASE_URL: database.url, ESPALIER_PARTITIONS: '2', ESPALIER_PORT: '0' },
        ...(log === 'kafka' ? { KAFKA_BROKERS: (await brokers)?.join(','), ESPALIER_KAFKA_PREFIX: `${database.name}.` } : {}),
      });
      const platform = await openPlatform(config, 'chaos');
      return {
        ...platform,
        home,
        async close() {
          await platform.close();
          await database.drop();
          await rm(home, { recursive: true, force: true });
        },
      };
    },
    async close() {
      for (const closer of closers.splice(0).reverse()) await closer();
    },
  };
}

async function ownPostgres(closers: (() => Promise<unknown>)[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'espalier-chaos-postgres-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const server = await startEmbeddedPostgres({ folder, durability: 'fsync' });
  closers.push(() => server.close());
  return server.url;
}
