import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ROLE_NAMES } from '../../src/app/roles.ts';
import { createRandom } from '../../src/domain/random/random.ts';
import { openEnvironment } from '../../src/environments/open-environment.ts';
import { TOPICS } from '../../src/events/catalogue.ts';
import { deleteHalf } from '../../src/log/kafka-log-testing.ts';
import type { Platform } from '../../src/platform/open-platform.ts';
import { runProjections } from '../../src/projections/runner.ts';
import { waitUntilProjected } from '../../src/projections/wait-until.ts';
import { freePort } from '../../src/runtime/free-port.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import { environmentOf } from '../../src/testing/crashing-run.ts';
import { startCuttableProxy } from '../../src/testing/cuttable-proxy.ts';
import { startProcess } from '../../src/testing/worker-process.ts';
import { LINEAR_SETTINGS } from '../../src/training/backends/training-settings.ts';
import { train } from '../../src/usecases/train/train.ts';
import { beginTraining } from '../../src/usecases/train/train-begin.ts';
import { type TrainPlan, trainPlan } from '../../src/usecases/train/train-plan.ts';
import { type Check, checkRecord, outcomeOf, type TrainingResult } from './check-record.ts';
import { type Disturbance, type Done, disturb } from './disturb.ts';
import { type Means, NO_MEANS } from './faults.ts';
import { startOperator } from './operator.ts';
import { type ProcessGroup, startProcessGroup, withRetry } from './process-group.ts';
import { startProducer } from './producer.ts';

type Home = Platform & { readonly home: string };

/**
 * The training that is disturbed: TextCraft, GRPO, strictly on-policy, so that its weights are determined by the plan. About 200
 * events an update.
 */
export function chaosPlan(seed: number, updates: number): TrainPlan {
  return trainPlan.parse({
    policyId: `chaos-${seed}`,
    environment: 'textcraft',
    split: 'train',
    tasks: 8,
    settings: LINEAR_SETTINGS.grpo,
    updates,
    groupsPerBatch: 2,
    groupSize: 3,
    zeroVariance: 'keep',
    mode: 'strict',
    maxStaleness: 0,
    temperature: 1,
    maxSteps: 10,
    taskSeed: 0,
    seed,
    evaluation: null,
  });
}

/** Trains in this process, on a platform where nothing else happens. */
export async function trainUndisturbed(platform: Home, plan: TrainPlan): Promise<TrainingResult> {
  const projector = await runProjections({ log: platform.log, database: platform.database });
  try {
    const { runId } = await train(platform, {
      plan,
      concurrency: plan.groupsPerBatch,
      signal: new AbortController().signal,
      logger: SILENT,
    });
    return await outcomeOf(platform, plan.policyId, runId);
  } finally {
    await projector.close();
  }
}

export interface Disturbed {
  readonly done: readonly Done[];
  readonly checks: readonly Check[];
  /** Processes that ended by themselves and were started again: how many, by role. */
  readonly exited: Readonly<Record<string, number>>;
  /** Requests that the outside producer repeated. */
  readonly repeated: number;
}

