import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { unpack } from '../src/events/packed.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

let api: TestGraphql;
let treeId: string;
let ids: readonly string[];
beforeAll(async () => {
  api = await openTestGraphql();
  const builder = new EventBuilder();
  const run = builder.run('search');
  const tree = builder.tree(run, 'one');
  treeId = tree.treeId;
  const root = tree.rootStepId;
  const left = builder.step(tree, null, root, 1, { action: `go left ${'x'.repeat(100)}` });
  const right = builder.step(tree, null, root, 1, { action: 'go right', executable: false });
  const end = builder.step(tree, null, left, 2, { action: 'stop', termination: 'terminated' });
  ids = [root, left, right, end];
  builder.reward(tree, end, 0.5);
  builder.reward(tree, end, 0.25, { component: 'format' });
  const backUp = (simulation: number, leafStepId: string, value: number, path: readonly string[]) =>
    builder.record('ValueBackedUp', { treeId, simulation, leafStepId, value, path: [...path] }, run);
  backUp(0, end, 0.5, [root, left, end]);
  backUp(1, right, 0, [root, right]);
  await givenEvents(api.database.db, builder.events);
});
afterAll(() => api.close());

const QUERY = `query ($id: ID!) { tree(id: $id) { outline {
  length ids actions
  parents { ...P } executable { ...P } terminations { ...P } rewards { ...P }
  backUps { length values { ...P } lengths { ...P } paths { ...P } }
} } }
fragment P on PackedArray { dtype length base64 }`;
const numbers = (array: { dtype: 'int32' | 'float32' | 'uint8'; length: number; base64: string }) =>
  unpack({ ...array, bytes: array.base64 });

describe('the outline of a tree', () => {
  test('an outline has every step in the order of growth, with its parent, its action, its end and the sum of its rewards', async () => {
    const answer = await api.ask(QUERY, { id: treeId });
    expect(answer.errors).toBeUndefined();
    const { outline } = answer.data.tree;
    expect(outline).toMatchObject({
      length: 4,
      ids,
      actions: ['', `go left ${'x'.repeat(72)}`, 'go right', 'stop'],
    });
    expect(numbers(outline.parents)).toEqual([-1, 0, 0, 1]);
    expect(numbers(outline.executable)).toEqual([1, 1, 0, 1]);
    expect(numbers(outline.terminations)).toEqual([0, 0, 0, 1]);
    expect(numbers(outline.rewards)).toEqual([Number.NaN, Number.NaN, Number.NaN, 0.75]);
  });

  test('an outline holds the back-ups of the search, their paths as places in its columns', async () => {
    const { outline } = (await api.ask(QUERY, { id: treeId })).data.tree;
    expect(outline.backUps.length).toBe(2);
    expect(numbers(outline.backUps.values)).toEqual([0.5, 0]);
    expect(numbers(outline.backUps.lengths)).toEqual([3, 2]);
    expect(numbers(outline.backUps.paths)).toEqual([0, 1, 3, 0, 2]);
  });

  test('the outlines of many trees take as many statements as that of one', async () => {
    const query = '{ trees(first: FIRST) { nodes { outline { length rewards { length } backUps { length } } } } }';
    api.statements();
    await api.ask(query.replace('FIRST', '1'));
    const few = api.statements().length;
    await api.ask(query.replace('FIRST', '5'));
    expect(api.statements().length).toBe(few);
  });
});
