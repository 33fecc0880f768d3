import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { givenEvents } from '../src/testing/given-events.ts';
import { Story } from '../src/testing/story.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

let api: TestGraphql;
const story = new Story();
beforeAll(async () => {
  api = await openTestGraphql();
  const run = story.run();
  const tree = story.tree(run);
  story.walk(tree, 0, 3, 1);
  story.walk(tree, 1, 2, 0);
  await givenEvents(api.database.db, story.events);
});
afterAll(() => api.close());

test('first', async () => {
  const answer = await api.ask(
    `{ runs(first: 2) { totalCount nodes { id totals { trees steps successRate } successByDepth { taskDepth successRate } trees(first: 2) { nodes { id size { steps leaves depth } steps { id depth rewards { value } statistics { visits } } leaves { id } rollouts { return trajectory { length returns { component value} steps { id } } } } } } } lag { projection lag } position }`,
  );
  console.log(JSON.stringify(answer, null, 1));
  console.log(api.statements().length);
  expect(answer.errors).toBeUndefined();
});
