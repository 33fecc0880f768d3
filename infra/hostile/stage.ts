import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { TOPICS } from '../../src/events/catalogue.ts';
import type { Platform } from '../../src/platform/open-platform.ts';
import { projections } from '../../src/projections/registry.ts';
import { waitUntilProjected } from '../../src/projections/wait-until.ts';
import { environmentOf } from '../../src/testing/crashing-run.ts';
import { EventBuilder } from '../../src/testing/event-builder.ts';
import { LOCAL } from '../../src/testing/local-token.ts';
import { type OpenAiServer, startOpenAiServer } from '../../src/testing/openai-server.ts';
import { appendRecorded, type RecordedBatches, recordBatches } from '../../src/testing/record-batches.ts';
import { until } from '../../src/testing/until.ts';
import { type ChildProcess, startRole } from '../../src/testing/worker-process.ts';
import { replayProjections } from '../../src/usecases/replay/replay-projections.ts';

/** An installation whose servers are processes of their own, with a run, a policy and batches on record in the project `default`. */
export interface Stage {
  readonly platform: Platform & { readonly home: string };
  readonly env: Readonly<Record<string, string>>;
  readonly url: { readonly api: string; readonly policy: string };
  /** The model server that the proxy passes calls on to. */
  readonly upstream: OpenAiServer;
  readonly recorded: RecordedBatches & { readonly policyId: string; readonly builder: EventBuilder };
  /**
   * Sends a good event and a good query every second until the work is done. @throws Error when one of them is refused or takes
   * more than 20 s, and when the work left a process that ended, complains or has grown beyond its bound.
   */
  watch<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const GOOD_MS = 20_000; // on a machine that runs other things too
const FIRST_MS = 120_000; // the first query starts a thread
const GROWTH_MB = 768; // bodies in flight may take 256 MB as bytes, parsed some three times that
const CLOSE_MS = 15_000; // one that hangs does not hear that it is to end
/** What a process says of a bug, whatever it was sent; that it cannot record all of a call is none. */
const COMPLAINT = /"level":"(error|warn)"(?!,"message":"calls are passed on)|unhandled|uncaught|MaxListenersExceeded|^\s+at /i;
/** No bug: an event that names what is not on record waits. */
const SET_ASIDE = '"message":"events quarantined;';

/** Starts the servers on a platform. */
export async function openStage(platform: Platform & { readonly home: string }): Promise<Stage> {
  const built = spawnSync(process.execPath, ['bin/studio.js'], { cwd: ROOT, encoding: 'utf8' }); // pages are made of it
  if (built.status !== 0) throw new Error(built.stderr);
  const upstream = await startOpenAiServer({ reply: () => 'Action: look' });
  const env = { ...environmentOf(platform), ESPALIER_UPSTREAM: upstream.url };
  const builder = new EventBuilder('stage');
  const recorded = { ...recordBatches(builder, { policyId: 'hostile', batches: 3 }), policyId: 'hostile', builder };
  await appendRecorded(platform.log, builder.events);
  const processes = {
    api: startRole('api', env),
    policy: startRole('policy', env, 'random'),
    projector: startRole('project', env),
  };
  const all = Object.entries(processes);
  const ended = new Set<string>();
  for (const [name, { ended: end }] of all) void end.then(() => ended.add(name));
  const serving = async (child: ChildProcess) => (await child.saying(/"serving".*"url":"(http:[^"]*?)(?:\/v1)?"/))[1] ?? '';
  const [api, policy] = await Promise.all([
    serving(processes.api),
    serving(processes.policy),
    processes.projector.saying(/"projecting"/),
  ]);
  let sent = 0;
  const post = async (path: string, body: object, limitMs: number, isGood: (answer: string) => boolean) => {
    const headers = { ...LOCAL, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body), signal: AbortSignal.timeout(limitMs) };
    const response = await fetch(`${api}${path}`, init).catch((error: Error) => {
      throw new Error(`a good request to ${path} failed: ${error.message} (${error.cause})`);
    });
    const text = await response.text();
    if (!response.ok || !isGood(text)) throw new Error(`a good request was answered ${response.status}: ${text.slice(0, 300)}`);
  };
  const sendGood = async (limitMs = GOOD_MS) => {
    const { runId } = recorded;
    const event = builder.record('MetricRecorded', { runId, metric: 'good', value: sent, at: sent++ }, runId);
    await post('/v1/events', event, limitMs, (text) => /"appended":1/.test(text));
    await post('/graphql', { query: '{ runs(first: 2) { nodes { id name } } }' }, limitMs, (text) => !/"errors"/.test(text));
  };

  await sendGood(FIRST_MS);

  return {
    platform,
    env,
    url: { api, policy },
    upstream,
    recorded,
    async watch(work) {
      const before = new Map(all.map(([name, child]) => [name, { said: child.stderr().length, mb: residentMb(child.pid) }]));
      const done = work();
      const over = done.then(
        () => true,
        () => true,
      );
      do await sendGood();
      while (!(await Promise.race([over, delay(1_000, false)])));
      await sendGood();
      const result = await done;
      for (const [name, child] of all) {
        const { said = 0, mb = 0 } = before.get(name) ?? {};
        const complaint = child
          .stderr()
          .slice(said)
          .split('\n')
          .find((line) => COMPLAINT.test(line) && !line.includes(SET_ASIDE));
        if (ended.has(name)) throw new Error(`${name} ended: ${child.stderr().slice(-1_000)}`);
        if (complaint !== undefined) throw new Error(`${name} says ${complaint.slice(0, 500)}`);
        const grown = residentMb(child.pid) - mb;
        if (grown > GROWTH_MB) throw new Error(`${name} grew by ${grown.toFixed(0)} MB`);
      }
      return result;
    },
    async close() {
      for (const [, child] of all) child.kill('SIGTERM');
      const timer = setTimeout(() => {
        for (const [, child] of all) child.kill('SIGKILL');
      }, CLOSE_MS);
      await Promise.all(all.map(([, child]) => child.ended));
      clearTimeout(timer);
      await upstream.close();
    },
  };
}

/** The resident memory of a process; 0 where the system does not say. */
function residentMb(pid: number): number {
  const file = `/proc/${pid}/status`;
  return existsSync(file) ? Number(/VmRSS:\s*(\d+)/.exec(readFileSync(file, 'utf8'))?.[1] ?? 0) / 1_024 : 0;
}

interface StageReport {
  /** In the log. */
  readonly records: number;
  /** What was compared and what was set aside, as one line. */
  readonly summary: string;
  /** What does not hold; none when all does. */
  readonly faults: readonly string[];
}

/** Waits for the projections, folds all of the log again, and compares. */
export async function checkStage(platform: Platform): Promise<StageReport> {
  const { database, log } = platform;
  const rows = async (statement: string) => (await database.pool.query<{ what: string; count: number }>(statement)).rows;
  const count = async (statement: string) => (await rows(`select '' as what, (${statement})::int as count`))[0]?.count ?? 0;
  await until(async () => (await count('select count(*) from outbox where relayed_at is null')) === 0);
  const ends = await log.ends(TOPICS);
  await waitUntilProjected(database.db, ends, { timeoutMs: 120_000 });
  const records = [...ends.values()].flatMap((partitions) => [...partitions.values()]).reduce((sum, end) => sum + end, 0);
  const journalled =
    await count(`(select count(*) from events) + (select count(*) from anomalies a where kind = 'duplicate' and not exists (
      select from events e where (e.topic, e.partition, e."offset") = (a.topic, a.partition, a."offset")))
    + (select count(*) from requeued_records r join events e using (event_id)
       where (e.topic, e.partition, e."offset") <> (r.topic, r.partition, r."offset"))
    + (select count(*) from quarantine where projection = 'journal')`);
  const unexplained = await count(`select count(*) from quarantine where coalesce(reason, '') = '' or coalesce(code, '') = ''`);
  const quarantined = await rows(
    "select concat_ws(' ', projection, code) as what, count(*)::int as count from quarantine group by 1 order by 1",
  );
  const anomalies = await rows('select kind as what, count(*)::int as count from anomalies group by 1 order by 1');
  const { report, comparisons } = await replayProjections(platform, projections, {
    signal: AbortSignal.timeout(300_000),
    limitMs: 120_000,
    progress: () => undefined,
  });
  const tables = comparisons.flatMap((comparison) => comparison.tables).length;
  return {
    records,
    summary: `${tables} tables equal their fold; quarantined: ${listed(quarantined)}; anomalies: ${listed(anomalies)}`,
    faults: [
      ...(journalled === records ? [] : [`${records} records are in the log, ${journalled} in journal and quarantine`]),
      ...(unexplained === 0 ? [] : [`${unexplained} events are in quarantine without a reason`]),
      ...(report.outcome === 'equal'
        ? []
        : [`read models differ from their fold: ${JSON.stringify(report.differences.slice(0, 3))}`]),
    ],
  };
}

function listed(counts: readonly { readonly what: string; readonly count: number }[]): string {
  return counts.map(({ what, count }) => `${what} × ${count}`).join(', ') || 'none';
}
