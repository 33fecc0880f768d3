import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabase } from './database.ts';

/** An installation in which nothing was ever opened: a database and a folder of its own. */
export interface EmptyInstallation {
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  remove(): Promise<void>;
}

/** @param brokers given, its log is theirs. */
export async function createEmptyInstallation(brokers?: readonly string[]): Promise<EmptyInstallation> {
  const database = await createTestDatabase();
  const home = await mkdtemp(join(tmpdir(), 'espalier-empty-'));
  return {
    home,
    env: {
      DATABASE_URL: database.url,
      ESPALIER_HOME: home,
      ESPALIER_PORT: '0',
      ...(brokers ? { KAFKA_BROKERS: brokers.join(','), ESPALIER_KAFKA_PREFIX: `${database.name}.` } : {}),
    },
    async remove() {
      await database.drop();
      await rm(home, { recursive: true, force: true });
    },
  };
}
