import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { localPrincipal } from '../src/postgres/principal.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

const builder = new EventBuilder('answers');
let api: TestGraphql;
const one = builder.run('one');
const two = builder.run('two', { policy: { policyId: 'linear', version: 1 } });
const stick = grown(one, 'stick', [1, 0]);
const bowl = grown(one, 'bowl', [0, 0]);
const again = grown(two, 'stick', [1, 1]);
const [first = '', second = ''] = stick.walks[0]?.steps ?? [];
for (const [i, [stepId, output, outcome, durationMs]] of (
  [
    [first, 'oak', 'ok', 5],
    [second, 'none', 'error', 9],
  ] as const
).entries()) {
  const about = { toolCallId: builder.id('tool', i + 1), treeId: stick.tree.treeId, stepId, ordinal: 0 };
  builder.record('ToolCalled', { ...about, tool: 'search', arguments: '{}', output, outcome, durationMs }, one);
}
builder.reward(stick.tree, second, 0.25, { component: 'process', raw: null });
for (const [simulation, path] of [[first, second], [first]].entries()) {
  const [treeId, leafStepId] = [stick.tree.treeId, path.at(-1) ?? ''];
  builder.record('ValueBackedUp', { treeId, simulation, leafStepId, value: 1, path: [stick.tree.rootStepId, ...path] }, one);
}

beforeAll(async () => {
  api = await openTestGraphql();
  await givenEvents(api.database.db, builder.events);
});
afterAll(() => api.close());

/** A tree of rollouts of two steps each, one per reward; the task is the same wherever its alias is. */
function grown(run: string, alias: string, rewards: readonly number[]) {
  const tree = builder.tree(run, alias, {
    task: {
      taskId: builder.id('task', alias),
      environment: 'textcraft',
      serverFingerprint: 'w',
      observationHash: 'a'.repeat(64),
      alias,
      goal: `craft a ${alias}`,
      depth: alias === 'stick' ? 1 : 2,
      split: 'test',
    },
  });
  const walks = rewards.map((value, ordinal) => {
    const rolloutId = builder.rollout(tree, ordinal, { policy: { policyId: 'linear', version: run === one ? 0 : 1 } });
    const usage = { promptTokens: 10, completionTokens: 2 };
    const get = builder.step(tree, rolloutId, tree.rootStepId, 1, {
      action: 'get 1 oak log',
      thought: 'I need wood.',
      observation: `Got 1 oak log for the ${alias}`,
      usage,
      policySpans: [{ from: 0, to: 1, policyId: 'linear', version: run === one ? 0 : 1 }],
    });
    const craft = builder.step(tree, rolloutId, get, 2, {
      action: value === 1 ? `craft 1 ${alias}` : 'inventory',
      thought: 'Crafting next.',
      usage,
      termination: 'terminated',
      observation: value === 1 ? `Crafted 1 ${alias}` : 'You carry 1 oak log',
      executable: value === 1,
    });
    builder.reward(tree, craft, value, { rolloutId });
    builder.finishRollout(tree, rolloutId, craft, { steps: 2, success: value === 1 });
    return { rolloutId, steps: [get, craft] };
  });
  return { tree, walks };
}

async function data(query: string, variables = {}) {
  const { data: found, errors } = await api.ask(query, variables);
  expect(errors).toBeUndefined();
  return found;
}

const refused = async (query: string) => (await api.ask(query)).errors?.map(({ message }) => message) ?? [];

