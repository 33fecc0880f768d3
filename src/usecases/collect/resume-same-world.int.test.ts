import { cp, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openTextCraft } from '../../environments/textcraft/textcraft.ts';
import { newId } from '../../events/new-id.ts';
import type { Subscription } from '../../log/event-log.ts';
import { encodeWeights, zeroWeights } from '../../policies/linear/weights.ts';
import { runProjections } from '../../projections/runner.ts';
import { startAgentGymServer } from '../../testing/agentgym-server.ts';
import { countEvents, settle } from '../../testing/crashing-run.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { startOpenAiServer } from '../../testing/openai-server.ts';
import { sharedRandomTextcraft } from '../../testing/shared-random-textcraft.ts';
import { textCraftAgent } from '../../testing/textcraft-agent.ts';
import { runDigest } from '../datasets/digest-trees.ts';
import { planFork } from '../fork/fork.ts';
import { type Collection, collect } from './collect.ts';
import type { CollectPlan } from './plan.ts';

const RECIPES = fileURLToPath(new URL('../../environments/textcraft/recipes', import.meta.url));

let platform: Awaited<ReturnType<typeof openTestPlatform>>;
let projector: Subscription;
let folder: string;
const opened: { close(): Promise<void> }[] = [];
beforeAll(async () => {
  platform = await openTestPlatform();
  projector = await runProjections({ log: platform.log, database: platform.database });
  folder = await mkdtemp(join(tmpdir(), 'espalier-world-'));
  await cp(RECIPES, join(folder, 'recipes'), { recursive: true });
  await writeFile(join(folder, 'weights'), encodeWeights({ ...zeroWeights(), version: 3 }));
});
afterAll(async () => {
  for (const each of opened) await each.close();
  await projector.close();
  await platform.close();
  await rm(folder, { recursive: true, force: true });
});

const planIn = (environment: string, policy: string): CollectPlan => ({
  environment,
  tasks: ['5', '40', '90'].map((alias) => ({ alias, rollouts: 3, branching: 'root' as const })),
  taskSeed: 0,
  policy,
  temperature: 1,
  maxSteps: 10,
  search: null,
});

/** Collects a run, or goes on with it; `stopAfter` steps it is stopped in the middle. */
async function collectUntil(runId: string, plan: CollectPlan, mode: Collection['mode'], stopAfter = Number.POSITIVE_INFINITY) {
  const stopping = new AbortController();
  const progress = ({ steps }: { readonly steps: number }) => steps >= stopAfter && stopping.abort();
  const { signal } = stopping;
  const done = await collect(platform, { runId, name: 'resumed', seed: 2, plan, concurrency: 2, mode, signal, progress });
  await settle(platform);
  return done;
}

/**
 * Stops a run in the middle, changes what it depends on, and expects a refusal that appends nothing; then puts it back and goes
 * on.
 */
async function refusedAndGoneOn(plan: CollectPlan, change: () => Promise<void>, putBack: () => Promise<void>): Promise<string> {
  const [whole, runId] = [newId(), newId()];
  await collectUntil(whole, plan, 'new');
  await collectUntil(runId, plan, 'new', 12);
  await change();
  const before = await countEvents(platform);
  const refusal = await collectUntil(runId, plan, 'resume').then(
    () => 'not refused',
    (error: Error) => error.message,
  );
  expect(await countEvents(platform)).toBe(before);
  await putBack();
  expect(await collectUntil(runId, plan, 'resume')).toMatchObject({ trees: 3, rollouts: 9, failedTrees: 0 });
  expect(await runDigest(platform, runId)).toEqual(await runDigest(platform, whole));
  return refusal;
}

