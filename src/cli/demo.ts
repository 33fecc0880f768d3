import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { runAll } from '../app/run-all.ts';
import { TOPICS } from '../events/catalogue.ts';
import { newId } from '../events/new-id.ts';
import { CODE_VERSION } from '../platform/code-version.ts';
import type { Platform } from '../platform/open-platform.ts';
import { countRecord } from '../projections/runs/read-run-totals.ts';
import { everyTrajectory } from '../projections/trajectories/trajectory-query.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { createLogger } from '../runtime/logger.ts';
import { collect, throwIfFailed } from '../usecases/collect/collect.ts';
import type { Progress } from '../usecases/collect/collect-run.ts';
import { runDigest } from '../usecases/datasets/digest-trees.ts';
import { exportTrajectories } from '../usecases/datasets/export/export-trajectories.ts';
import type { ExportFormat } from '../usecases/datasets/export/formats.ts';
import type { BatchOptions } from '../usecases/train/batcher/run-batcher.ts';
import { progressText } from './collect.ts';
import { proveSurvived, trainThroughCrashes } from './demo/crash.ts';
import { type DemoSize, planDemo, planDemoImages, planDemoSearch } from './demo/plan.ts';
import { startWorker } from './demo/processes.ts';
import { deepestTree, queriesToTry, successByDepth } from './demo/report.ts';
import { showImages, shownPath, showSearch } from './demo/show-record.ts';
import { trainFew, trainPictures } from './demo/train-few.ts';
import { describeManifest } from './export.ts';
import { pageLink } from './page-link.ts';
import { print, progressLine } from './terminal.ts';
import { drawRecorded, readTree } from './tree.ts';
import { wholeNumber, withPlatform } from './with-platform.ts';

interface DemoFlags extends DemoSize {
  readonly seed: number;
  readonly exit?: boolean;
  readonly crash?: boolean;
}

/**
 * `espalier demo`: the whole way in one command. Rollouts are collected, become trees, are queried and exported. Embedded,
 * everything runs in this process; with KAFKA_BROKERS, projector, API and collector are processes of their own and the log is
 * Kafka.
 */
export function addDemo(program: Command): void {
  program
    .command('demo')
    .option('--exit', 'stop at the end instead of serving until Ctrl-C')
    .option(
      '--crash',
      'train with processes that are killed by SIGKILL meanwhile, then account for every sample and replay the run',
    )
    .option('--seed <n>', 'seed of the run', wholeNumber('--seed', 0), 1)
    .option('--tasks <n>', 'tasks, spread over the depths', wholeNumber('--tasks', 1, 10_000), 32)
    .option('--rollouts <n>', 'rollouts per task', wholeNumber('--rollouts', 1, 10_000), 8)
    .option('--deep-rollouts <n>', 'rollouts of the one deep tree', wholeNumber('--deep-rollouts', 1, 10_000), 48)
    .option('--policy <spec>', 'the policy that acts', 'linear')
    .action((flags: DemoFlags) => demo(flags));
}

async function demo(flags: DemoFlags): Promise<void> {
  const opened = Date.now();
  await withPlatform('demo', async (platform, signal) => {
    const { database, mode } = platform;
    print(
      `Espalier ${CODE_VERSION} · database ${mode.database} · log ${mode.log === 'kafka' ? 'Kafka' : 'embedded'} · ready in ${seconds(opened)} s`,
    );
    if (flags.crash) return await proveSurvived(platform, await trainThroughCrashes(platform, flags.seed, signal), signal);
    const workers = await startWorkers(platform);
    try {
      print(`Studio  ${await pageLink(platform.config, workers.url, '/')}  (shows what follows as it happens)`);
      const runId = newId();
      const began = Date.now();
      const plan = await planDemo(flags);
      await workers.collect({ runId, name: 'demo', seed: flags.seed, plan }, signal);
      signal.throwIfAborted();
      const collected = Date.now();
      await waitUntilProjected(database.db, await platform.log.ends(TOPICS), { timeoutMs: 60_000, signal });
      await show(platform, runId, { collectMs: collected - began, lagMs: Date.now() - collected });
      const searchId = newId();
      await workers.collect({ runId: searchId, name: 'demo search', seed: flags.seed, plan: planDemoSearch(plan) }, signal);
      signal.throwIfAborted();
      await showSearch(platform, searchId, signal);
      const imagesId = newId();
      await workers.collect({ runId: imagesId, name: 'demo images', seed: flags.seed, plan: await planDemoImages() }, signal);
      signal.throwIfAborted();
      await waitUntilProjected(database.db, await platform.log.ends(TOPICS), { timeoutMs: 60_000, signal });
      await showImages(platform, imagesId, workers.url);
      await trainPictures(platform, flags.seed, workers, signal);
      signal.throwIfAborted();
      await trainFew(platform, flags.seed, workers, signal);
      signal.throwIfAborted();
      await exportAll(platform, runId, signal);
      print();
      print(`Studio   ${await pageLink(platform.config, workers.url, '/')}`);
      print(`GraphQL  ${await pageLink(platform.config, workers.url, '/graphql')}`);
      for (const query of await queriesToTry(database.db, runId, imagesId)) print(`  ${query}`);
      if (flags.exit) return;
      print();
      print('Serving until Ctrl-C.');
      await Promise.race([new Promise((resolve) => signal.addEventListener('abort', resolve)), workers.finished]);
    } finally {
      await workers.close();
    }
  });
}

