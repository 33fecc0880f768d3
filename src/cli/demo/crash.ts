import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openEnvironment } from '../../environments/open-environment.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { projections } from '../../projections/registry.ts';
import { type Ledger, readLedgers } from '../../projections/training-pool/read-ledger.ts';
import { readLineages } from '../../projections/training-pool/read-lineages.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { LINEAR_SETTINGS } from '../../training/backends/training-settings.ts';
import { replayEnvironment } from '../../usecases/replay/replay-environment.ts';
import { replayProjections } from '../../usecases/replay/replay-projections.ts';
import { type ReplayReport, recordReplay } from '../../usecases/replay/replay-report.ts';
import { replayTraining } from '../../usecases/replay/replay-training.ts';
import { beginTraining, type PlannedRun } from '../../usecases/train/train-begin.ts';
import { trainPlan } from '../../usecases/train/train-plan.ts';
import { writeLedger } from '../ledger.ts';
import { describeReport } from '../run-replay.ts';
import { indented, print, progressLine } from '../terminal.ts';
import { ensureProjector } from '../with-projector.ts';
import { startWorker, type WorkerProcess } from './processes.ts';

type Role = 'project' | 'collect' | 'batch' | 'relay' | 'train';

/** Who is killed when the policy has reached a version; a trainer while it holds a lease. */
const KILLS: readonly { readonly version: number; readonly roles: readonly Role[] }[] = [
  { version: 1, roles: ['train'] },
  { version: 2, roles: ['project'] },
  { version: 3, roles: ['train', 'project'] },
  { version: 4, roles: ['train', 'project', 'collect', 'batch'] },
];
const UPDATES = 6;
const STUCK_MS = 120_000;

/** What a training came to that was killed on its way. */
interface CrashResult {
  readonly policyId: string;
  readonly runId: string;
}

/**
 * Trains a policy by processes of their own, kills trainer and projector with -9 in the middle, starts them again as a supervisor
 * would, and prints the account of the samples.
 * @throws Error when the training makes no progress for two minutes, or a process ends by itself.
 */
export async function trainThroughCrashes(platform: Platform, seed: number, signal: AbortSignal): Promise<CrashResult> {
  const policyId = `crash-${newId().slice(-8)}`;
  const group = await hire(platform, policyId, seed);
  const line = progressLine();
  const began = Date.now();
  let killed = 0;
  try {
    for (const { version, roles } of KILLS) {
      const at = await untilVersion(platform, policyId, version, roles.includes('train'), { signal, line, group });
      const ends = await platform.log.ends(TOPICS);
      const dead = await Promise.all(roles.map(async (role) => `${role} (pid ${await group.kill(role)})`));
      line.end();
      killed += roles.length;
      print(
        `version ${at.version}, ${countOf(ends)} events, ${at.ledger.owed.leased} samples on lease: kill -9 ${dead.join(', ')}`,
      );
      await Promise.all(roles.map((role) => group.start(role)));
    }
    await untilVersion(platform, policyId, UPDATES, false, { signal, line, group });
    await group.collected();
    await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: STUCK_MS, signal });
  } finally {
    line.end();
    await group.dismiss();
  }
  const [ledger] = await readLedgers(platform.database.db, [policyId]);
  print(`${UPDATES} updates, ${killed} kills, ${((Date.now() - began) / 1_000).toFixed(1)} s`);
  print();
  if (ledger) print(writeLedger(ledger));
  return { policyId, runId: group.runId };
}

interface ProcessGroup {
  readonly runId: string;
  /** Kills with SIGKILL and waits for the end; returns the process that was. */
  kill(role: Role): Promise<number>;
  start(role: Role): Promise<void>;
  /** Resolves when the collector has come to the end of its run. */
  collected(): Promise<void>;
  /** @throws Error when a process ended that nobody killed. */
  check(): void;
  dismiss(): Promise<void>;
}

