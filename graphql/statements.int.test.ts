import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

let api: TestGraphql;
let treeId: string;
beforeAll(async () => {
  api = await openTestGraphql();
  const builder = new EventBuilder();
  for (let r = 0; r < 6; r++) {
    const runId = builder.run(`run ${r}`);
    for (let t = 0; t < 4; t++) {
      const tree = builder.tree(runId, `tree ${t}`);
      treeId = tree.treeId;
      for (let i = 0; i < 5; i++) builder.walk(tree, i, 3, i % 2);
      builder.record(
        'ValueBackedUp',
        { treeId, simulation: 0, leafStepId: tree.rootStepId, value: 1, path: [tree.rootStepId] },
        runId,
      );
    }
  }
  await givenEvents(api.database.db, builder.events);
});
afterAll(() => api.close());

async function statementsOf(query: string, variables = {}): Promise<number> {
  api.statements();
  const answer = await api.ask(query, variables);
  expect(answer.errors).toBeUndefined();
  return api.statements().length;
}

describe('the number of statements of a query', () => {
  test('one whole tree with the lists of its steps takes a constant number of statements', async () => {
    // tree · steps · rewards, tool calls, statistics (now, as of 1) · revisions
    const query =
      'query ($id: ID!) { tree(id: $id) { steps { id depth rewards { value revisions { value } } toolCalls { tool } statistics { visits } was: statistics(asOfSimulation: 1) { visits } } } }';
    expect(await statementsOf(query, { id: treeId })).toBe(7);
  });

  test.each([
    [
      'runs with totals',
      '{ runs(first: FIRST) { totalCount nodes { id totals { steps } successByDepth { trees } metrics { value } experiment { id } } } }',
      5,
    ],
    [
      'lists that hang on rows',
      '{ runs(first: FIRST) { nodes { trees(first: 3) { totalCount nodes { id rollouts { ordinal return } } } } } }',
      5,
    ],
    [
      'trees with their steps',
      '{ trees(first: FIRST) { nodes { size { steps } simulations leaves { id } steps(first: 50) { id rewards { value } statistics { visits } } } } }',
      7,
    ],
    [
      'trajectories with their paths',
      '{ trajectories(first: FIRST) { nodes { id length tree { run { name } } steps { action rewards { value } } rewards { value } returns { value } } } }',
      9,
    ],
    [
      'steps with their neighbours',
      '{ trees(first: FIRST) { nodes { steps(first: 50) { parent { id } children { id } rollout { ordinal } tree { id } } } } }',
      6,
    ],
  ])('a query of %s takes as many statements for many rows as for few', async (_, query, most) => {
    const few = await statementsOf(query.replace('FIRST', '1'));
    const many = await statementsOf(query.replace('FIRST', '6'));
    expect(many).toBe(few);
    expect(many).toBeLessThanOrEqual(most);
  });

  test('a field that is not requested is not read', async () => {
    api.statements();
    await api.ask('query ($id: ID!) { tree(id: $id) { ...T } } fragment T on Tree { steps { id ... { action } } }', {
      id: treeId,
    });
    const [, steps] = api.statements();
    expect(steps).toMatch(/s\.action/);
    expect(steps).not.toMatch(/s\.observation|s\.response|s\.tokens/);
  });
});
