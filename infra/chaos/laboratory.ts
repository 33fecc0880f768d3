import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPlatform, type Platform } from '../../src/platform/open-platform.ts';
import { readConfig } from '../../src/runtime/config.ts';
import { isAlive } from '../../src/runtime/this-process.ts';
import { createDatabase } from '../../src/testing/database.ts';
import { writeLocalToken } from '../../src/testing/local-token.ts';
import type { Means } from './faults.ts';
import { mountSmallDisk, type OwnBroker, startOwnBroker, startOwnPostgres, unmount } from './own-servers.ts';

/** Servers of its own, and platforms on them. */
export interface Laboratory {
  /**
   * Opens an empty platform: a database, a folder and, with Kafka, topics that nobody else has; and says what can be done to its
   * servers.
   */
  platform(log: 'embedded' | 'kafka'): Promise<Platform & { readonly home: string; readonly means: Means }>;
  close(): Promise<void>;
}

/**
 * Opens the laboratory. `DATABASE_URL` and `KAFKA_BROKERS` name servers to use; otherwise it starts its own, which can then be
 * killed as well.
 */
export async function openLaboratory(env: Readonly<Record<string, string | undefined>> = process.env): Promise<Laboratory> {
  await removeAbandoned();
  const root = await mkdtemp(join(tmpdir(), `espalier-chaos-${process.pid}-`));
  const closers: (() => Promise<unknown>)[] = [() => rm(root, { recursive: true, force: true })];
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  const mounted = async (name: string) => {
    const disk = await mountSmallDisk(join(root, name));
    if ('remove' in disk) closers.push(() => disk.remove());
    return disk;
  };
  try {
    const homeDisk = await mounted('homes');
    const databaseDisk = await mounted('postgres');
    const postgres = env.DATABASE_URL ? null : await startOwnPostgres(join(root, 'postgres', 'server'));
    if (postgres) closers.push(() => postgres.close());
    let broker: Promise<OwnBroker> | undefined;
    const ownBroker = () => {
      broker ??= startOwnBroker().then((own) => {
        closers.push(() => own.close());
        return own;
      });
      return broker;
    };
    return {
      async platform(log) {
        const own = log === 'kafka' && !env.KAFKA_BROKERS ? await ownBroker() : null;
        const brokers = log === 'kafka' ? (own?.brokers.join(',') ?? env.KAFKA_BROKERS) : undefined;
        const database = await createDatabase(postgres?.url ?? env.DATABASE_URL ?? '', 'espalier_chaos', 'template0');
        const home = join(root, 'homes', database.name);
        await mkdir(home);
        await writeLocalToken(home);
        const config = readConfig({
          ESPALIER_HOME: home,
          DATABASE_URL: database.url,
          ESPALIER_PARTITIONS: '2',
          ESPALIER_PORT: '0',
          ...(brokers ? { KAFKA_BROKERS: brokers, ESPALIER_KAFKA_PREFIX: `${database.name}.` } : {}),
        });
        const platform = await openPlatform(config, 'chaos');
        return {
          ...platform,
          home,
          means: { postgres, broker: own, databaseDisk, homeDisk },
          async close() {
            await platform.close();
            await database.drop();
            await rm(home, { recursive: true, force: true });
          },
        };
      },
      close,
    };
  } catch (error) {
    await close().catch(() => undefined); // the fault that led here is the one to report
    throw error;
  }
}

/** Removes what laboratories left whose process was killed. */
async function removeAbandoned(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = /^espalier-chaos-(\d+)-/.exec(name)?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    for (const disk of ['homes', 'postgres']) await unmount(join(tmpdir(), name, disk));
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined); // another laboratory may do the same
  }
}
