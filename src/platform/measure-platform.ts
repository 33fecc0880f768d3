import type { StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../postgres/database.ts';
import type { Config } from '../runtime/config.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { readSeldom } from '../runtime/read-seldom.ts';

const DISK_MS = 1_000;

/** Adds what every process uses to its measurements: connections of its database pool, and the disks of its folders. */
export function measurePlatform(
  metrics: Metrics,
  { config, database }: { readonly config: Config; readonly database: Database },
): void {
  const { pool } = database;
  metrics.openGauge('database_connections', 'Connections to Postgres of the pool of this process', ['state'], async () => [
    { labels: { state: 'used' }, value: pool.totalCount - pool.idleCount },
    { labels: { state: 'idle' }, value: pool.idleCount },
  ]);
  metrics.openGauge(
    'database_connections_max',
    'Connections to Postgres that the pool of this process may open',
    [],
    async () => [{ labels: {}, value: pool.options.max }],
  );
  metrics.openGauge('database_requests_waiting', 'Requests that wait for a connection of the pool', [], async () => [
    { labels: {}, value: pool.waitingCount },
  ]);
  // A disk that hangs (NFS) keeps a thread of libuv for each call: there is one call per folder, and a scrape does not wait for it.
  const folders = Object.entries({ home: config.home, blobs: config.blobs }).map(([folder, path]) => ({
    folder,
    look: readSeldom(0, () => statfs(path).catch(() => null)), // a process that keeps nothing has none
  }));
  const disks = async (read: (of: StatsFs) => number) => {
    const samples = folders.map(async ({ folder, look }) => {
      const disk = await Promise.race([look(), delay(DISK_MS, null, { ref: false })]);
      return disk ? [{ labels: { folder }, value: read(disk) }] : [];
    });
    return (await Promise.all(samples)).flat();
  };
  metrics.openGauge('disk_free_bytes', 'Bytes that may still be written to the disk of a folder', ['folder'], () =>
    disks(({ bavail, bsize }) => bavail * bsize),
  );
  metrics.openGauge('disk_size_bytes', 'Bytes of the disk of a folder', ['folder'], () =>
    disks(({ blocks, bsize }) => blocks * bsize),
  );
}
