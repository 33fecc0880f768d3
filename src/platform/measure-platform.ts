import type { StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';
import type { Database } from '../postgres/database.ts';
import type { Config } from '../runtime/config.ts';
import type { Metrics } from '../runtime/metrics.ts';

/** Adds what every process uses to its measurements: connections of its database pool, and the disks of its folders. */
export function measurePlatform(
  metrics: Metrics,
  { config, database }: { readonly config: Config; readonly database: Database },
): void {
  const { pool } = database;
  metrics.gauge('database_connections', 'Connections to Postgres of the pool of this process', ['state'], async () => [
    { labels: { state: 'used' }, value: pool.totalCount - pool.idleCount },
    { labels: { state: 'idle' }, value: pool.idleCount },
  ]);
  metrics.gauge('database_connections_max', 'Connections to Postgres that the pool of this process may open', [], async () => [
    { labels: {}, value: pool.options.max },
  ]);
  metrics.gauge('database_requests_waiting', 'Requests that wait for a connection of the pool', [], async () => [
    { labels: {}, value: pool.waitingCount },
  ]);
  const disks = async (read: (of: StatsFs) => number) => {
    const folders = Object.entries({ home: config.home, blobs: config.blobs });
    const samples = folders.map(async ([folder, path]) => {
      const disk = await statfs(path).catch(() => null); // a process that keeps nothing has none
      return disk ? [{ labels: { folder }, value: read(disk) }] : [];
    });
    return (await Promise.all(samples)).flat();
  };
  metrics.gauge('disk_free_bytes', 'Bytes that may still be written to the disk of a folder', ['folder'], () =>
    disks(({ bavail, bsize }) => bavail * bsize),
  );
  metrics.gauge('disk_size_bytes', 'Bytes of the disk of a folder', ['folder'], () =>
    disks(({ blocks, bsize }) => blocks * bsize),
  );
}
