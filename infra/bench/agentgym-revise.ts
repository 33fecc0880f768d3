import { randomUUID } from 'node:crypto';
import { createAppender } from '../../src/append/appender.ts';
import { EXPLORATION } from '../../src/domain/search/uct.ts';
import { openAgentGym } from '../../src/environments/agentgym/open-agentgym.ts';
import type { EnvironmentKind } from '../../src/environments/environment.ts';
import { surviving } from '../../src/environments/surviving.ts';
import { openTextCraft } from '../../src/environments/textcraft/textcraft.ts';
import { TOPICS } from '../../src/events/catalogue.ts';
import { runProjections } from '../../src/projections/runner.ts';
import { waitUntilProjected } from '../../src/projections/wait-until.ts';
import { chooseTasks } from '../../src/usecases/collect/choose-tasks.ts';
import { collectRun } from '../../src/usecases/collect/collect-run.ts';
import type { CollectPlan } from '../../src/usecases/collect/plan.ts';
import { nothingRecorded } from '../../src/usecases/collect/recorded-run.ts';
import { reviseRun } from '../../src/usecases/revise/revise-run.ts';
import { answering } from './agentgym-search-answers.ts';
import { type Asked, startCountingServer } from './agentgym-search-server.ts';
import type { Figure, Outcome } from './outcome.ts';
import type { Size, Stage } from './stage.ts';
import { openStagePlatform } from './stage-platform.ts';

const SEARCH: Record<Size, { readonly tasks: number } & Omit<NonNullable<CollectPlan['search']>, 'exploration' | 'compat'>> = {
  full: { tasks: 8, iterations: 8, candidates: 4, maxDepth: 8 },
  quick: { tasks: 2, iterations: 3, candidates: 4, maxDepth: 5 },
};
const PER = 1_000; // revisions
const GOAL_MS = 30_000;
const WAIT_MS = 120_000;

interface Mined extends Asked {
  readonly revisions: number;
  readonly ms: number;
  /** User and system time of this process. */
  readonly clientCpuMs: number;
}

/**
 * Measures what it takes to compose, execute and record the revisions of a run on TextCraft behind AgentGym's protocol, on a
 * server as AgentGym's own and on one as ours. The baseline executes each from the opening.
 */
export async function benchAgentGymRevise(stage: Stage): Promise<Outcome> {
  const platform = await openStagePlatform(stage);
  const { database, log } = platform;
  const server = await startCountingServer();
  stage.closing(() => server.close());
  const projecting = await runProjections({ log, database });
  const { tasks, ...sizes } = SEARCH[stage.size];
  const aliases = (await chooseTasks(await openTextCraft(), tasks, 0)).map(({ alias }) => alias);
  const open = async (url: string) => surviving(await openAgentGym({ server: 'textcraft', url, tasks: aliases }));
  const kind = await open(server.plain);
  const copying = await open(server.copying);
  const appenderOf = (name: string) =>
    createAppender({ log, blobs: platform.blobs, stamp: platform.stamp, producer: { name, version: 'bench' }, clock: Date.now });
  const signal = new AbortController().signal;
  const runId = randomUUID();
  await collectRun({
    runId,
    name: 'bench',
    seed: 1,
    codeVersion: 'bench',
    kind,
    policy: answering,
    appender: appenderOf('collector'),
    plan: {
      environment: 'agentgym',
      tasks: aliases.map((alias) => ({ alias, rollouts: 1, branching: 'root' as const })),
      taskSeed: 0,
      policy: 'answering',
      temperature: 1,
      maxSteps: 100,
      search: { ...sizes, exploration: EXPLORATION },
    },
    recorded: nothingRecorded,
    concurrency: 8,
    clock: Date.now,
    signal,
  });
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: WAIT_MS });
  await projecting.close();

  /** @param alpha part of what a revision is: another one makes others of the same pairs. */
  async function mine(name: string, world: EnvironmentKind, alpha: number): Promise<Mined> {
    await server.asked();
    const cpu = process.cpuUsage();
    const began = performance.now();
    const { revisions, verified } = await reviseRun({
      db: database.db,
      runId,
      plannedTrees: null,
      judge: null,
      kind: world,
      read: null,
      checking: 'execute',
      plan: { alpha, beta: 0.2, seed: 1, signal: 'thought', beforeBranch: 'clamp', unparsed: 'continue' },
      appender: appenderOf(name),
      resolve: async () => '',
      concurrency: 8,
      signal,
    });
    const ms = performance.now() - began;
    const { user, system } = process.cpuUsage(cpu);
    if (verified === 0) throw new Error('no revision was verified');
    return { revisions, ms, clientCpuMs: (user + system) / 1_000, ...(await server.asked()) };
  }
  const shared = await mine('shared', kind, 0.6);
  // the tree names the server that it was grown on, which differs in the routes
  const copied = await mine('copied', { ...copying, fingerprint: kind.fingerprint }, 0.7);
  const alone = await mine('alone', { ...kind, deterministic: false }, 0.5);
  await kind.close();
  await copying.close();
  for (const { revisions } of [shared, copied])
    if (revisions !== alone.revisions) throw new Error(`${revisions} revisions, where the baseline has ${alone.revisions}`);
  const figuresOf = (name: string, mined: Mined): readonly Figure[] => {
    const figure = (what: string, unit: Figure['unit'], of: (mined: Mined) => number, goal: Figure['goal'] = null): Figure => {
      const per = (run: Mined) => (of(run) * PER) / run.revisions;
      const baseline = { name: 'each by itself', value: per(alone), unit };
      return { name: `1,000 revisions, ${name}: ${what}`, value: per(mined), unit, baseline, goal };
    };
    return [
      figure('composed, executed and recorded', 'ms', ({ ms }) => ms, { kind: 'below', limit: GOAL_MS }),
      figure('CPU of the client', 'ms', ({ clientCpuMs }) => clientCpuMs),
      figure('CPU of the server', 'ms', ({ serverCpuMs }) => serverCpuMs),
      figure('environment steps', 'steps', ({ steps }) => steps),
      figure('requests', 'steps', ({ requests }) => requests),
    ];
  };
  return {
    bench: 'agentgym-revise',
    figures: [...figuresOf('plain server', shared), ...figuresOf('server that copies', copied)],
    conditions: { ...stage.conditions(), tasks, ...sizes, revisions: shared.revisions },
  };
}
