import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pack } from '../src/events/packed.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { CALL, LONG, openTestRecord, type TestRecord } from './testing/test-record.ts';

let api: TestRecord['api'];
let run: TestRecord['run'];
let tree: TestRecord['tree'];
let good: TestRecord['good'];
let poor: TestRecord['poor'];
let going: TestRecord['going'];
let bigStep: TestRecord['bigStep'];
let bigTree: TestRecord['bigTree'];
beforeAll(async () => {
  ({ api, run, tree, good, poor, going, bigStep, bigTree } = await openTestRecord());
});
afterAll(() => api.close());

async function data(query: string, variables = {}) {
  const answer = await api.ask(query, variables);
  expect(answer.errors).toBeUndefined();
  return answer.data;
}

describe('runs', () => {
  test('a run shows its experiment and everything that determines it', async () => {
    expect(
      await data(
        'query ($id: ID!) { run(id: $id) { id name kind seed codeVersion config environments { environment fingerprint } policy { id version } outcome message startedAt finishedAt experiment { name question runs { nodes { id } } } } }',
        { id: run },
      ),
    ).toEqual({
      run: {
        id: run,
        name: 'first',
        kind: 'collect',
        seed: 2 ** 40,
        codeVersion: 'test',
        config: { lr: 0.5, nested: [1] },
        environments: [{ environment: 'textcraft', fingerprint: 'world-1' }],
        policy: { id: 'random', version: 0 },
        outcome: 'completed',
        message: 'done',
        startedAt: '2026-01-01T00:00:02.000Z',
        finishedAt: expect.stringMatching(/^2026-01-01T00:00:\d\d\.000Z$/),
        experiment: { name: 'depth', question: 'How deep?', runs: { nodes: [{ id: run }] } },
      },
    });
  });

  test('a run shows the evaluation of its policy, with the data that the policy was trained on', async () => {
    const found = await data(
      'query ($id: ID!) { run(id: $id) { evaluation { policy { id version } environment split tasks episodes meanReturn returnInterval { low high } successRate successInterval { low high } confidence meanSteps repeatedActions { length perEpisode } byDepth { taskDepth episodes successes } recoveredFrom { id } trained { method iteration weights runs { id } good revisions actions } finishedAt } } }',
      { id: run },
    );
    expect(found.run).toEqual({
      evaluation: {
        policy: { id: 'linear', version: 3 },
        environment: 'textcraft',
        split: 'test',
        tasks: 2,
        episodes: 4,
        meanReturn: 0.5,
        returnInterval: { low: 0.25, high: 0.75 },
        successRate: 0.25,
        successInterval: { low: 0, high: 0.5 },
        confidence: 0.95,
        meanSteps: 6.5,
        repeatedActions: [{ length: 2, perEpisode: 1.5 }],
        byDepth: [{ taskDepth: null, episodes: 4, successes: 1 }],
        recoveredFrom: { id: run },
        trained: {
          method: 'agent-r',
          iteration: 2,
          weights: 'a'.repeat(64),
          runs: [{ id: run }],
          good: 1,
          revisions: 2,
          actions: 9,
        },
        finishedAt: expect.stringMatching(/^2026-01-01T00:00:\d\d\.000Z$/),
      },
    });
  });

  test('a run shows totals, success by depth and metrics', async () => {
    const found = await data(
      'query ($id: ID!) { run(id: $id) { totals { trees closedTrees rollouts terminated truncated failed cancelled steps successes successRate meanReturn } successByDepth { taskDepth trees rollouts successes successRate meanReturn } loss: metrics(name: "loss") { metric value at } last: metrics(last: 1) { eventId metric } } }',
      { id: run },
    );
    expect(found.run).toEqual({
      totals: {
        trees: 1,
        closedTrees: 0,
        rollouts: 3,
        terminated: 2,
        truncated: 0,
        failed: 0,
        cancelled: 0,
        steps: 5,
        successes: 1,
        successRate: 0.5,
        meanReturn: (1 + 0.5 - 0.125) / 2,
      },
      successByDepth: [
        { taskDepth: 1, trees: 1, rollouts: 3, successes: 1, successRate: 0.5, meanReturn: (1 + 0.5 - 0.125) / 2 },
      ],
      loss: [
        { metric: 'loss', value: 0.5, at: 1 },
        { metric: 'loss', value: 0.25, at: 2 },
      ],
      last: [{ eventId: expect.any(String), metric: 'kl' }],
    });
    const [{ eventId }] = (found.run as { last: [{ eventId: string }] }).last;
    const { trace } = await data('query ($id: String!) { trace(id: $id) { kind title } }', { id: eventId });
    expect(trace).toEqual({ kind: 'event', title: expect.stringContaining('MetricRecorded') });
  });

  test('a run without trees shows zeros and no rates', async () => {
    const lone = new EventBuilder('lone');
    const id = lone.run();
    await givenEvents(api.database.db, lone.events);
    const found = await data(
      'query ($id: ID!) { run(id: $id) { totals { trees steps successRate meanReturn } successByDepth { trees } } }',
      { id },
    );
    expect(found.run).toEqual({ totals: { trees: 0, steps: 0, successRate: null, meanReturn: null }, successByDepth: [] });
  });

  test('a list shows what each run costs, how much is written of it, and its last returns', async () => {
    const found = await data(
      '{ runs(filter: { text: "second" }) { nodes { totals { steps promptTokens completionTokens } activity { events lastEventAt eventsPerSecond } failures { reason } lastReturns(last: 5) } } }',
    );
    expect(found.runs.nodes).toEqual([
      {
        totals: { steps: 2, promptTokens: 7, completionTokens: 3 },
        activity: { events: 4, lastEventAt: expect.stringMatching(/^2026-01-01T/), eventsPerSecond: 0 },
        failures: [],
        lastReturns: [],
      },
    ]);
    const first = await data('query ($id: ID!) { run(id: $id) { lastReturns(last: 1) activity { eventsPerSecond } } }', {
      id: run,
    });
    expect(first.run.lastReturns).toHaveLength(1);
    expect(first.run.activity.eventsPerSecond).toBeGreaterThan(0);
  });

  test.each([
    ['{ kind: search }', ['second']],
    ['{ running: false }', ['first']],
    ['{ outcome: completed, environment: "textcraft" }', ['first']],
    ['{ environment: "nowhere" }', []],
    ['{ policy: "random", running: false }', ['first']],
    ['{ policy: "rando" }', []],
    ['{ text: "SEC" }', ['second']],
    ['{ text: "done firs" }', ['first']],
    ['{ text: "irst" }', []],
    ['{ label: "nobody said this" }', []],
    ['{ started: { until: "2026-01-01T00:00:03Z" } }', ['first']],
    ['{ started: { from: "2026-01-01T01:00:03+01:00" } }', ['second']],
  ])('the filter %s selects runs', async (filter, names) => {
    const found = await data(`{ runs(filter: ${filter}) { nodes { name } } }`);
    expect(found.runs.nodes.map(({ name }: { name: string }) => name).filter((name: string) => name !== 'run')).toEqual(names);
  });
});

