import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { type RoleName, startRoles } from '../../src/app/roles.ts';
import { startOnPlatform } from '../../src/app/start-on-platform.ts';
import { serveProbes } from '../../src/http/probes.ts';
import { json } from '../../src/http/reply.ts';
import type { Platform } from '../../src/platform/open-platform.ts';
import { freePort } from '../../src/runtime/free-port.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import { EventBuilder } from '../../src/testing/event-builder.ts';
import { inCI } from '../../src/testing/in-ci.ts';
import { LOCAL } from '../../src/testing/local-token.ts';
import { openTestPlatform } from '../../src/testing/open-test-platform.ts';
import { appendRecorded } from '../../src/testing/record-batches.ts';
import { recordGroup, TEST_RULES } from '../../src/testing/record-training.ts';
import { startTraceCollector } from '../../src/testing/trace-collector.ts';
import { until } from '../../src/testing/until.ts';
import { createLeaseService } from '../../src/training/leases/lease-service.ts';
import { lineageIdOf } from '../../src/usecases/train/batcher/declare-training.ts';
import { openLeaseService } from '../../src/usecases/train/open-lease-service.ts';
import { metricNames } from './metric-names.ts';
import { promtool, whyNoPromtool } from './promtool.ts';
import { PROVOKED_AT, readSamples, type Scrape, seriesOf } from './scrapes.ts';

const run = promisify(execFile);
const FILE = fileURLToPath(new URL('alerts.yaml', import.meta.url));
const LATE = PROVOKED_AT + 90;
const SOON = PROVOKED_AT + 1; // before what grew is compared with itself
const POLICY = 'linear:watched';

const missing = await whyNoPromtool();
const describeHere = missing === undefined || inCI() ? describe : describe.skip;

