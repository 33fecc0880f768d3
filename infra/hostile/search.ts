import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRandom, type Random } from '../../src/domain/random/random.ts';
import { EnvironmentError } from '../../src/environments/environment.ts';
import { TOPICS } from '../../src/events/catalogue.ts';
import { newId } from '../../src/events/new-id.ts';
import type { Platform } from '../../src/platform/open-platform.ts';
import { waitUntilProjected } from '../../src/projections/wait-until.ts';
import { type Collection, collect } from '../../src/usecases/collect/collect.ts';
import type { CollectedRun } from '../../src/usecases/collect/collect-run.ts';
import type { CollectPlan } from '../../src/usecases/collect/plan.ts';

const WORLDS = join(fileURLToPath(new URL('.', import.meta.url)), 'worlds.py');
const KINDS = ['well', 'dies', 'hangs', 'raises', 'wanders', 'odd', 'unopened', 'refuses'] as const;
const LIMIT_MS = 120_000;
const RESUMES = 30;

/**
 * Searches and collects in an environment that dies, hangs, raises, answers odd things or otherwise each time, or whose copies begin
 * to share state, and stops some of the runs and resumes them; then accounts for every rollout. Round after round until the time is
 * over. What a run that completed holds is compared with what its environment answers to the same actions from the opening. @throws
 * Error that names the seed and the round of what is not accounted for, or not true.
 */
export async function trySearch(platform: Platform, seed: number, seconds: number): Promise<number> {
  let rounds = 0;
  for (const deadline = Date.now() + seconds * 1_000; rounds === 0 || Date.now() < deadline; rounds++) {
    const name = `search ${seed} ${rounds}`;
    await tryRun(platform, name, createRandom(name)).catch((error: Error) => {
      throw new Error(`${name}: ${error.message}`, { cause: error });
    });
  }
  return rounds;
}

async function tryRun(platform: Platform, name: string, random: Random): Promise<void> {
  const lies = random.next() < 0.15; // such a run is refused when that is seen, and has no end
  const aliases = lies ? ['well 1', 'shares 2', 'shares 3'] : KINDS.map((kind) => `${kind} ${1 + random.int(3)}`);
  const search = lies || random.next() < 0.6 ? { iterations: 6, candidates: 3, maxDepth: 6, exploration: 1 } : null;
  const rollouts = search ? 1 : 3;
  const plan: CollectPlan = {
    environment: `python:${WORLDS};timeout=2`,
    tasks: aliases.map((alias) => ({ alias, rollouts, branching: random.next() < 0.8 ? 'root' : 'anywhere' })),
    taskSeed: 0,
    policy: 'random',
    temperature: 1,
    maxSteps: 6,
    search,
  };
  const run = { runId: newId(), name, seed: random.int(1_000_000), plan, concurrency: 1 + random.int(6) };
  const ended = await untilEnded(platform, run, random);
  await settle(platform);
  if (ended instanceof EnvironmentError) {
    const isMoody = MOODY.some((kind) => ended.message.includes(`in task "${kind} `)); // it may repeat what it said by chance
    if (!(lies || isMoody) || !/share state/.test(ended.message)) throw ended;
    return; // it names what to repair, and its run can be gone on with behind that
  }
  await account(platform, run, ended);
  await compareWithTruth(platform, run.runId);
}

type Run = Pick<Collection, 'runId' | 'name' | 'seed' | 'plan' | 'concurrency'>;