describe('trees', () => {
  test('a whole tree lists parents before children, with its leaves, size and simulations', async () => {
    const found = await data(
      'query ($id: ID!) { tree(id: $id) { run { name } task { environment alias goal depth } rootId root { depth observation } size { steps depth leaves } simulations leaves { id } steps { id parentId depth } rollouts { id ordinal outcome } divergences { field recorded replayed stepId } } }',
      { id: tree.treeId },
    );
    const [a, b, c] = good.steps;
    const [d, e] = poor.steps;
    expect(found.tree).toEqual({
      run: { name: 'first' },
      task: { environment: 'textcraft', alias: 'stick', goal: 'craft stick', depth: 1 },
      rootId: tree.rootStepId,
      root: { depth: 0, observation: 'Goal: craft stick.' },
      size: { steps: 6, depth: 3, leaves: 2 },
      simulations: 3,
      leaves: [{ id: c }, { id: e }],
      steps: [
        { id: tree.rootStepId, parentId: null, depth: 0 },
        { id: a, parentId: tree.rootStepId, depth: 1 },
        { id: b, parentId: a, depth: 2 },
        { id: c, parentId: b, depth: 3 },
        { id: d, parentId: tree.rootStepId, depth: 1 },
        { id: e, parentId: d, depth: 2 },
      ],
      rollouts: [
        { id: good.rolloutId, ordinal: 0, outcome: 'terminated' },
        { id: poor.rolloutId, ordinal: 1, outcome: 'terminated' },
        { id: going, ordinal: 2, outcome: null },
      ],
      divergences: [{ field: 'observation', recorded: 'a', replayed: 'b', stepId: c }],
    });
  });

  test('a tree is paged by the offset of the log', async () => {
    const part = async (first: number, after: number | null): Promise<{ id: string; logOffset: number }[]> =>
      (
        await data(
          'query ($id: ID!, $first: Int, $after: SafeInt) { tree(id: $id) { steps(first: $first, after: $after) { id logOffset } } }',
          { id: tree.treeId, first, after },
        )
      ).tree.steps;
    const one = await part(4, null);
    const two = await part(4, one.at(-1)?.logOffset ?? null);
    expect([...one, ...two].map(({ id }) => id)).toEqual([tree.rootStepId, ...good.steps, ...poor.steps]);
  });

  test('a tree with too many steps is refused when requested whole, and read in pages', async () => {
    const huge = new EventBuilder('huge');
    const of = huge.tree(huge.run(), 'huge');
    for (let i = 0; i < 2_000; i++) huge.step(of, null, of.rootStepId, 1);
    await givenEvents(api.database.db, huge.events);
    const answer = await api.ask('query ($id: ID!) { tree(id: $id) { steps { id } } }', { id: of.treeId });
    expect(answer.errors?.[0]).toMatchObject({
      extensions: { code: 'TREE_TOO_LARGE' },
      message: expect.stringMatching(/more than 2000 steps; read it in parts/),
    });
    expect(
      (await data('query ($id: ID!) { tree(id: $id) { steps(first: 5000) { id } } }', { id: of.treeId })).tree.steps,
    ).toHaveLength(2_001);
  });

  test.each([
    ['{ environment: "tools" }', ['big']],
    ['{ taskDepth: 1, environment: "textcraft" }', ['stick']],
    ['{ closed: true }', []],
    ['{ split: "test" }', ['big']],
  ])('the filter %s selects trees', async (filter, aliases) => {
    const found = await data(`{ trees(filter: ${filter}) { nodes { task { alias } } } }`);
    const seen = found.trees.nodes.map(({ task }: { task: { alias: string } }) => task.alias);
    expect(seen.filter((alias: string) => ['stick', 'big'].includes(alias))).toEqual(aliases);
  });
});

