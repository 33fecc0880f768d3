import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPlatform, type Platform } from '../platform/open-platform.ts';
import { readConfig } from '../runtime/config.ts';
import { createTestDatabase } from './database.ts';
import { writeLocalToken } from './local-token.ts';

/**
 * Opens a whole platform on a database and a folder of its own; `close` removes both. @param brokers given, the log is theirs.
 * @param env more variables of its configuration.
 */
export async function openTestPlatform(
  brokers?: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Platform & { readonly home: string }> {
  const database = await createTestDatabase();
  const home = await mkdtemp(join(tmpdir(), 'espalier-home-'));
  await writeLocalToken(home);
  const config = readConfig({
    ESPALIER_HOME: home,
    DATABASE_URL: database.url,
    ESPALIER_PARTITIONS: '4',
    ESPALIER_PORT: '0',
    // Every test platform has topics and groups of its own on a shared broker.
    ...(brokers ? { KAFKA_BROKERS: brokers.join(','), ESPALIER_KAFKA_PREFIX: `${database.name}.` } : {}),
    ...env,
  });
  const platform = await openPlatform(config, 'test');
  return {
    ...platform,
    home,
    close: async () => {
      await platform.close();
      await database.drop();
      await rm(home, { recursive: true, force: true });
    },
  };
}
