import { randomUUID } from 'node:crypto';
import { planDemo } from '../../src/cli/demo/plan.ts';
import { TOPICS } from '../../src/events/catalogue.ts';
import { derivedId } from '../../src/events/derived-id.ts';
import { schemaNameOf } from '../../src/projections/projection.ts';
import { projections } from '../../src/projections/registry.ts';
import { runProjections } from '../../src/projections/runner.ts';
import { waitUntilProjected } from '../../src/projections/wait-until.ts';
import { collect } from '../../src/usecases/collect/collect.ts';
import type { Figure, Outcome } from './outcome.ts';
import type { Size, Stage, StageDatabase } from './stage.ts';
import { openStagePlatform } from './stage-platform.ts';
import { storageOfSteps } from './storage-of-steps.ts';

const TASKS: Record<Size, number> = { full: 64, quick: 3 };
const ROLLOUTS: Record<Size, number> = { full: 8, quick: 2 };
const SEED = 1;
const WAIT_MS = 120_000;

/**
 * Measures the bytes that a step of a seeded TextCraft run takes, in the log and in the read models, indexes included. The
 * baseline is the naive form, which keeps with every step the whole conversation that led to it, as text alone.
 */
export async function benchStorage(stage: Stage): Promise<Outcome> {
  const platform = await openStagePlatform(stage);
  const { database, log } = platform;
  const size = { tasks: TASKS[stage.size], rollouts: ROLLOUTS[stage.size], deepRollouts: ROLLOUTS[stage.size] * 6 };
  const projecting = await runProjections({ log, database });
  await collect(platform, {
    runId: derivedId('bench run', randomUUID()),
    name: 'storage',
    seed: SEED,
    plan: await planDemo({ ...size, policy: 'linear' }),
    concurrency: 8,
    signal: new AbortController().signal,
    mode: 'new',
  });
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: WAIT_MS });
  await projecting.close();
  await database.pool.query('vacuum full');

  const text = await measureText(await stage.database());
  const stored = await measureStored(await stage.database());
  const naive = { name: 'whole conversation at every step', value: text.naive / text.steps, unit: 'bytes' } as const;
  const figure = (name: string, bytes: number): Figure => ({
    name,
    value: bytes / text.steps,
    unit: 'bytes',
    baseline: naive,
    goal: null,
  });
  return {
    bench: 'storage',
    figures: [
      figure('distinct text per step', text.distinct),
      figure('records in the log per step', stored.records),
      figure('embedded log per step, with its index', stored.log),
      figure('journal per step, with its indexes', stored.journal),
      figure('read models per step, with their indexes', stored.readModels),
      {
        name: 'log records over distinct text',
        value: stored.records / text.distinct,
        unit: 'times',
        baseline: null,
        goal: null,
      },
      ...(await storageOfSteps(stage)),
    ],
    conditions: {
      steps: text.steps,
      'mean depth': (text.depths / text.steps).toFixed(1),
      events: stored.events,
      environment: `TextCraft, ${size.tasks} tasks x ${size.rollouts} rollouts and a deep tree, linear policy, seed ${SEED}`,
      compression: 'none (what Postgres does by itself above 2 KB per row)',
      ...stage.conditions(),
    },
  };
}

interface TextSizes {
  readonly steps: number;
  readonly depths: number;
  /** Bytes of instructions, observations and responses, each once. */
  readonly distinct: number;
  /** Bytes when every step keeps instruction, first observation and every turn up to its own. */
  readonly naive: number;
}

async function measureText(database: StageDatabase): Promise<TextSizes> {
  const { rows } = await database.pool.query<{ id: string; parent: string | null; depth: number; bytes: number }>(`
    select s.step_id as id, s.parent_step_id as parent, s.depth,
           octet_length(s.response) + octet_length(s.observation)
           + case when s.parent_step_id is null then octet_length(t.instruction) else 0 end as bytes
    from steps s join trees t using (tree_id) order by s.tree_id, s.depth`);
  const upTo = new Map<string, number>();
  const sizes = { steps: 0, depths: 0, distinct: 0, naive: 0 };
  for (const { id, parent, depth, bytes } of rows) {
    const path = (parent === null ? 0 : (upTo.get(parent) ?? 0)) + bytes; // parents come first
    upTo.set(id, path);
    sizes.distinct += bytes;
    if (parent === null) continue;
    sizes.steps++;
    sizes.depths += depth;
    sizes.naive += path;
  }
  return sizes;
}

interface StoredSizes {
  readonly events: number;
  readonly records: number;
  readonly log: number;
  readonly journal: number;
  readonly readModels: number;
}

async function measureStored(database: StageDatabase): Promise<StoredSizes> {
  const schemas = projections.map(schemaNameOf);
  const { rows } = await database.pool.query<{ schema: string; bytes: number }>(
    `select schemaname as schema, sum(pg_total_relation_size(format('%I.%I', schemaname, tablename)))::bigint as bytes
     from pg_tables where schemaname = any($1) group by schemaname`,
    [schemas],
  );
  const journalSchema = schemaNameOf({
    name: 'journal',
    version: projections.find(({ name }) => name === 'journal')?.version ?? 1,
  });
  const sum = (chosen: (schema: string) => boolean): number =>
    rows.filter(({ schema }) => chosen(schema)).reduce((total, { bytes }) => total + bytes, 0);
  const log = await database.pool.query<{ events: number; records: number; log: number }>(
    `select count(*) as events, sum(octet_length(key) + octet_length(value))::bigint as records,
            pg_total_relation_size('log_rows') + pg_total_relation_size('log_blocks') as log from log_records`,
  );
  const [measured] = log.rows;
  if (!measured) throw new TypeError('an aggregate returns a row');
  return {
    ...measured,
    journal: sum((schema) => schema === journalSchema),
    readModels: sum((schema) => schema !== journalSchema),
  };
}