describe('steps', () => {
  test.each([
    ['{ action: "craft 1 stick" }', 3],
    ['{ action: "craft 1 stick", run: "ONE" }', 1],
    ['{ text: { words: "oak" } }', 9],
    ['{ text: { words: "crafted" } }', 9],
    ['{ text: { words: "craft", in: [action] } }', 3],
    ['{ text: { words: "craft -stick", in: [thought] } }', 6],
    ['{ text: { words: "\\"oak log\\" stick", in: [observation] } }', 4],
    ['{ tool: "search" }', 2],
    ['{ tool: "calculator" }', 0],
    ['{ reward: { component: "process" } }', 1],
    ['{ reward: { component: "environment", value: { from: 1 } } }', 3],
    ['{ policy: "linear", policyVersion: 1 }', 2],
    ['{ taskDepth: 2, depth: { from: 1 } }', 4],
    ['{ environment: "textcraft", depth: { from: 0, until: 1 } }', 3],
    ['{ executable: false }', 3],
    ['{ verdict: bad }', 0],
    ['{ sampleState: rejected }', 0],
  ])('the filter %s finds %i steps', async (filter, count) => {
    const query = `{ steps(filter: ${filter.replace('ONE', one)}) { totalCount nodes { id } } }`;
    const { steps } = await data(query);
    expect({ count: steps.totalCount, nodes: steps.nodes.length }).toEqual({ count, nodes: count });
  });

  test('what was searched is marked in the text that holds it, by the marks that are asked for', async () => {
    const { steps } = await data(
      `{ steps(filter: { text: { words: "crafting" }, run: "${two}", depth: { from: 1 } }) { edges { highlights(open: "<", close: ">") { field text } } } }`,
    );
    expect(steps.edges).toEqual([
      {
        highlights: [
          { field: 'observation', text: '<Crafted> 1 stick' },
          { field: 'action', text: '<craft> 1 stick' },
          { field: 'thought', text: '<Crafting> next' },
        ],
      },
      {
        highlights: [
          { field: 'observation', text: '<Crafted> 1 stick' },
          { field: 'action', text: '<craft> 1 stick' },
          { field: 'thought', text: '<Crafting> next' },
        ],
      },
    ]);
  });

  test('pages of one step follow one another in every order without a gap or a repetition', async () => {
    for (const orderBy of ['TREE', 'TAKEN_ASC', 'TAKEN_DESC']) {
      const seen: string[] = [];
      for (let after: string | null = null, more = true; more; ) {
        const { steps } = await data(
          `query ($after: String) { steps(filter: { run: "${one}" }, orderBy: ${orderBy}, first: 3, after: $after) { nodes { id } pageInfo { endCursor hasNextPage } } }`,
          { after },
        );
        seen.push(...steps.nodes.map(({ id }: { id: string }) => id));
        after = steps.pageInfo.endCursor;
        more = steps.pageInfo.hasNextPage;
      }
      expect({ orderBy, steps: seen.length, different: new Set(seen).size }).toEqual({ orderBy, steps: 10, different: 10 });
    }
  });

  test('a subtree comes by visits, so many levels deep as are asked for', async () => {
    const asked = (depth: string) =>
      data(`{ steps(under: "${stick.tree.rootStepId}"${depth}, orderBy: VISITS) { nodes { depth statistics { visits } } } }`);
    const { steps } = await asked('');
    type Visited = { readonly statistics: { readonly visits: number } | null };
    expect(steps.nodes.map(({ statistics }: Visited) => statistics?.visits ?? 0)).toEqual([2, 2, 1, 0, 0]);
    const { steps: near } = await asked(', depth: 1');
    expect(near.nodes.map(({ depth }: { depth: number }) => depth).sort()).toEqual([0, 1, 1]);
  });

  test.each([
    [
      '{ steps(orderBy: VISITS) { nodes { id } } }',
      'orderBy: VISITS orders the steps of one tree; name it by under or filter.tree',
    ],
    ['{ steps(depth: 2) { nodes { id } } }', 'depth counts levels below a step; name it by under'],
    ['{ steps(filter: { text: { words: "the" } }) { nodes { id } } }', expect.stringContaining('names no word to look up')],
    ['{ steps(filter: { text: { words: "-oak" } }) { nodes { id } } }', expect.stringContaining('names no word to look up')],
    ['{ toolCalls(orderBy: DURATION_DESC) { nodes { id } } }', expect.stringContaining('name it in filter.tool')],
    ['{ trees(orderBy: RETURN_VARIANCE_DESC) { nodes { id } } }', expect.stringContaining('name it in filter.run')],
    ['{ aggregate(by: RUN, filter: {}) { key } }', 'filter must name what is summed up: runs, tasks, a policy or an environment'],
    [`{ compare(runs: ["${one}"]) { tasks } }`, 'runs must name 2 to 20 different runs, not 1'],
  ])('the question %s is refused with what to do', async (query, message) => {
    expect(await refused(query)).toEqual([message]);
  });
});