/** Declares the training and starts a process of each role. */
async function hire(platform: Platform, policyId: string, seed: number): Promise<ProcessGroup> {
  const logs = join(platform.config.home, 'logs');
  await mkdir(logs, { recursive: true });
  const members = new Map<Role, WorkerProcess>([['project', await startWorker('project', [], logs)]]);
  const ended = new Map<WorkerProcess, number>();
  let run: PlannedRun;
  try {
    run = await begin(platform, policyId, seed);
  } catch (error) {
    await members.get('project')?.stop();
    throw error;
  }
  const planFile = join(platform.config.home, `plan-${run.runId}.json`);
  await writeFile(planFile, JSON.stringify(run));
  const words: Readonly<Record<Role, readonly string[]>> = {
    project: [],
    collect: [planFile],
    batch: [],
    relay: [],
    train: [policyId, 'demo'],
  };
  const start = async (role: Role) => {
    const worker = await startWorker(role, words[role], logs);
    members.set(role, worker);
    void worker.ended.then((code) => ended.set(worker, code));
  };
  await Promise.all((['collect', 'batch', 'relay', 'train'] as const).map(start));
  print(`workers: ${[...members].map(([role, { pid }]) => `${role} (pid ${pid})`).join(', ')}; logs in ${logs}`);
  const group: ProcessGroup = {
    runId: run.runId,
    start,
    async kill(role) {
      const worker = members.get(role);
      members.delete(role);
      await worker?.kill();
      return worker?.pid ?? 0;
    },
    async collected() {
      await members.get('collect')?.ended;
      group.check();
      members.delete('collect');
    },
    check() {
      for (const [role, worker] of members) {
        const code = ended.get(worker);
        if (code !== undefined && !(role === 'collect' && code === 0))
          throw new Error(`the worker ${role} ended with code ${code}; its log: ${worker.logFile}`);
      }
    },
    async dismiss() {
      await Promise.all([...members.values()].map((worker) => worker.stop()));
    },
  };
  return group;
}

/** Plans a training whose weights follow from the plan alone: strictly on-policy, on the search world. */
async function begin(platform: Platform, policyId: string, seed: number): Promise<PlannedRun> {
  const kind = await openEnvironment('search-qa');
  try {
    const plan = trainPlan.parse({
      policyId,
      environment: 'search-qa',
      split: 'train',
      tasks: null,
      settings: LINEAR_SETTINGS.grpo,
      updates: UPDATES,
      seed,
      taskSeed: 0,
      groupsPerBatch: 6,
      groupSize: 6,
      zeroVariance: 'reject',
      mode: 'strict',
      maxStaleness: 0,
      temperature: 1,
      maxSteps: 8,
      evaluation: null,
    });
    return await beginTraining(platform, plan, kind);
  } finally {
    await kind.close();
  }
}

async function untilVersion(
  { database }: Platform,
  policyId: string,
  version: number,
  leased: boolean,
  { signal, line, group }: { signal: AbortSignal; line: ReturnType<typeof progressLine>; group: ProcessGroup },
): Promise<{ readonly version: number; readonly ledger: Ledger }> {
  const deadline = Date.now() + STUCK_MS;
  for (;;) {
    signal.throwIfAborted();
    group.check();
    const [ledger] = await readLedgers(database.db, [policyId]);
    const [lineage] = await readLineages(database.db, [policyId]);
    const at = lineage?.newestVersion ?? 0;
    if (ledger) {
      line.show(`training: version ${at} of ${UPDATES}; ${ledger.produced} samples produced, ${ledger.trained} trained`);
      if (at > version || (at === version && (!leased || ledger.owed.leased > 0))) return { version: at, ledger };
    }
    if (Date.now() > deadline) throw new Error(`version ${version} was not reached within ${STUCK_MS / 1_000} s`);
    await delay(10, undefined, { signal });
  }
}

function countOf(ends: Awaited<ReturnType<Platform['log']['ends']>>): number {
  return [...ends.values()].flatMap((partitions) => [...partitions.values()]).reduce((sum, end) => sum + end, 0);
}

/**
 * Does the run over from the record, prints what that gave, and puts it on record. Exit code 1 when something is not what it was.
 */
export async function proveSurvived(platform: Platform, { runId, policyId }: CrashResult, signal: AbortSignal): Promise<void> {
  const projector = await ensureProjector(platform);
  const line = progressLine();
  const prove = async (command: string, replay: () => Promise<ReplayReport>) => {
    const began = Date.now();
    const report = await replay();
    line.end();
    await recordReplay(platform, { runId, report, parameters: {}, seconds: (Date.now() - began) / 1_000 });
    print(`espalier replay ${command}`);
    print(indented(describeReport(report)));
    if (report.outcome === 'differs') process.exitCode = 1;
  };
  try {
    await prove(`environment --run ${runId}`, () =>
      replayEnvironment(platform, {
        runId,
        environment: null,
        signal,
        progress: (done, of) => line.show(`executing every action again: ${done} of ${of} trees`),
      }),
    );
    await prove(`training --policy ${policyId}`, async () => {
      const progress = (done: number, of: number) => line.show(`training again: ${done} of ${of} versions`);
      return (await replayTraining(platform, { policyId, from: 0, to: null, signal, progress })).report;
    });
    await prove('projections', async () => {
      const progress = () => line.show('folding the log again');
      return (await replayProjections(platform, projections, { signal, progress, limitMs: 60_000 })).report;
    });
    await projector.settle();
  } finally {
    line.end();
    await projector.close();
  }
}