describeHere(`alerts${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  let platform: Platform & { readonly home: string };
  let collector: Awaited<ReturnType<typeof startTraceCollector>>;
  let names: ReadonlySet<string>;
  let work: string;
  const running = new Map<RoleName, { readonly port: number; readonly close: () => Promise<void> }>();
  let url = '';

  beforeAll(async () => {
    process.env.OTEL_BSP_SCHEDULE_DELAY = '50';
    collector = await startTraceCollector();
    platform = await openTestPlatform(undefined, {
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    });
    const { groups } = parse(await readFile(FILE, 'utf8')) as { groups: { rules: { expr: string }[] }[] };
    names = new Set(groups.flatMap(({ rules }) => rules.flatMap(({ expr }) => metricNames(expr))));
    work = await mkdtemp(join(tmpdir(), 'espalier-alerts-'));
    for (const role of ['project', 'relay', 'batch', 'api'] as const) await start(role);
  });
  afterAll(async () => {
    for (const { close } of running.values()) await close();
    await platform.close();
    await collector.close();
    await rm(work, { recursive: true, force: true });
  });

  /** Starts a role as its own process would be: with a platform, a port and measurements of its own. */
  async function start(role: RoleName): Promise<void> {
    const port = await freePort();
    const config = { ...platform.config, host: '127.0.0.1', probePort: port };
    const options = { config, name: role, logger: SILENT, signal: new AbortController().signal };
    const started = await startOnPlatform(options, (own) => startRoles(own, SILENT, [role]));
    if (role === 'api') url = started.running.roles.api.url;
    running.set(role, { port, close: started.close });
  }
  async function stop(role: RoleName): Promise<void> {
    await running.get(role)?.close();
    running.delete(role);
  }

  async function scrape(): Promise<Scrape> {
    const texts = await Promise.all(
      [...running].map(async ([role, { port }]) => {
        const reply = role === 'api' ? fetch(`${url}/metrics`, { headers: LOCAL }) : fetch(`http://127.0.0.1:${port}/metrics`);
        return [role, await (await reply).text()] as const;
      }),
    );
    const own = ['test', (await platform.metrics.expose()).body] as const; // several platforms of a process export spans as the first
    const samples = [...texts, own].flatMap(([role, text]) => [...readSamples(text, names, role)]);
    return { at: performance.now(), samples: new Map(samples) };
  }

  /** Expects that an alert is silent on what is scraped now, and fires on what is scraped while the cause lasts. */
  async function fires(
    alert: string,
    provoke: () => Promise<unknown>,
    { goOn = async () => {}, minutes = LATE }: Provocation = {},
  ) {
    const healthy = await scrape();
    await provoke();
    const before = await scrape();
    await goOn();
    await delay(500);
    const after = await scrape();
    const at = (eval_time: string, expr: string, exp_samples: readonly object[]) => ({ expr, eval_time, exp_samples });
    const file = join(work, `${alert}.yaml`);
    const series = seriesOf(healthy, [before, after]);
    const cases = {
      rule_files: [FILE],
      evaluation_interval: '1m',
      tests: [
        {
          interval: '1m',
          input_series: series,
          promql_expr_test: [
            at(`${PROVOKED_AT - 1}m`, `ALERTS{alertname="${alert}"}`, []),
            at(`${minutes}m`, `group by (alertname) (ALERTS{alertname="${alert}",alertstate="firing"})`, [
              { labels: `{alertname="${alert}"}`, value: 1 },
            ]),
          ],
        },
      ],
    };
    await writeFile(file, stringify(cases, { lineWidth: 0 }));
    const tested = await run(await promtool(), ['test', 'rules', file]).catch((error: { stdout?: string; stderr?: string }) => ({
      stdout: `FAILED\n${error.stdout}${error.stderr}`,
    }));
    expect(tested.stdout).toContain('SUCCESS');
    expect(tested.stdout).not.toContain('FAILED');
  }
  interface Provocation {
    /** What goes on between two scrapes while the cause lasts. */
    readonly goOn?: () => Promise<unknown>;
    /** When it is asked whether the alert fires. */
    readonly minutes?: number;
  }

  const post = async (name: string, observation?: string) => {
    const builder = new EventBuilder(name);
    const runId = builder.run(name);
    if (observation !== undefined) {
      const tree = builder.tree(runId, name);
      builder.step(tree, builder.rollout(tree), tree.rootStepId, 1, { observation });
    }
    const asked = {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...LOCAL },
      body: JSON.stringify(builder.events),
    };
    return (await fetch(`${url}/v1/events`, asked)).status;
  };
  const health = async () =>
    ((await (await fetch(`${url}/v1/health`, { headers: LOCAL })).json()) as { lag: Record<string, number> | null }).lag ?? {};
  const folded = () => until(async () => Object.values(await health()).every((lag) => lag === 0));

  /** Registers the policy, whose version 0 every batch is collected by. */
  async function declared() {
    const policy = { policyId: POLICY, backend: 'test', weights: 'a'.repeat(64), kept: null };
    expect(await openLeaseService(platform).registerPolicy(policy)).toMatchObject({ kind: 'registered' });
    return { lineageId: lineageIdOf(POLICY) };
  }

  test('promtool accepts the rules', async () => {
    const { stdout } = await run(await promtool(), ['check', 'rules', FILE]);
    expect(stdout).toContain('SUCCESS');
  });

  test('EspalierRoleDown: the last process of a role ends', async () => {
    await fires('EspalierRoleDown', () => stop('batch'));
  });

  test('EspalierPlannerMissing: groups are complete, and nobody plans', async () => {
    const builder = new EventBuilder('pool');
    const { lineageId } = await declared();
    const estimator = { name: 'grpo', revision: '1', mode: {} };
    const trained = { lineageId, policyId: POLICY, estimator, rules: TEST_RULES, seed: 7, trainer: {} };
    builder.record('TrainingDeclared', trained, lineageId);
    await appendRecorded(platform.log, builder.events);
    await folded();
    const from = builder.events.length;
    const provoke = async () => {
      const runId = builder.run('collect', { config: { training: { policyId: POLICY, channel: 'train' } } });
      for (const task of ['a', 'b']) recordGroup(builder, runId, task, { policyId: POLICY, rewards: [0, 1] });
      await appendRecorded(platform.log, builder.events.slice(from));
      await folded();
      const due = async () => [...(await scrape()).samples].some(([series, n]) => series.includes('_plannable{') && n === 1);
      await until(due); // the API looks every 30 s
    };
    await fires('EspalierPlannerMissing', provoke);
  });

  test('EspalierBatchWaits: a batch is planned, and no trainer takes it', async () => {
    const planned = async () => [...(await scrape()).samples.keys()].some((series) => series.includes('oldest_batch_seconds'));
    await fires('EspalierBatchWaits', async () => {
      await start('batch');
      await until(planned);
    });
  });

  test('EspalierLeasesExpire: trainers take a batch and are not heard from again', async () => {
    const service = openLeaseService(platform);
    const expired = async () => {
      const { rows } = await platform.database.pool.query<{ n: number }>(
        "select count(*)::int as n from leases where ended_by = 'expired'",
      );
      return rows[0]?.n ?? 0;
    };
    const provoke = async () => {
      for (let lost = 0; lost < 3; lost++) {
        const leased = await service.lease({ policyId: POLICY, consumer: `trainer ${lost}`, ttlMs: 100 });
        expect(leased.kind).toBe('leased');
        await until(async () => (await expired()) > lost);
      }
    };
    await fires('EspalierLeasesExpire', provoke, { minutes: SOON });
  });

  test('EspalierOutboxStuck: the relay is away, and something was decided', async () => {
    const { database, blobs, stamp } = platform;
    await stop('relay');
    const service = createLeaseService({ db: database.db, blobs, stamp, producer: { name: 'desk', version: '1' } });
    const policy = { policyId: 'undelivered', backend: 'test', weights: 'a'.repeat(64), kept: null };
    await fires('EspalierOutboxStuck', () => service.registerPolicy(policy));
    await start('relay');
    await folded();
  });

  test('EspalierQuarantineGrows: an event that no fold takes is appended', async () => {
    const waiting = async () => {
      const { rows } = await platform.database.pool.query('select from quarantine');
      return rows.length > 0;
    };
    const bad = { topic: 'runs', key: 'bad', value: Buffer.from('{"type":"RunStarted"}') };
    const provoke = async () => {
      await platform.log.append([bad]);
      await until(waiting);
    };
    await fires('EspalierQuarantineGrows', provoke, { minutes: SOON });
  });

  test('EspalierProjectionLag: nobody folds what is appended', async () => {
    await folded();
    const provoke = async () => {
      await stop('project');
      expect(await post('unfolded')).toBe(200);
      const late = async () => [...(await scrape()).samples].some(([series, n]) => series.includes('_lag_seconds{') && n > 0);
      await until(late); // it is read twice a second
    };
    await fires('EspalierProjectionLag', provoke);
    await start('project');
    await folded();
  });

  test('EspalierProjectionStopped: a projector has stopped a projection', async () => {
    const { pool } = platform.database;
    const provoke = () =>
      pool.query("update projections set state = 'stopped', reason = 'as a projector writes it' where name = 'runs'");
    await fires('EspalierProjectionStopped', provoke);
    await stop('project');
    await start('project'); // which begins it again
    await folded();
  });

  test('EspalierWrongKeys: somebody shows keys that nobody has', async () => {
    const guess = () => fetch(`${url}/v1/key`, { headers: { authorization: `Bearer espalier_${'a'.repeat(43)}` } });
    await fires('EspalierWrongKeys', guess, { goOn: () => Promise.all(Array.from({ length: 20 }, guess)) });
  });

  test('EspalierServerErrors: requests meet a table that is not there', async () => {
    const { pool } = platform.database;
    const ask = async () => (await fetch(`${url}/images/${'a'.repeat(64)}.png`, { headers: LOCAL })).status;
    const provoke = async () => {
      await pool.query('alter view public.history_images rename to taken_away');
      expect(await ask()).toBe(500);
    };
    await fires('EspalierServerErrors', provoke, { goOn: () => Promise.all(Array.from({ length: 5 }, ask)) });
    await pool.query('alter view public.taken_away rename to history_images');
  });

  test('EspalierBlobsFail: the folder of large payloads cannot be written to', async () => {
    const blobs = platform.config.blobs;
    const large = () => post(`large ${performance.now()}`, 'x'.repeat(100_000));
    const provoke = async () => {
      await rename(blobs, `${blobs}-away`);
      await writeFile(blobs, '');
      await large();
    };
    await fires('EspalierBlobsFail', provoke, { goOn: large });
    await rm(blobs);
    await rename(`${blobs}-away`, blobs);
  });

  test('EspalierSpansDropped: the collector of traces refuses spans', async () => {
    const dropped = async () => [...(await scrape()).samples.keys()].some((series) => series.includes('spans_dropped'));
    const ask = async () => {
      for (let i = 0; i < 4; i++) {
        await fetch(`${url}/v1/key`, { headers: LOCAL });
        await delay(100); // each is exported by itself
      }
    };
    const provoke = async () => {
      collector.answer(400);
      await ask();
      await until(dropped);
    };
    await fires('EspalierSpansDropped', provoke, { goOn: ask });
    collector.answer(200);
  });

  test('EspalierDiskFull: the disk of a folder has a twentieth left', async () => {
    const disk = join(work, 'disk');
    await mkdir(disk);
    const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]).then(
      () => true,
      () => false,
    );
    if (!mounted) throw new Error('this test mounts a disk of one megabyte: run it as root');
    const own = await openTestPlatform(undefined, { ESPALIER_BLOBS: join(disk, 'blobs') });
    const probes = await serveProbes({ host: '127.0.0.1', port: 0, metrics: own.metrics }, async () => json(200, {}));
    const relay = running.get('relay');
    try {
      running.set('relay', { port: probes.port, close: relay?.close ?? own.close });
      await fires('EspalierDiskFull', () => writeFile(join(disk, 'blobs', 'filler'), Buffer.alloc(1_000_000)));
    } finally {
      if (relay) running.set('relay', relay);
      await probes.close();
      await own.close();
      await run('umount', [disk]);
    }
  });
});