/** Trains by processes that are killed at drawn points, waits until all is trained and projected, and checks the record. */
export async function trainDisturbed(
  platform: Home,
  plan: TrainPlan,
  expected: TrainingResult,
  disturbance: Omit<Disturbance, 'random'> & { readonly seed: number },
  means: Means = NO_MEANS,
): Promise<Disturbed> {
  const run = await begin(platform, plan);
  const planFile = join(platform.home, 'plan.json');
  await writeFile(planFile, JSON.stringify(run));
  const proxy = await startCuttableProxy(platform.databaseUrl);
  const port = await freePort();
  const { policyId } = plan;
  const group = startProcessGroup(platform, { databaseUrl: proxy.url, port, planFile, policyId });
  const producer = startProducer(group.apiUrl, `chaos ${plan.seed}`);
  const operator = startOperator(platform, `operator ${plan.seed}`);
  try {
    const training = { runId: run.runId, policyId, updates: plan.updates };
    const world = { platform, group, proxy, means, training, acknowledged: () => producer.acknowledged.length };
    const done = await disturb(world, { ...disturbance, random: createRandom(disturbance.seed) });
    await untilTrained(platform, plan, group);
    await producer.close();
    const requeued = await operator.close();
    await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 120_000 });
    await group.dismiss();
    const { acknowledged } = producer;
    const checks: Check[] = [
      ...(await checkRecord(platform, { policyId, acknowledged, expected, runId: run.runId })),
      requeued,
      noneExited(group),
    ];
    const faults: Done[] = [...done];
    if (disturbance.faults.includes('records-deleted')) {
      const lost = await loseRecords(platform);
      checks.push(lost.check);
      faults.push(lost.done);
      disturbance.onDone?.(lost.done);
    }
    return { done: faults, checks, exited: countBy(group.exited.map(({ role }) => role)), repeated: producer.repeated() };
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : String(error)}\nstderr tail:\n${group.stderrTail()}`, {
      cause: error,
    });
  } finally {
    await producer.close().catch(() => undefined); // the first fault is the one to report
    await operator.close().catch(() => undefined);
    await group.abandon();
    await proxy.close();
  }
}

async function begin(platform: Home, plan: TrainPlan): ReturnType<typeof beginTraining> {
  const kind = await openEnvironment(plan.environment);
  const projector = await runProjections({ log: platform.log, database: platform.database });
  try {
    return await beginTraining(platform, plan, kind);
  } finally {
    await projector.close();
    await kind.close();
  }
}

const TRAINED_MS = 300_000;

/** Waits until the last version is there, the collector has ended its run, and all that was decided in Postgres is recorded. */
async function untilTrained({ database }: Home, { policyId, updates }: TrainPlan, group: ProcessGroup): Promise<void> {
  const deadline = performance.now() + TRAINED_MS;
  for (;;) {
    const { rows } = await withRetry(() =>
      database.pool.query<{ version: number; unrecorded: number }>(
        `select coalesce((select max(version) from policy_versions where policy_id = $1), 0)::int as version,
                (select count(*) from outbox where relayed_at is null)::int as unrecorded`,
        [policyId],
      ),
    );
    if (group.collected() && rows[0]?.version === updates && rows[0].unrecorded === 0) return;
    if (performance.now() > deadline)
      throw new Error(
        `at version ${rows[0]?.version} of ${updates}, ${group.collected() ? 'collected' : 'collecting'}, and no more`,
      );
    await delay(50);
  }
}

/** Whoever is at work waits; whoever starts while a server is away may give up and be started again. */
function noneExited({ exited }: ProcessGroup): Check {
  const unexcused = exited.filter(({ at }) => at !== 'start');
  return {
    promise: 'nobody ends because another is away',
    broken: unexcused.length,
    detail:
      unexcused.length === 0
        ? `${exited.length} started while a server was away, gave up and were started again`
        : unexcused
            .map(({ role, end, at, words }) => `${role} ended at ${at} with ${end}: ${words}`)
            .join('\n')
            .slice(0, 4_000),
  };
}

function countBy(names: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

const WITHIN_MS = 10_000;
const REFUSAL = /the log is not as it was recorded: trees\.\d+ no longer holds the records from 0 to \d+.*restore the topics/;
const STARTS: readonly (readonly string[])[] = [
  ...ROLE_NAMES.map((role) => ['serve', role]),
  ['replay', 'projections'],
  ['rebuild', 'journal'],
  ['verify'],
];

/**
 * Deletes half of a topic behind everybody's back, and starts what would fold or append: each ends within ten seconds, with an
 * exit code that is not 0, what is missing and what to do. To be called last: nothing can be done with this log afterwards.
 */
async function loseRecords(platform: Platform & { readonly home: string }): Promise<{ done: Done; check: Check }> {
  const { kafkaBrokers, kafkaPrefix } = platform.config;
  const records = await deleteHalf(kafkaBrokers ?? [], `${kafkaPrefix}trees`);
  const silent: string[] = [];
  for (const args of STARTS) {
    const began = performance.now();
    const child = startProcess('src/cli/main.ts', args, environmentOf(platform));
    const end = await child.ended;
    const [ms, said] = [performance.now() - began, `${child.stdout()}${child.stderr()}`];
    const isNamed = args[0] === 'verify' ? /log missing: trees\.\d+ no longer holds/.test(said) : REFUSAL.test(said);
    const isLate = args[0] !== 'verify' && ms > WITHIN_MS; // which reads the whole journal first
    if (end === 0 || !isNamed || isLate) silent.push(`${args.join(' ')}: ${end} after ${ms.toFixed(0)} ms: ${said}`);
  }
  return {
    done: { fault: 'records-deleted', subject: 'broker', how: `${records} records of trees`, records },
    check: {
      promise: 'a log that lost records is refused by everybody, with the remedy',
      broken: silent.length,
      detail: silent.length === 0 ? `${STARTS.length} processes` : silent.join('\n').slice(0, 4_000),
    },
  };
}