describe('resumed runs', () => {
  test('a resumption with other recipes is refused with both worlds, and succeeds when they are restored', async () => {
    const recipes = join(folder, 'recipes');
    const [first] = (await readdir(recipes)).filter((name) => name.endsWith('.json'));
    const [here, away] = [join(recipes, first ?? ''), join(folder, 'away')];
    const plan = planIn(`textcraft:${recipes}`, 'planner:0.5');
    const refusal = await refusedAndGoneOn(
      plan,
      () => rename(here, away),
      () => rename(away, here),
    );
    expect(refusal).toMatch(
      /^run [0-9a-f-]{36} began in textcraft with the fingerprint ([0-9a-f]{64}), and textcraft:.*recipes is textcraft with the fingerprint (?!\1)[0-9a-f]{64} now: .*; put back what the run began with, or begin a new run$/,
    );
  });

  test('a resumption is refused when the file of its policy was overwritten, even by weights of the same version', async () => {
    const file = join(folder, 'weights');
    const other = { ...zeroWeights(), version: 3 };
    other.values[0] = 0.5;
    const plan = planIn('textcraft', `linear:${file}`);
    const refusal = await refusedAndGoneOn(
      plan,
      () => writeFile(file, encodeWeights(other)),
      () => writeFile(file, encodeWeights({ ...zeroWeights(), version: 3 })),
    );
    expect(refusal).toMatch(
      /^run [0-9a-f-]{36} began with the policy linear:.*weights of SHA-256 ([0-9a-f]{64}), and that file has (?!\1)[0-9a-f]{64} now; put back/,
    );
  });

  test('a resumption is refused when a task of an open tree opens differently under the same fingerprint', async () => {
    const local = await openTextCraft();
    const shared = sharedRandomTextcraft(local);
    const server = await startAgentGymServer(shared.world);
    const model = await startOpenAiServer({ reply: textCraftAgent });
    opened.push(model, server, local);
    const plan = planIn(`agentgym:textcraft@${server.url}#0-99`, `openai:agent@${model.url}`);
    const spoilAll = async (times: number) => {
      for (const { alias } of plan.tasks) shared.spoil(Number(alias), times);
    };
    const refusal = await refusedAndGoneOn(
      plan,
      () => spoilAll(1_000),
      () => spoilAll(0),
    );
    expect(refusal).toMatch(
      /^run [0-9a-f-]{36} cannot go on: task (5|40|90) of its open tree [0-9a-f-]{36} opened with ".*"… \(SHA-256 ([0-9a-f]{16})…\), and agentgym:textcraft@.* opens it with ".*"… \(SHA-256 (?!\2)[0-9a-f]{16}…\) now \(.*PYTHONHASHSEED.*\); put back the environment that the run began in, or begin a new run$/,
    );
  });
});

describe('forks', () => {
  test('a fork is refused when the world or the policy of the run has changed, unless they are named explicitly', async () => {
    const [recipes, file] = [join(folder, 'recipes'), join(folder, 'weights')];
    const runId = newId();
    await collectUntil(runId, planIn(`textcraft:${recipes}`, `linear:${file}`), 'new');
    const { stepId } = await platform.database.db
      .selectFrom('steps as s')
      .innerJoin('trees as t', 't.treeId', 's.treeId')
      .select('s.stepId')
      .where('t.runId', '=', runId)
      .where('t.alias', '=', '40')
      .where('s.depth', '=', 2)
      .where('s.termination', '=', 'none')
      .executeTakeFirstOrThrow();
    const changes = { rollouts: 1 };
    await expect(planFork(platform, stepId, changes)).resolves.toMatchObject({ fork: { runId } });

    const other = { ...zeroWeights(), version: 3 };
    other.values[0] = 0.5;
    await writeFile(file, encodeWeights(other));
    await expect(planFork(platform, stepId, changes)).rejects.toThrow('name who goes on with --policy');
    await expect(planFork(platform, stepId, { ...changes, policy: `linear:${file}` })).resolves.toBeDefined();
    await writeFile(file, encodeWeights({ ...zeroWeights(), version: 3 }));

    const [first] = (await readdir(recipes)).filter((name) => name.endsWith('.json'));
    await rename(join(recipes, first ?? ''), join(folder, 'away'));
    await expect(planFork(platform, stepId, changes)).rejects.toThrow(
      /with the fingerprint .* now; put back what run .* acted in/,
    );
    await expect(planFork(platform, stepId, { ...changes, environment: `textcraft:${recipes}` })).resolves.toBeDefined();
    await rename(join(folder, 'away'), join(recipes, first ?? ''));
  });
});
