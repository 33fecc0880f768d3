/**
 * Shows that an export runs in constant memory: the peak RSS of a process that exports 20,000 steps compared with one that
 * exports ten times as many, in every format. Each export runs in a process of its own, because a peak is for the life of a
 * process, and with 96 MiB of old space: without a limit the collector takes its time, and the peak says how lazy it was, not
 * what the export holds.
 *
 *     npx tsx infra/bench/export-memory.ts [steps]
 */
import { fork } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '../../src/postgres/database.ts';
import { startEmbeddedPostgres } from '../../src/postgres/embedded-server.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { installProjections } from '../../src/projections/install.ts';
import { everyTrajectory } from '../../src/projections/trajectories/trajectory-query.ts';
import { EventBuilder } from '../../src/testing/event-builder.ts';
import { givenEvents } from '../../src/testing/given-events.ts';
import { MemoryBlobs } from '../../src/testing/memory-blobs.ts';
import { exportTrajectories } from '../../src/usecases/datasets/export/export-trajectories.ts';
import type { ExportFormat } from '../../src/usecases/datasets/export/format.ts';

const FORMATS: readonly ExportFormat[] = [
  { kind: 'openai', weights: 'policy', metadata: 'include' },
  { kind: 'sharegpt', weights: 'policy' },
  { kind: 'parquet', weights: 'policy' },
  { kind: 'jsonl', scope: 'trajectories' },
];
const ROLLOUTS_PER_TREE = 8;
const STEPS_PER_ROLLOUT = 10;
const TEXT = 700; // bytes of observation: with the response about 1 KB per step

interface Measured {
  readonly milliseconds: number;
  readonly peakMiB: number;
}

/** In the child: one export, then what it cost. */
async function measureExport(url: string, format: ExportFormat, out: string): Promise<Measured> {
  const database = await openDatabase(url);
  // Sampled, because Linux hands a forked process the peak (ru_maxrss) of its parent.
  let peak = process.memoryUsage.rss();
  const sampling = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 5);
  const began = performance.now();
  await exportTrajectories({
    db: database.db,
    blobs: new MemoryBlobs(),
    query: everyTrajectory,
    format,
    out,
    existing: 'replace',
    empty: 'allow',
    codeVersion: 'bench',
    waitMs: 10_000,
    signal: new AbortController().signal,
    onProgress: () => undefined,
  });
  const milliseconds = performance.now() - began;
  clearInterval(sampling);
  await database.close();
  return { milliseconds, peakMiB: peak / 2 ** 20 };
}

/** In the parent: a process that exports `format`. */
function inOwnProcess(url: string, format: ExportFormat, out: string): Promise<Measured> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), ['child', url, JSON.stringify(format), out], {
      execArgv: ['--max-old-space-size=96', '--import', 'tsx'],
    });
    child.on('message', (measured) => resolve(measured as Measured)); // sent by `main` below
    child.on('exit', (code) => (code === 0 ? undefined : reject(new Error(`the export of ${format.kind} ended with ${code}`))));
  });
}

async function record(url: string, run: string, steps: number): Promise<void> {
  const database = await openDatabase(url);
  const runId = new EventBuilder(run).id('run', run);
  const trees = Math.ceil(steps / (ROLLOUTS_PER_TREE * STEPS_PER_ROLLOUT));
  for (let first = 0; first < trees; first += 20) {
    const builder = new EventBuilder(`${run} ${first}`);
    if (first === 0) builder.run(run, { runId });
    for (let t = first; t < Math.min(trees, first + 20); t++) {
      const tree = builder.tree(runId, `task ${t}`);
      for (let ordinal = 0; ordinal < ROLLOUTS_PER_TREE; ordinal++) {
        const rolloutId = builder.rollout(tree, ordinal);
        let parent = tree.rootStepId;
        for (let depth = 1; depth <= STEPS_PER_ROLLOUT; depth++)
          parent = builder.step(tree, rolloutId, parent, depth, {
            observation: `${t} ${ordinal} ${depth} `.padEnd(TEXT, 'what is seen '),
          });
        builder.reward(tree, parent, ordinal % 2, { rolloutId });
        builder.finishRollout(tree, rolloutId, parent, { steps: STEPS_PER_ROLLOUT });
      }
    }
    await givenEvents(database.db, builder.events);
  }
  await database.close();
}

async function main(): Promise<void> {
  const [mode, url = '', format = '', out = ''] = process.argv.slice(2);
  if (mode === 'child') {
    process.send?.(await measureExport(url, JSON.parse(format), out));
    return;
  }
  const most = Number(mode ?? 200_000);
  const folder = await mkdtemp(join(tmpdir(), 'espalier-bench-'));
  const server = await startEmbeddedPostgres({ folder: join(folder, 'postgres'), durability: 'none' });
  try {
    const database = await openDatabase(server.url);
    await migrate(database.pool);
    await installProjections(database.pool);
    await database.close();
    const few = Math.round(most / 10);
    const measured: { steps: number; format: string; cost: Measured; bytes: number }[] = [];
    for (const [run, add, steps] of [
      ['few', few, few],
      ['many', most - few, most],
    ] as const) {
      await record(server.url, run, add);
      for (const each of FORMATS) {
        const file = join(folder, `${each.kind}.out`);
        const cost = await inOwnProcess(server.url, each, file);
        measured.push({ steps, format: each.kind, cost, bytes: (await stat(file)).size });
      }
    }
    for (const { steps, format: kind, cost, bytes } of measured) {
      const base = measured.find((other) => other.format === kind)?.cost.peakMiB ?? cost.peakMiB;
      const rate = Math.round((steps / cost.milliseconds) * 1_000);
      console.log(
        `${kind.padEnd(9)} ${String(steps).padStart(8)} steps ${(bytes / 2 ** 20).toFixed(1).padStart(8)} MiB file ${String(rate).padStart(7)} steps/s` +
          ` peak ${cost.peakMiB.toFixed(0).padStart(4)} MiB, ${(cost.peakMiB / base).toFixed(2)} times that of a tenth`,
      );
    }
  } finally {
    await server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

await main();
