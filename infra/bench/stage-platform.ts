import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFileBlobStore } from '../../src/blobs/file-blob-store.ts';
import { TOPICS } from '../../src/events/catalogue.ts';
import { DEFAULT_STAMP } from '../../src/events/envelope.ts';
import { foldSourceOf, type Platform } from '../../src/platform/open-platform.ts';
import { readConfig } from '../../src/runtime/config.ts';
import { writeLocalToken } from '../../src/testing/local-token.ts';
import type { Stage } from './stage.ts';

/** Opens the platform on a stage's database, with the embedded log. It closes with the stage. */
export async function openStagePlatform(stage: Stage): Promise<Platform> {
  const home = await mkdtemp(join(tmpdir(), 'espalier-bench-home-'));
  stage.closing(() => rm(home, { recursive: true, force: true }));
  await writeLocalToken(home);
  const database = await stage.database();
  const config = readConfig({ ESPALIER_HOME: home, DATABASE_URL: database.url, ESPALIER_PORT: '0' });
  const log = await stage.embeddedLog();
  await log.ensureTopics(TOPICS, config.partitions);
  return {
    config,
    databaseUrl: database.url,
    directUrl: database.url,
    database,
    log,
    logFaults: [],
    blobs: openFileBlobStore(config.blobs),
    stamp: DEFAULT_STAMP,
    threads: foldSourceOf(config, database.url, database.url),
    mode: { database: 'given', log: 'embedded' },
    close: () => stage.close(),
  };
}