test('tool calls are chosen by tool and outcome, the slowest first', async () => {
  const { toolCalls } = await data(
    '{ toolCalls(filter: { tool: "search" }, orderBy: DURATION_DESC) { totalCount nodes { outcome durationMs } } }',
  );
  expect(toolCalls).toEqual({
    totalCount: 2,
    nodes: [
      { outcome: 'error', durationMs: 9 },
      { outcome: 'ok', durationMs: 5 },
    ],
  });
  const found = await data(`{ toolCalls(filter: { text: "oak", run: "${one}" }) { totalCount nodes { stepId } } }`);
  expect(found.toolCalls).toEqual({ totalCount: 1, nodes: [{ stepId: first }] });
  expect(await refused('{ toolCalls(filter: { text: "oak" }) { totalCount } }')).toEqual([
    'no index holds the texts of tool calls; name a step, a tree, a task or a run in the filter',
  ]);
  const failed = await data(`{ toolCalls(filter: { outcome: error, run: "${one}" }) { nodes { stepId } } }`);
  expect(failed.toolCalls.nodes).toEqual([{ stepId: second }]);
});

test('tasks are each named once over all runs, with what was done for them', async () => {
  const { tasks } = await data(
    '{ tasks { totalCount nodes { alias depth totals { runs trees finished successes successRate meanReturn } } } }',
  );
  expect(tasks).toEqual({
    totalCount: 2,
    nodes: [
      { alias: 'bowl', depth: 2, totals: { runs: 1, trees: 1, finished: 2, successes: 0, successRate: 0, meanReturn: 0 } },
      {
        alias: 'stick',
        depth: 1,
        totals: { runs: 2, trees: 2, finished: 4, successes: 3, successRate: 0.75, meanReturn: 0.8125 },
      },
    ],
  });
  const found = await data(`{ tasks(filter: { text: "crafting sticks", run: "${two}" }) { nodes { goal } } }`);
  expect(found.tasks.nodes).toEqual([{ goal: 'craft a stick' }]);
});