describe('steps', () => {
  test('a step shows its neighbours, path, rewards, tool calls and divergences', async () => {
    const found = await data(
      'query ($id: ID!) { step(id: $id) { parent { id } children { id } path { id } tree { id } rollout { ordinal } timings { policyMs environmentMs } policySpans { policyId version from to } usage { promptTokens } toolCalls { tool arguments output outcome durationMs ordinal } divergences { field } largeTexts { size } } }',
      { id: good.steps[2] },
    );
    expect(found.step).toEqual({
      parent: { id: good.steps[1] },
      children: [],
      path: [{ id: tree.rootStepId }, ...good.steps.map((id) => ({ id }))],
      tree: { id: tree.treeId },
      rollout: { ordinal: 0 },
      timings: { policyMs: 1, environmentMs: 1 },
      policySpans: [{ policyId: 'random', version: 0, from: 0, to: 1 }],
      usage: null,
      toolCalls: [{ tool: 'search', arguments: '{"q":1}', output: 'none', outcome: 'error', durationMs: 2.5, ordinal: 0 }],
      divergences: [{ field: 'observation' }],
      largeTexts: [],
    });
  });

  test('a step shows each reward in force with all its judgements', async () => {
    const found = await data(
      'query ($id: ID!) { step(id: $id) { none: rewards(component: "other") { id } rewards(component: "process") { component value assignedValue revisionCount scorer { name revision } raw { value } revisions { ordinal value reason scorer { name revision } } } } }',
      { id: good.steps[1] },
    );
    expect(found.step.none).toEqual([]);
    expect(found.step.rewards).toEqual([
      {
        component: 'process',
        value: 0.5,
        assignedValue: 0.25,
        revisionCount: 1,
        scorer: { name: 'judge', revision: '2' },
        raw: null,
        revisions: [
          { ordinal: expect.any(Number), value: 0.5, reason: 'looked again', scorer: { name: 'judge', revision: '2' } },
        ],
      },
    ]);
  });

  test('a step shows search statistics, now and as of any simulation, the same alone as in its tree', async () => {
    const fields =
      'now: statistics { visits valueSum value } zero: statistics(asOfSimulation: 0) { visits } one: statistics(asOfSimulation: 1) { visits value } two: statistics(asOfSimulation: 2) { visits valueSum }';
    const alone = await data(`query ($id: ID!) { step(id: $id) { ${fields} } }`, { id: tree.rootStepId });
    expect(alone.step).toEqual({
      now: { visits: 3, valueSum: 0.5, value: 0.5 / 3 },
      zero: null,
      one: { visits: 1, value: 1 },
      two: { visits: 2, valueSum: 1.5 },
    });
    const whole = await data(`query ($id: ID!) { tree(id: $id) { steps { id ${fields} } } }`, { id: tree.treeId });
    expect(whole.tree.steps[0]).toEqual({ id: tree.rootStepId, ...alone.step });
    expect(whole.tree.steps[2]).toEqual({
      id: good.steps[1],
      now: { visits: 1, valueSum: 0.5, value: 0.5 },
      zero: null,
      one: null,
      two: { visits: 1, valueSum: 0.5 },
    });
  });

  test('a step returns its sampled tokens packed, also from the blob store', async () => {
    const found = await data(
      'query ($id: ID!) { step(id: $id) { call { responseId model requestHash attempts latencyMs usage { promptTokens } trimmed { from to } } usage { promptTokens completionTokens } admissibleActions tokens { ids { dtype length base64 } logProbs { base64 } mask { dtype length base64 } } } }',
      { id: bigStep },
    );
    expect(found.step).toEqual({
      call: { ...CALL, usage: { promptTokens: 9 } },
      usage: { promptTokens: 7, completionTokens: 3 },
      admissibleActions: ['look', 'go'],
      tokens: {
        ids: { dtype: 'int32', length: 3, base64: pack('int32', [5, -6, 7]).bytes },
        logProbs: { base64: pack('float32', [-0.5, -1, 0]).bytes },
        mask: { dtype: 'uint8', length: 3, base64: pack('uint8', [1, 0, 1]).bytes },
      },
    });
  });

  test('a step shows the beginning of a large text, its size and any requested part', async () => {
    const found = await data(
      'query ($id: ID!) { step(id: $id) { observation largeTexts { field size mediaType part: text(offset: 65535, length: 4) text } } }',
      { id: bigStep },
    );
    // a pair is not cut: it comes whole with the part that its first half lies in
    const beginning = `${'a'.repeat(65_535)}\u{1F333}`;
    expect(found.step).toEqual({
      observation: beginning,
      largeTexts: [
        { field: 'observation', size: Buffer.byteLength(LONG), mediaType: 'text/plain', part: '\u{1F333}zz', text: beginning },
      ],
    });
    const answer = await api.ask('query ($id: ID!) { step(id: $id) { largeTexts { text(length: 1000001) } } }', { id: bigStep });
    expect(answer.errors?.[0]?.message).toMatch('length must be from 1 to 1000000');
  });

  test('a text that is missing from the blob store is an error with the path of its field, and the other fields are answered', async () => {
    const query = (field: string) => `query ($id: ID!) { tree(id: $id) { steps { ${field} } } }`;
    const answer = await api.ask(query('thought'), { id: bigTree.treeId });
    expect(answer.errors).toMatchObject([{ extensions: { code: 'TEXT_MISSING' }, path: ['tree', 'steps', 2, 'thought'] }]);
    expect((await data(query('action'), { id: bigTree.treeId })).tree.steps).toHaveLength(3);
  });
});
