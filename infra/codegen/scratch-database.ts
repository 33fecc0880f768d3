import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../../src/postgres/database.ts';
import { startEmbeddedPostgres } from '../../src/postgres/embedded-server.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { openPool } from '../../src/postgres/pool.ts';
import { installProjections } from '../../src/projections/install.ts';

/** Hands over an empty database with all tables, on a server that is gone afterwards. */
export async function withScratchDatabase<Result>(work: (pool: Database['pool']) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'espalier-tables-'));
  try {
    const server = await startEmbeddedPostgres({ folder, durability: 'none' });
    const pool = openPool(server.url, { max: 2 });
    try {
      await migrate(pool);
      await installProjections(pool);
      return await work(pool);
    } finally {
      await pool.end();
      await server.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