describe('aggregate', () => {
  const ask = (by: string, selected: string, filter = `runs: ["${one}", "${two}"]`) =>
    data(`{ aggregate(by: ${by}, filter: { ${filter} }) { ${selected} } }`);

  test('by depth, all parts are those of the record', async () => {
    const { aggregate } = await ask(
      'DEPTH',
      'taskDepth rollouts { rollouts finished successes successRate meanReturn meanSteps } steps { steps executable promptTokens completionTokens policyMs } tools { calls errors durationMs } components { component rewards mean }',
    );
    expect(aggregate).toEqual([
      {
        taskDepth: 1,
        rollouts: { rollouts: 4, finished: 4, successes: 3, successRate: 0.75, meanReturn: 0.8125, meanSteps: 2 },
        steps: { steps: 8, executable: 7, promptTokens: 80, completionTokens: 16, policyMs: 8 },
        tools: { calls: 2, errors: 1, durationMs: 14 },
        components: [
          { component: 'environment', rewards: 4, mean: 0.75 },
          { component: 'process', rewards: 1, mean: 0.25 },
        ],
      },
      {
        taskDepth: 2,
        rollouts: { rollouts: 2, finished: 2, successes: 0, successRate: 0, meanReturn: 0, meanSteps: 2 },
        steps: { steps: 4, executable: 2, promptTokens: 40, completionTokens: 8, policyMs: 4 },
        tools: { calls: 0, errors: 0, durationMs: 0 },
        components: [{ component: 'environment', rewards: 2, mean: 0 }],
      },
    ]);
  });

  test.each([
    [
      'RUN',
      'run { name } rollouts { successRate }',
      [
        { run: { name: 'one' }, rollouts: { successRate: 0.25 } },
        { run: { name: 'two' }, rollouts: { successRate: 1 } },
      ],
    ],
    ['ENVIRONMENT', 'environment steps { steps }', [{ environment: 'textcraft', steps: { steps: 12 } }]],
    [
      'POLICY_VERSION',
      'policy { id version } rollouts { rollouts } steps { steps }',
      [
        { policy: { id: 'linear', version: 0 }, rollouts: { rollouts: 4 }, steps: { steps: 8 } },
        { policy: { id: 'linear', version: 1 }, rollouts: { rollouts: 2 }, steps: { steps: 4 } },
      ],
    ],
    [
      'TOOL',
      'tool rollouts { rollouts successes } steps { steps } tools { calls errors } components { component rewards }',
      [
        {
          tool: 'search',
          rollouts: { rollouts: 1, successes: 1 },
          steps: { steps: 2 },
          tools: { calls: 2, errors: 1 },
          components: [
            { component: 'environment', rewards: 1 },
            { component: 'process', rewards: 1 },
          ],
        },
      ],
    ],
  ])('by %s, groups hold what they have in common and what it amounts to', async (by, selected, groups) => {
    const { aggregate } = await ask(by, selected);
    expect([...aggregate].sort((a, b) => (a.run?.name < b.run?.name ? -1 : 1))).toEqual(groups);
  });

  test('by run and by task, a rate is the one that the run and the task show', async () => {
    const { aggregate } = await ask(
      'RUN',
      'run { totals { successRate steps meanReturn } } rollouts { successRate meanReturn } steps { steps }',
    );
    for (const { run, rollouts, steps } of aggregate) expect({ ...rollouts, steps: steps.steps }).toEqual({ ...run.totals });
    const { aggregate: tasks } = await ask('TASK', 'key taskId rollouts { successRate }');
    expect(tasks).toHaveLength(2);
    const [{ key }, last] = tasks;
    const { aggregate: rest } = await data(
      'query ($runs: [ID!], $after: String) { aggregate(by: TASK, filter: { runs: $runs }, after: $after) { key taskId rollouts { successRate } } }',
      { runs: [one, two], after: key },
    );
    expect(rest).toEqual([last]);
  });

  test('a version of a policy is summed up over its own rollouts, their steps, calls and rewards alone', async () => {
    const { aggregate } = await ask(
      'ENVIRONMENT',
      'rollouts { rollouts } steps { steps } tools { calls } components { rewards }',
      `runs: ["${one}", "${two}"], policy: "linear", policyVersion: 1`,
    );
    expect(aggregate).toEqual([
      { rollouts: { rollouts: 2 }, steps: { steps: 4 }, tools: { calls: 0 }, components: [{ rewards: 2 }] },
    ]);
  });
});

test('runs are compared on the tasks that both have, with an interval', async () => {
  const { compare } = await data(
    `{ compare(runs: ["${two}", "${one}"]) { run { name } baseline { name } tasks unpaired success { tasks baselineMean mean difference interval { low high } better worse equal } return { difference } } }`,
  );
  expect(compare).toEqual([
    {
      run: { name: 'one' },
      baseline: { name: 'two' },
      tasks: 1,
      unpaired: 1,
      success: {
        tasks: 1,
        baselineMean: 1,
        mean: 0.5,
        difference: -0.5,
        interval: { low: -0.5, high: -0.5 },
        better: 0,
        worse: 1,
        equal: 0,
      },
      return: { difference: -0.375 },
    },
  ]);
});

test('trees of a run come by how much their returns vary', async () => {
  const { run } = await data(
    `{ run(id: "${one}") { trees(orderBy: RETURN_VARIANCE_DESC, first: 1) { nodes { id returnVariance } pageInfo { endCursor } } } }`,
  );
  expect(run.trees.nodes).toEqual([{ id: stick.tree.treeId, returnVariance: ((1.25 / 2) ** 2 * 2) / 2 }]);
  const next = await data(
    `{ trees(filter: { run: "${one}" }, orderBy: RETURN_VARIANCE_DESC, after: "${run.trees.pageInfo.endCursor}") { nodes { id returnVariance } } }`,
  );
  expect(next.trees.nodes).toEqual([{ id: bowl.tree.treeId, returnVariance: 0 }]);
});