/** Collects a run to its end, and stops it before that now and then. Returns the error of an environment that ends it. */
async function untilEnded(platform: Platform, run: Run, random: Random): Promise<CollectedRun | EnvironmentError> {
  for (let begun = 0; begun < RESUMES; begun++) {
    const stopping = new AbortController();
    const stopAt = random.next() < 0.3 && begun < 3 ? 1 + random.int(40) : Number.POSITIVE_INFINITY;
    const progress = ({ steps, failed }: { steps: number; failed: number }) => {
      if (steps + failed >= stopAt) stopping.abort();
    };
    const mode = begun === 0 ? 'new' : 'resume';
    try {
      const ended = await collect(platform, { ...run, signal: stopping.signal, mode, progress });
      if (ended.state === 'completed' || ended.state === 'failed') return ended;
      await settle(platform);
    } catch (error) {
      if (error instanceof EnvironmentError) return error;
      throw error;
    }
  }
  throw new Error(`the run has no end after ${RESUMES} resumptions`);
}

/** @throws Error that names what of a run that ended is neither on record nor among what is said of its end. */
async function account({ database: { db } }: Platform, { runId, plan }: Run, ended: CollectedRun): Promise<void> {
  const trees = await db.selectFrom('trees').selectAll().where('runId', '=', runId).execute();
  const rollouts = await db
    .selectFrom('rollouts')
    .innerJoin('trees', 'trees.treeId', 'rollouts.treeId')
    .select(['rollouts.treeId', 'outcome', 'reason'])
    .where('trees.runId', '=', runId)
    .execute();
  for (const { alias, closedAt } of trees) if (closedAt === null) throw new Error(`the tree of ${alias} is open`);
  for (const { outcome, reason } of rollouts) {
    if (outcome === null) throw new Error('a rollout of a closed tree has no end');
    if (outcome === 'failed' && !reason) throw new Error('a rollout failed without a reason');
  }
  const [run] = await db.selectFrom('runs').selectAll().where('runId', '=', runId).execute();
  if (!run?.finishedAt) throw new Error(`the run is ${ended.state} and has no end on record`);
  const counted = ended.reasons.reduce((sum, { count }) => sum + count, 0);
  if (counted !== ended.failed) throw new Error(`${ended.failed} failed, and the reasons count ${counted}`);
  if (plan.search) {
    if (ended.trees !== plan.tasks.length) throw new Error(`${ended.trees} of ${plan.tasks.length} searches are counted`);
    return;
  }
  const unopened = plan.tasks.length - trees.length;
  const planned = plan.tasks.reduce((sum, task) => sum + task.rollouts, 0);
  const onRecord = rollouts.length + unopened * (plan.tasks[0]?.rollouts ?? 0);
  if (onRecord !== planned) throw new Error(`${onRecord} of ${planned} rollouts are on record or named as not opened`);
  const failed = rollouts.filter(({ outcome }) => outcome === 'failed').length + planned - rollouts.length;
  if (ended.failed !== failed) throw new Error(`${failed} rollouts failed on record, and ${ended.failed} are counted`);
}

const MOODY = ['odd', 'wanders']; // answer what no model knows

/** @throws Error that names an answer on record that the world does not give: of `worlds.py`, it is all actions from the opening on. */
async function compareWithTruth({ database: { db } }: Platform, runId: string): Promise<void> {
  const rows = await db
    .selectFrom('steps')
    .innerJoin('trees', 'trees.treeId', 'steps.treeId')
    .select(['alias', 'stepId', 'parentStepId', 'action', 'observation', 'depth'])
    .where('trees.runId', '=', runId)
    .orderBy('depth')
    .execute();
  const truth = new Map<string, string>();
  for (const { alias, stepId, parentStepId, action, observation } of rows) {
    const before = parentStepId === null ? '' : truth.get(parentStepId);
    if (before === undefined) throw new Error(`step ${stepId} of ${alias} has no parent on record`);
    const said = parentStepId === null ? '' : `${before} ${action}`.trim();
    truth.set(stepId, said);
    const isMoody = MOODY.some((kind) => alias.startsWith(kind));
    if (parentStepId !== null && !isMoody && observation !== said)
      throw new Error(`${alias} is on record with ${JSON.stringify(observation)} after ${JSON.stringify(said)}, unnoticed`);
  }
}

async function settle({ log, database }: Platform): Promise<void> {
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: LIMIT_MS });
}
