import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readRecordedPath } from '../src/projections/step-tree/read-recorded-path.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

const DEPTH = 12_000; // more than come at once
let api: TestGraphql;
const builder = new EventBuilder('paths');
const tree = builder.tree(builder.run(), 'deep');
const deep = builder.walk(tree, 0, DEPTH, 1);
const leaf = deep.steps.at(-1) ?? '';
builder.reward(tree, deep.steps[0] ?? '', 0.25, { component: 'process' });
const other = builder.walk(tree, 1, 3, 0);

beforeAll(async () => {
  api = await openTestGraphql();
  await givenEvents(api.database.db, builder.events);
});
afterAll(() => api.close());

const PART = 'query ($leaf: ID!, $first: Int, $after: Int) { path(leaf: $leaf, first: $first, after: $after) { id depth } }';

describe('paths', () => {
  test('a path of more than 10,000 steps is refused when requested whole, with how to page through it', async () => {
    for (const query of [
      `{ path(leaf: "${leaf}") { id } }`,
      `{ step(id: "${leaf}") { path { id } } }`,
      `{ trajectory(rollout: "${deep.rolloutId}") { steps { id } } }`,
    ]) {
      const { errors } = await api.ask(query);
      expect(errors).toEqual([
        expect.objectContaining({
          message: `the path to step ${leaf} has ${DEPTH + 1} steps and 10000 come at once; read it in parts: first: 10000, after: <depth of the last step received>`,
          extensions: expect.objectContaining({ code: 'PATH_TOO_LARGE' }),
        }),
      ]);
    }
  });

  test('the pages of a path together are the whole path, root first, without gap or repetition', async () => {
    const found: { id: string; depth: number }[] = [];
    for (;;) {
      const { data, errors } = await api.ask(PART, { leaf, first: 5_000, after: found.at(-1)?.depth });
      expect(errors).toBeUndefined();
      if (data.path.length === 0) break;
      found.push(...data.path);
    }
    expect(found).toEqual([tree.rootStepId, ...deep.steps].map((id, depth) => ({ id, depth })));
  });

  test('a path has the same pages under a step and under a trajectory', async () => {
    const { data } = await api.ask(
      `{ step(id: "${leaf}") { path(first: 2, after: 7) { depth } } trajectory(rollout: "${deep.rolloutId}") { steps(first: 2, after: 7) { depth } } }`,
    );
    expect([data.step.path, data.trajectory.steps]).toEqual(Array(2).fill([{ depth: 8 }, { depth: 9 }]));
  });

  test('a path of more than 10,000 steps has all of its rewards, those next to the root included', async () => {
    const { data, errors } = await api.ask(
      `{ trajectory(rollout: "${deep.rolloutId}") { return rewards(component: "process") { value } returns { component value rewards } } }`,
    );
    expect(errors).toBeUndefined();
    expect(data.trajectory.rewards).toEqual([{ value: 0.25 }]);
    expect(data.trajectory.returns.reduce((sum: number, { value }: { value: number }) => sum + value, 0)).toBe(
      data.trajectory.return,
    );
  });

  test('a fork reads the whole path of a recorded step, however long it is', async () => {
    const path = await readRecordedPath(api.database.db, { treeId: tree.treeId, id: leaf }, async () => '');
    expect(path.map(({ stepId }) => stepId)).toEqual([tree.rootStepId, ...deep.steps]);
  });

  test.each([
    [{ first: 0 }, 'first must be from 1 to 10000, not 0; read more in several pages'],
    [{ first: 10_001 }, 'first must be from 1 to 10000, not 10001; read more in several pages'],
    [{ after: -2 }, 'after must be the depth of a step, 0 or more, not -2'],
  ])('a page of a path with %j is refused with the bounds', async (part, message) => {
    const { errors } = await api.ask(PART, { leaf, ...part });
    expect(errors).toEqual([
      expect.objectContaining({ message, extensions: expect.objectContaining({ code: 'BAD_USER_INPUT' }) }),
    ]);
  });
});

describe('several paths in one request', () => {
  const aliases = (count: number, field: (i: number) => string) =>
    `{ ${Array.from({ length: count }, (_, i) => `p${i}: ${field(i)}`)} }`;

  test('paths with more than 100,000 steps together are refused before any is walked', async () => {
    api.statements();
    const asked = aliases(48, (i) => `path(leaf: "${deep.steps[9_900 + i]}") { id }`);
    const { errors } = await api.ask(asked);
    expect(errors?.[0]).toMatchObject({
      message: expect.stringMatching(/^the paths of this query have more than 100000 steps, .* ask for fewer paths at once/),
      extensions: { code: 'LIMIT_EXCEEDED', limit: 'paths' },
    });
    expect(api.statements().filter((sql) => sql.includes('recursive'))).toEqual([]);
  });

  test('the paths of a request and those of its asOf fields share one budget', async () => {
    const six = (from: number) => aliases(6, (i) => `path(leaf: "${deep.steps[9_900 + from + i]}") { id }`).slice(1, -1);
    const { errors } = await api.ask(
      `{ ${six(0)} asOf(position: "runs.0:1,trees.0:${builder.events.length - 1}") { ${six(6)} } }`,
    );
    expect(errors?.[0]).toMatchObject({ extensions: { code: 'LIMIT_EXCEEDED' } });
  });

  test('a path costs as much as the requested page', async () => {
    const { errors } = await api.ask(aliases(20, () => `path(leaf: "${leaf}", first: 10000) { tree { id } }`));
    expect(errors?.[0]).toMatchObject({
      message: expect.stringMatching(/^the limit "cost" is 150000, and this is 400000;/),
      extensions: { limit: 'cost' },
    });
  });
});

test('a path whose parent is missing from the read model is an error, never a shorter path', async () => {
  const { db } = api.database;
  const [first = '', , last = ''] = other.steps;
  await db.deleteFrom('steps').where('stepId', '=', first).execute();
  await expect(readRecordedPath(db, { treeId: tree.treeId, id: last }, async () => '')).rejects.toThrow(
    `the path to step ${last} lacks 2 steps in the read model; rebuild step-tree`,
  );
});
