import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Environment, EnvironmentKind } from '../../../environments/environment.ts';
import { openTextCraft } from '../../../environments/textcraft/textcraft.ts';
import { newId } from '../../../events/new-id.ts';
import type { Policy } from '../../../policies/policy.ts';
import { createPolicy, parsePolicyText } from '../../../policies/policy-spec.ts';
import { collectMortally } from '../../../testing/mortal-collector.ts';
import { useTestPlatform } from '../../../testing/use-test-platform.ts';
import { runDigest } from '../../datasets/digest-trees.ts';
import type { CollectPlan } from '../plan.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
let textcraft: EnvironmentKind;
beforeAll(async () => {
  textcraft = await openTextCraft();
});
afterAll(() => textcraft.close());

const ownSearch = { iterations: 3, candidates: 3, maxDepth: 5, exploration: 0.25 };
const ownPlan: CollectPlan = {
  environment: 'textcraft',
  tasks: [
    { alias: '1', rollouts: 4, branching: 'root' },
    { alias: '45', rollouts: 4, branching: 'root' },
  ],
  taskSeed: 0,
  policy: 'planner:0.3',
  temperature: 1,
  maxSteps: 30,
  search: ownSearch,
};

const publishedPlan: CollectPlan = {
  ...ownPlan,
  search: { ...ownSearch, compat: { system: 'agent-r', maxTokenLength: 2_000, rewardScale: 1 } },
};

/** Counts environment steps; without `clone` it is an environment that can only be reset and replayed. */
function counting(kind: EnvironmentKind, cloning: 'clone' | 'replay'): { kind: EnvironmentKind; steps: () => number } {
  let steps = 0;
  const wrap = (environment: Environment): Environment => ({
    reset: (task) => environment.reset(task),
    parse: (response) => environment.parse(response),
    step(action) {
      steps++;
      return environment.step(action);
    },
    expertAction: async () => (await environment.expertAction?.()) ?? null,
    close: () => environment.close(),
    // looked at just before
    ...(cloning === 'clone' && environment.clone ? { clone: async () => wrap(await environment.clone!()) } : {}),
  });
  return { kind: { ...kind, create: async () => wrap(await kind.create()), close: async () => undefined }, steps: () => steps };
}

const search = async (
  runId: string,
  kind: EnvironmentKind,
  appends = Number.POSITIVE_INFINITY,
  plan = ownPlan,
  wrapped = (policy: Policy) => policy,
) =>
  collectMortally(platform, {
    runId,
    seed: 3,
    plan,
    kind,
    appends,
    policy: wrapped(await createPolicy(parsePolicyText(plan.policy))),
  });

