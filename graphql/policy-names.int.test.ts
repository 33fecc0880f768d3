import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

let api: TestGraphql;
const builder = new EventBuilder('policy names');
const tree = builder.tree(builder.run(), 'a');
const NAMES = ['openai:Qwen@http://localhost:8000/v1', 'model@2', 'model'];
const rollouts = NAMES.map((policyId, ordinal) => {
  const rolloutId = builder.rollout(tree, ordinal, { policy: { policyId, version: 2 } });
  builder.finishRollout(tree, rolloutId, builder.step(tree, rolloutId, tree.rootStepId, 1), { steps: 1 });
  return rolloutId;
});

beforeAll(async () => {
  api = await openTestGraphql();
  await givenEvents(api.database.db, builder.events);
});
afterAll(() => api.close());

const QUERY = `query ($filter: TrajectoryFilter, $rollouts: RolloutFilter) {
  trajectories(filter: $filter) { nodes { rollout { id } } } rollouts(filter: $rollouts) { nodes { id } }
}`;

test.each(NAMES.map((name, i) => [name, rollouts[i]]))(
  'a filter names the policy %s by its whole id',
  async (policy, rolloutId) => {
    const { data, errors } = await api.ask(QUERY, { filter: { policy }, rollouts: { policy } });
    expect(errors).toBeUndefined();
    expect(data.trajectories.nodes).toEqual([{ rollout: { id: rolloutId } }]);
    expect(data.rollouts.nodes).toEqual([{ id: rolloutId }]);
  },
);

test.each(['2026-02-30T00:00:00Z', '2026-01-01T10:00:00', '2026-01-01'])('a filter refuses the time %s', async (from) => {
  const { errors } = await api.ask(QUERY, { filter: { finishedIn: { from } }, rollouts: null });
  expect(errors?.[0]?.message).toContain('a DateTime is an ISO 8601 instant with its zone, such as 2026-01-31T09:30:00Z');
});
