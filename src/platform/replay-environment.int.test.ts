import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { CollectPlan } from '../collect/plan.ts';
import { newId } from '../events/new-id.ts';
import type { Subscription } from '../log/event-log.ts';
import { runProjections } from '../projections/runner.ts';
import { settle } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { collectInto } from './collect-into.ts';
import type { Platform } from './open-platform.ts';
import { replayEnvironment } from './replay-environment.ts';
import { scoreInto } from './score-into.ts';

let platform: Platform;
let projector: Subscription;
beforeAll(async () => {
  platform = await openTestPlatform();
  projector = await runProjections({ log: platform.log, database: platform.database });
});
afterAll(async () => {
  await projector.close();
  await platform.close();
});

const NEVER = new AbortController().signal;

/** Collects rollouts of a task of search-qa, and gives the id of the run. */
async function collected(part: Partial<CollectPlan> = {}): Promise<string> {
  const runId = newId();
  const plan: CollectPlan = {
    environment: 'search-qa',
    tasks: [{ alias: 'ivo-daibaim-birthplace', rollouts: 3, branching: 'root' }],
    ...{ taskSeed: 0, policy: 'planner', temperature: 1, maxSteps: 8, search: null, ...part },
  };
  await collectInto(platform, { runId, name: 'origin', seed: 1, plan, concurrency: 1, mode: 'new', signal: NEVER });
  await settle(platform);
  return runId;
}

const replay = (runId: string, environment: string | null = null) =>
  replayEnvironment(platform, { runId, environment, signal: NEVER });

describe('the replay of an environment', () => {
  test('compares with the reward that the environment gave, whatever a scorer made of it later', async () => {
    const runId = await collected();
    const counts = await scoreInto(platform, {
      ...{ runId, scorer: 'invalid-action', component: 'environment', environment: null, signal: NEVER },
    });
    expect(counts).toMatchObject({ assigned: 0, revised: 3 });
    await settle(platform);
    const rewards = await platform.database.db
      .selectFrom('rewards')
      .innerJoin('trees', 'trees.tree_id', 'rewards.tree_id')
      .select(['assigned_value', 'value'])
      .where('run_id', '=', runId)
      .where('component', '=', 'environment')
      .execute();
    expect(rewards).toEqual(rewards.map(() => ({ assigned_value: 1, value: 0 }))); // else there is nothing to mistake
    expect(await replay(runId)).toMatchObject({ outcome: 'equal', differing: 0, notes: [] });
  });
});