describe('Monte-Carlo tree search', () => {
  test('a search costs one environment step per new node where episodes can be copied, and grows the same tree elsewhere', async () => {
    const unsure = { ...textcraft, deterministic: false };
    const cloned = counting(unsure, 'clone');
    const replayed = counting(unsure, 'replay');
    const [a, b] = [newId(), newId()];
    await search(a, cloned.kind);
    await search(b, replayed.kind);
    const nodes = await platform.database.db
      .selectFrom('events')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('correlationId', '=', a)
      .where('type', '=', 'NodeAdded')
      .executeTakeFirstOrThrow();
    expect(cloned.steps()).toBe(nodes.count);
    expect(replayed.steps()).toBeGreaterThan(nodes.count);
    expect(await runDigest(platform, b)).toEqual(await runDigest(platform, a));
  });

  test('an action is executed once for all nodes that are reached by equal actions where answers repeat, with the same tree', async () => {
    const executed: string[] = [];
    const paths = (kind: EnvironmentKind): EnvironmentKind => {
      const wrap = (environment: Environment, before: string): Environment => {
        let path = before;
        return {
          ...environment,
          reset: (task) => {
            path = task.alias;
            return environment.reset(task);
          },
          step: (action) => {
            path = `${path}/${action}`;
            executed.push(path);
            return environment.step(action);
          },
          clone: async () => wrap(await environment.clone!(), path), // TextCraft has it
        };
      };
      return { ...kind, create: async () => wrap(await kind.create(), ''), close: async () => undefined };
    };
    const talkative = (policy: Policy): Policy => ({
      ...policy,
      act: async (request) =>
        Array.from({ length: request.n }, (_, i) => {
          const action = `get ${1 + ((request.seed + i) % 2)} stick`;
          return {
            response: `Thought: ${request.seed} ${i}\nAction: ${action}`,
            tokens: null,
            usage: null,
            finishReason: null,
          };
        }),
    });
    const plan = { ...ownPlan, policy: 'random' };
    const [shared, copied, replayed] = [newId(), newId(), newId()];
    await search(shared, paths(textcraft), Number.POSITIVE_INFINITY, plan, talkative);
    expect(new Set(executed).size).toBe(executed.length);
    await search(copied, { ...textcraft, deterministic: false }, Number.POSITIVE_INFINITY, plan, talkative);
    const unlike = counting(textcraft, 'replay');
    await search(replayed, unlike.kind, Number.POSITIVE_INFINITY, plan, talkative);
    const grown = await runDigest(platform, copied);
    expect([await runDigest(platform, shared), await runDigest(platform, replayed)]).toEqual([grown, grown]);
    const nodes = await platform.database.db
      .selectFrom('events')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('correlationId', '=', shared)
      .where('type', '=', 'NodeAdded')
      .executeTakeFirstOrThrow();
    expect(executed.length).toBeLessThan(nodes.count);
  });

  test('a search of the size of the paper takes at most 700 environment steps, where the published program took 7,332', async () => {
    const paper = { iterations: 8, candidates: 4, maxDepth: 20, exploration: 0.25 };
    const plan = { ...ownPlan, tasks: ownPlan.tasks.slice(1), policy: 'random', search: paper };
    const counted = counting(textcraft, 'clone');
    // No action is said twice and no goal is reached: the most nodes that a search can have.
    const aimless = (policy: Policy): Policy => ({
      ...policy,
      act: async (request) =>
        Array.from({ length: request.n }, (_, i) => {
          return { response: `Thought: ?\nAction: wait ${request.seed} ${i}`, tokens: null, usage: null, finishReason: null };
        }),
    });
    await search(newId(), counted.kind, Number.POSITIVE_INFINITY, plan, aimless);
    expect(counted.steps()).toBeGreaterThan(600);
    expect(counted.steps()).toBeLessThanOrEqual(700);
  });

  test.each([
    { rules: 'ours', plan: ownPlan, limits: [5] },
    { rules: 'the published ones, which draw ties', plan: publishedPlan, limits: [7] },
  ])('a search killed repeatedly reaches the same tree with the same visits, by the rules: $rules', async ({ plan, limits }) => {
    const whole = newId();
    await search(whole, textcraft, Number.POSITIVE_INFINITY, plan);
    const expected = await shape(whole);
    expect(expected.backups).toBeGreaterThan(0);
    for (const limit of limits) {
      const runId = newId();
      let kills = 0;
      while ((await search(runId, textcraft, limit, plan)) === 'killed') if (++kills > 400) throw new Error('no progress');
      expect(kills).toBeGreaterThan(0);
      expect(await shape(runId)).toEqual(expected);
    }
    expect(await platform.database.db.selectFrom('anomalies').selectAll().execute()).toEqual([]);
    expect(await platform.database.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
  });

  test('a killed search takes what is recorded from the record: where equal actions are answered alike, nothing is executed again', async () => {
    const looking = (policy: Policy): Policy => ({
      ...policy,
      act: async (request) =>
        Array.from({ length: request.n }, (_, i) => {
          const response = `Thought: ${request.seed} ${i}\nAction: inventory`;
          return { response, tokens: null, usage: null, finishReason: null };
        }),
    });
    const plan = { ...ownPlan, tasks: ownPlan.tasks.slice(0, 1), policy: 'random' };
    const [whole, killed] = [newId(), newId()];
    await search(whole, textcraft, Number.POSITIVE_INFINITY, plan, looking);
    const [before, after] = [counting(textcraft, 'clone'), counting(textcraft, 'clone')];
    expect(await search(killed, before.kind, 9, plan, looking)).toBe('killed');
    expect(before.steps()).toBe(ownSearch.maxDepth + 1); // one for each place: all other nodes repeat them
    expect(await search(killed, after.kind, Number.POSITIVE_INFINITY, plan, looking)).toBe('completed');
    expect(after.steps()).toBe(0);
    expect(await shape(killed)).toEqual(await shape(whole));
  });

  test('every ended walk becomes a trajectory with its return', async () => {
    const runId = newId();
    await search(runId, textcraft);
    const rows = await platform.database.db
      .selectFrom('rollouts')
      .innerJoin('returns', 'returns.rolloutId', 'rollouts.rolloutId')
      .select(['success', 'outcome', 'value'])
      .where('rollouts.runId', '=', runId)
      .execute();
    expect(rows.length).toBeGreaterThan(0);
    for (const { success, outcome, value } of rows)
      expect({ outcome, value }).toEqual({ outcome: success ? 'terminated' : 'truncated', value: success ? 1 : 0 });
  });
});

/** What a search came to, without ids: the trees by digest, and how often each visit count and value occurs. */
async function shape(runId: string) {
  const { db } = platform.database;
  const { digest } = await runDigest(platform, runId);
  const statistics = await db
    .selectFrom('nodeStatistics')
    .innerJoin('trees', 'trees.treeId', 'nodeStatistics.treeId')
    .select(['visits', 'valueSum', 'alias'])
    .where('runId', '=', runId)
    .orderBy('alias')
    .orderBy('visits')
    .orderBy('valueSum')
    .execute();
  const backups = await db
    .selectFrom('backups')
    .innerJoin('trees', 'trees.treeId', 'backups.treeId')
    .select((b) => b.fn.countAll<number>().as('count'))
    .where('runId', '=', runId)
    .executeTakeFirstOrThrow();
  return { digest, statistics, backups: backups.count };
}
