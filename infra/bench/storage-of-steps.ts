import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { openPlatform } from '../../src/platform/open-platform.ts';
import { readConfig } from '../../src/runtime/config.ts';
import type { Figure } from './outcome.ts';
import { recordOwn } from './side-by-side/record-own.ts';
import type { Size, Stage } from './stage.ts';

const EPISODES: Record<Size, number> = { full: 500, quick: 10 }; // of 20 steps
const SHOWN_FROM = 20; // bytes of a step
const EMBEDDED = 2_200;
const OF_GZIP_LOG = 1.5;

/**
 * Measures what the steps of the side by side (1,000 bytes of text each, sent by the Python client) take on disk: with the
 * embedded log what the database grew by, and its tables; with Kafka the topics as they were sent, in gzip, and the database.
 */
export async function storageOfSteps(stage: Stage): Promise<readonly Figure[]> {
  const embedded = await record(stage.another(), 'embedded');
  const kafka = await record(stage.another(), 'kafka');
  const grown: Figure = {
    name: 'steps of 1,000 bytes, embedded log: what the database grew by, per step',
    value: embedded.database,
    unit: 'bytes',
    baseline: null,
    goal: { kind: 'below', limit: EMBEDDED },
  };
  const tables = embedded.tables.map(({ name, bytes }) => informs(`of which ${name}`, bytes));
  if (kafka.topics === null) return [grown, ...tables];
  const both: Figure = {
    name: 'steps of 1,000 bytes, Kafka: topics and database, per step',
    value: kafka.topics + kafka.database,
    unit: 'bytes',
    baseline: { name: 'the topics alone, in gzip as they are sent', value: kafka.topics, unit: 'bytes' },
    goal: { kind: 'share', most: OF_GZIP_LOG },
  };
  return [grown, ...tables, both, ...kafka.tables.map(({ name, bytes }) => informs(`of which ${name}`, bytes))];
}

const informs = (name: string, value: number): Figure => ({ name, value, unit: 'bytes', baseline: null, goal: null });

interface Stored {
  /** Bytes of a step that the database grew by, and those of its largest tables, indexes included. */
  readonly database: number;
  readonly tables: readonly { readonly name: string; readonly bytes: number }[];
  /** Bytes of a step in the files of the topics; null where the broker is not the stage's own. */
  readonly topics: number | null;
}

async function record(stage: Stage, log: 'embedded' | 'kafka'): Promise<Stored> {
  const home = await mkdtemp(join(tmpdir(), 'espalier-bench-home-'));
  stage.closing(() => rm(home, { recursive: true, force: true }));
  const settings = { ...(await stage.settings(log)), ESPALIER_HOME: home, ESPALIER_PORT: '0' };
  const platform = await openPlatform(readConfig(settings), 'bench');
  stage.closing(() => platform.close());
  const { bytes, steps } = await recordOwn(stage, platform, EPISODES[stage.size]);
  const folder = log === 'kafka' ? await stage.topicsFolder() : null;
  return {
    database: (bytes ?? 0) / steps,
    tables: await largestTables(platform.database.pool, steps),
    topics: folder === null ? null : (await bytesOfTopics(folder)) / steps,
  };
}

async function largestTables(pool: pg.Pool, steps: number): Promise<Stored['tables']> {
  const { rows } = await pool.query<{ name: string; data: number; indexes: number }>(
    `select n.nspname || '.' || c.relname as name, pg_table_size(c.oid) as data, pg_indexes_size(c.oid) as indexes
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and pg_total_relation_size(c.oid) >= $1 and n.nspname not in ('pg_catalog', 'information_schema')
     order by pg_total_relation_size(c.oid) desc`,
    [SHOWN_FROM * steps],
  );
  const each = (bytes: number) => Math.round(Number(bytes) / steps).toLocaleString('en');
  return rows.map(({ name, data, indexes }) => ({
    name: `${name} (data ${each(data)}, indexes ${each(indexes)})`,
    bytes: (Number(data) + Number(indexes)) / steps,
  }));
}

async function bytesOfTopics(folder: string): Promise<number> {
  const files = (await readdir(folder, { recursive: true })).filter((name) => /^(?!__).*\.log$/.test(name));
  const sizes = await Promise.all(files.map(async (name) => (await stat(join(folder, name))).size));
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}