test('two trajectories part where what was done or seen differs, in one tree or in two of one task', async () => {
  const ask = (a = '', b = '') =>
    data(`{ divergence(a: "${a}", b: "${b}") { depth kind common { action } a { action } b { action } } }`);
  const [won, lost] = stick.walks.map(({ rolloutId }) => rolloutId);
  const parted = {
    depth: 1,
    kind: 'action',
    common: { action: 'get 1 oak log' },
    a: { action: 'craft 1 stick' },
    b: { action: 'inventory' },
  };
  expect((await ask(won, lost)).divergence).toEqual(parted);
  expect((await ask(again.walks[0]?.rolloutId, lost)).divergence).toEqual(parted);
  expect((await ask(won, again.walks[0]?.rolloutId)).divergence).toBeNull();
  expect((await ask(won, bowl.walks[0]?.rolloutId)).divergence).toMatchObject({ depth: 0, kind: 'observation' });
});

test('a step recalls the rollouts that hold it on their path', async () => {
  const { recall } = await data(`{ recall(what: { step: "${first}" }) { rollouts trees } }`);
  expect(recall).toEqual({ rollouts: 1, trees: 1 });
  const root = await data(`{ recall(what: { step: "${stick.tree.rootStepId}" }) { rollouts } }`);
  expect(root.recall).toEqual({ rollouts: 2 });
});

test('a key of another project sees nothing of these answers', async () => {
  const query = `{ steps(filter: { text: { words: "oak" }, action: "get 1 oak log" }) { totalCount edges { highlights { text } } } toolCalls(filter: { tool: "search" }) { totalCount nodes { id } } tasks { totalCount nodes { alias totals { trees } } }
    aggregate(by: DEPTH, filter: { runs: ["${one}"] }) { taskDepth rollouts { rollouts successRate } steps { steps } tools { calls } components { rewards } }
    samples { totalCount nodes { state } } trees(filter: { run: "${one}" }, orderBy: RETURN_VARIANCE_DESC) { nodes { returnVariance } } }`;
  const now = await data(query);
  expect(now.steps.totalCount).toBe(6);
  const confined = await api.create(
    {},
    { ...localPrincipal('elsewhere'), principal: 'key:k', keyId: 'k', name: 'k', scopes: ['read'], projects: ['elsewhere'] },
  );
  const { data: seen, errors } = await confined.ask(query);
  expect(errors).toBeUndefined();
  expect(seen).toEqual({
    steps: { totalCount: 0, edges: [] },
    toolCalls: { totalCount: 0, nodes: [] },
    tasks: { totalCount: 0, nodes: [] },
    aggregate: [],
    samples: { totalCount: 0, nodes: [] },
    trees: { nodes: [] },
  });
});

test('every question of the guide has an answer', async () => {
  const guide = await readFile(new URL('../docs/guides/graphql.md', import.meta.url), 'utf8');
  const asked = guide.split('\n').filter((line) => line.startsWith('{') && line.includes('RUN"'));
  expect(asked).toHaveLength(5);
  for (const line of asked) {
    const found = await data(line.replaceAll('"RUN"', `"${one}"`).replaceAll('"OTHER"', `"${two}"`));
    expect(JSON.stringify(found).length).toBeGreaterThan(60);
  }
});
test('what published systems report of a run comes under their names, computed from the record', async () => {
  const { run } = await data(`{ run(id: "${one}") { publishedMetrics { name value count } totals { successRate } } }`);
  const metrics = Object.fromEntries(
    run.publishedMetrics.map(({ name, value }: { name: string; value: number }) => [name, value]),
  );
  expect(metrics).toEqual({
    'episode/success_rate': run.totals.successRate,
    'episode/reward/mean': 0.3125,
    'episode/reward/max': 1.25,
    'episode/reward/min': 0,
    'episode/length/mean': 2,
    'episode/length/max': 2,
    'episode/length/min': 2,
    'episode/valid_action_ratio': 1,
    'episode/tool_call_count/mean': 0.5,
    'prompt_length/mean': 10,
    'prompt_length/max': 10,
    'prompt_length/min': 10,
    'response_length/mean': 2,
    'response_length/max': 2,
    'response_length/min': 2,
    'response_length/clip_ratio': 0,
  });
});
