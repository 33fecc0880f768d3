import { describe, expect, test } from '@jest/globals';
import { openTextCraft } from '../../environments/textcraft/textcraft.ts';
import { newId } from '../../events/new-id.ts';
import { type GymWorld, startAgentGymServer } from '../../testing/agentgym-server.ts';
import { textcraftWorld } from '../../testing/agentgym-server-worlds.ts';
import { settle } from '../../testing/crashing-run.ts';
import { startOpenAiServer } from '../../testing/openai-server.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { collect } from '../collect/collect.ts';
import type { CollectPlan } from '../collect/plan.ts';
import { score } from '../score/score.ts';
import { replayEnvironment } from './replay-environment.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });

const NEVER = new AbortController().signal;
const ALIAS = 'ivo-daibaim-birthplace';

/** Collects rollouts of a task of search-qa, and returns the id of the run. */
async function collected(part: Partial<CollectPlan> = {}): Promise<string> {
  const runId = newId();
  const plan: CollectPlan = {
    environment: 'search-qa',
    tasks: [{ alias: ALIAS, rollouts: 3, branching: 'root' }],
    taskSeed: 0,
    policy: 'planner',
    temperature: 1,
    maxSteps: 8,
    search: null,
    ...part,
  };
  await collect(platform, { runId, name: 'origin', seed: 1, plan, concurrency: 1, mode: 'new', signal: NEVER });
  await settle(platform);
  return runId;
}

const replay = (runId: string, environment: string | null = null) =>
  replayEnvironment(platform, { runId, environment, signal: NEVER });

describe('the replay of an environment', () => {
  test('the replay compares with the reward of the environment, whatever a scorer made of it later', async () => {
    const runId = await collected();
    const counts = await score(platform, {
      runId,
      scorer: 'invalid-action',
      component: 'environment',
      environment: null,
      signal: NEVER,
    });
    expect(counts).toMatchObject({ assigned: 0, revised: 3 });
    await settle(platform);
    const rewards = await platform.database.db
      .selectFrom('rewards')
      .innerJoin('trees', 'trees.treeId', 'rewards.treeId')
      .select(['assignedValue', 'value'])
      .where('runId', '=', runId)
      .where('component', '=', 'environment')
      .execute();
    expect(rewards).toEqual(rewards.map(() => ({ assignedValue: 1, value: 0 }))); // else there is nothing to mistake
    expect(await replay(runId)).toMatchObject({ outcome: 'equal', differing: 0, notes: [] });
  });

  test('a replay in a world that ends an episode earlier names the end, and counts the steps that could not be repeated', async () => {
    const runId = await collected({ policy: 'random', tasks: [{ alias: ALIAS, rollouts: 4, branching: 'anywhere' }] });
    const below = (await stepsOf(runId)).filter(({ depth }) => depth > 2);
    expect(below.length).toBeGreaterThan(0);
    const report = await replay(runId, 'search-qa:turns=2');
    expect(report.outcome).toBe('differs');
    expect(report.differences).toContainEqual(
      expect.objectContaining({ field: 'termination', recorded: 'none', replayed: 'truncated' }),
    );
    expect(report.notes).toEqual([
      expect.stringContaining('the environment is not the one that was recorded'),
      `steps that were not executed, since the episode had ended before them: ${below.length}`,
    ]);
  });

  test('the replay skips a branch whose way ends early, and closes every episode that it opens', async () => {
    const world = await openTextCraft();
    const gym = { episodes: 0, stepsOf: (_episode: number): number => Number.POSITIVE_INFINITY };
    const server = await startAgentGymServer(() => endingWorld(textcraftWorld(world, 0), gym));
    const model = await startOpenAiServer({ reply: () => 'Thought: I look.\nAction: inventory' });
    try {
      const runId = await collected({
        environment: `agentgym:textcraft@${server.url}#0-9`,
        maxSteps: 4,
        policy: JSON.stringify({ kind: 'openai', baseUrl: model.url, model: 'stand-in', policyVersion: 1 }),
        tasks: [{ alias: '0', rollouts: 4, branching: 'anywhere' }],
      });
      expect(await replay(runId)).toMatchObject({ outcome: 'equal', notes: [] });

      gym.episodes = 0;
      gym.stepsOf = (episode) => (episode === 0 ? Number.POSITIVE_INFINITY : 1);
      const before = server.requests.length;
      const report = await replay(runId);
      const asked = (path: string) => server.requests.slice(before).filter(({ route }) => route === path).length;
      expect(asked('/create')).toBeLessThan(asked('/reset')); // what was closed is taken again
      const [first] = await stepsOf(runId);
      expect(report.differences).toContainEqual(
        expect.objectContaining({ stepId: first?.stepId, field: 'termination', recorded: 'none', replayed: 'terminated' }),
      );
      expect(report.notes).toEqual([expect.stringMatching(/^steps that were not executed, .*: [1-9][0-9]*$/)]);
    } finally {
      for (const each of [model, server, world]) await each.close();
    }
  });
});

const stepsOf = (runId: string) =>
  platform.database.db
    .selectFrom('steps as s')
    .innerJoin('trees as t', 't.treeId', 's.treeId')
    .select(['s.stepId', 's.depth'])
    .where('t.runId', '=', runId)
    .where('s.depth', '>', 0)
    .orderBy('s.logOffset')
    .execute();

/**
 * A world whose episodes end after as many steps as they are given, by the order in which they begin; whoever acts afterwards
 * learns that the task has finished.
 */
function endingWorld(world: GymWorld, given: { episodes: number; stepsOf(episode: number): number }): GymWorld {
  const left = new Map<number, number>();
  const over = new Set<number>();
  return {
    ...world,
    routes: world.routes.map((route) => {
      const answer = route.answer as (input: { readonly id: number }) => Promise<object>; // parsed by the route's own shape
      if (route.path === '/reset')
        return {
          ...route,
          answer: (input: { readonly id: number }) => {
            left.set(input.id, given.stepsOf(given.episodes++));
            over.delete(input.id);
            return answer(input);
          },
        };
      if (route.path !== '/step') return route;
      return {
        ...route,
        answer: async (input: { readonly id: number }) => {
          if (over.has(input.id)) return { error: `The task with environment ${input.id} has finished.` };
          const steps = (left.get(input.id) ?? 0) - 1;
          left.set(input.id, steps);
          if (steps <= 0) over.add(input.id);
          return { ...(await answer(input)), ...(steps <= 0 ? { done: true } : {}) };
        },
      };
    }),
  };
}