interface Planned {
  readonly runId: string;
  readonly name: string;
  readonly seed: number;
  readonly plan: Awaited<ReturnType<typeof planDemo>>;
}
interface Workers {
  readonly url: string;
  /** Plans batches, where that is this process. */
  readonly batcher?: BatchOptions;
  readonly finished: Promise<unknown>;
  collect(planned: Planned, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

async function startWorkers(platform: Platform): Promise<Workers> {
  return platform.mode.log === 'kafka' ? startProcesses(platform) : startInProcess(platform);
}

async function startInProcess(platform: Platform): Promise<Workers> {
  const all = await runAll(platform, createLogger({ level: 'warn' }));
  return {
    ...all,
    async collect(planned, signal) {
      const line = progressLine();
      const began = Date.now();
      const progress = (p: Progress) => line.show(progressText(p, (Date.now() - began) / 1_000));
      const collected = await collect(platform, { ...planned, concurrency: 8, signal, mode: 'new', progress });
      line.end();
      throwIfFailed(planned.runId, collected);
    },
  };
}

async function startProcesses(platform: Platform): Promise<Workers> {
  const logs = join(platform.config.home, 'logs');
  const projector = await startWorker('project', [], logs);
  const api = await startWorker('api', [], logs);
  print(`workers: project (pid ${projector.pid}), api (pid ${api.pid}); logs in ${logs}`);
  return {
    url: String(api.said.url),
    finished: Promise.race([projector.ended, api.ended]),
    async collect(planned, signal) {
      const file = join(platform.config.home, `plan-${planned.runId}.json`);
      await writeFile(file, JSON.stringify(planned));
      const collector = await startWorker('collect', [file], logs);
      print(`workers: collect (pid ${collector.pid}), run ${planned.runId}`);
      const line = progressLine();
      const stop = () => void collector.stop();
      signal.addEventListener('abort', stop);
      let code: number | undefined;
      void collector.ended.then((ended) => {
        code = ended;
      });
      while (code === undefined) {
        const { trees, rollouts, steps } = await countRecord(platform.database.db, planned.runId);
        line.show(`collecting: ${trees} trees, ${rollouts} rollouts, ${steps} steps are in the read models`);
        await Promise.race([collector.ended, new Promise((resolve) => setTimeout(resolve, 500))]);
      }
      line.end();
      signal.removeEventListener('abort', stop);
      if (code !== 0 && !signal.aborted) throw new Error(`the collector ended with code ${code}; its log: ${collector.logFile}`);
    },
    async close() {
      await Promise.all([api.stop(), projector.stop()]);
    },
  };
}

async function show(platform: Platform, runId: string, times: { collectMs: number; lagMs: number }): Promise<void> {
  const { db } = platform.database;
  const counts = await countRecord(db, runId);
  const { digest } = await runDigest(platform, runId);
  print();
  const deep = await deepestTree(db, runId);
  print(await successByDepth(db, runId));
  print();
  const rate = (counts.events / (times.collectMs / 1_000)).toFixed(0);
  print(`run ${runId}`);
  print(
    `${counts.trees} trees, ${counts.rollouts} rollouts, ${counts.steps} steps; ${counts.events} events in ${(times.collectMs / 1_000).toFixed(1)} s (${rate}/s), queryable ${times.lagMs} ms after the last append`,
  );
  print(`trees digest ${digest.slice(0, 16)} (equal for equal seeds, on any log)`);
  const tree = deep === undefined ? undefined : await readTree(db, deep);
  if (!tree) return;
  print();
  print(`The deep tree, ${tree.rollouts.size} rollouts that start anywhere in it (espalier tree ${deep}):`);
  print(drawRecorded(tree, [], { lines: 16 }));
}

async function exportAll({ config, database, blobs }: Platform, runId: string, signal: AbortSignal): Promise<void> {
  const folder = join(config.home, 'exports');
  await mkdir(folder, { recursive: true });
  const formats: readonly (readonly [string, ExportFormat])[] = [
    ['openai.jsonl', { kind: 'openai', weights: 'own', metadata: 'include', context: 'drop' }], // shared steps are context
    ['parquet', { kind: 'parquet', weights: 'own' }],
  ];
  const written = formats.map(async ([ending, format]) => {
    const out = join(folder, `${runId}.${ending}`);
    const manifest = await exportTrajectories({
      db: database.db,
      blobs,
      format,
      out,
      signal,
      codeVersion: CODE_VERSION,
      waitMs: 60_000,
      query: { ...everyTrajectory, runs: [runId] },
      existing: 'replace',
      empty: 'refuse',
      onProgress: () => undefined,
    });
    return describeManifest(shownPath(out), manifest);
  });
  print();
  print(await Promise.all(written));
}

function seconds(since: number): string {
  return ((Date.now() - since) / 1_000).toFixed(1);
}
