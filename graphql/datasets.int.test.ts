import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { DataOf } from '../src/events/catalogue.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { ROW_FORMAT_VERSIONS } from '../src/usecases/datasets/rows/row-options.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

let api: TestGraphql;
const builder = new EventBuilder('graphql datasets');
const sha256 = 'a'.repeat(64);
let run: string;
/** A run that evaluates a policy, trained on two of the releases, and on one that nobody knows. */
let evaluated: string;
/** Two trees, of each a good and a bad trajectory and a revision that splices them. */
let trees: readonly { treeId: string; good: string; bad: string; revision: string }[];
// three names
const [both, goodOnly, bare] = ['both', 'good', 'bare'].map((name) => builder.id('dataset', name)) as [string, string, string];

beforeAll(async () => {
  api = await openTestGraphql();
  run = builder.run();
  trees = [0, 1].map(recordTree);
  const examples = (kinds: readonly string[]) =>
    trees
      .flatMap(({ treeId, good, bad, revision }) => [
        { kind: 'good' as const, treeId, goodRolloutId: good, badRolloutId: null, revisionId: null },
        { kind: 'revision' as const, treeId, goodRolloutId: good, badRolloutId: bad, revisionId: revision },
      ])
      .filter(({ kind }) => kinds.includes(kind))
      .map((example, i) => ({ ...example, line: 1 + 2 * i, lines: 2 }));
  recordRelease(both, 'mined', 1, examples(['good', 'revision']));
  recordRelease(goodOnly, 'mined', 2, examples(['good']));
  recordRelease(bare, 'older', 1, []);
  evaluated = recordEvaluation([both, goodOnly, builder.id('dataset', 'unknown')]);
  builder.record('DatasetWithdrawn', { datasetId: goodOnly, reason: 'a leak' }, goodOnly);
  await givenEvents(api.database.db, builder.events);
});
afterAll(() => api.close());

function recordTree(index: number) {
  const tree = builder.tree(run, `tree ${index}`);
  const walks = [1, 0].map((value, ordinal) => {
    const rollout = builder.rollout(tree, ordinal, { policy: { policyId: 'linear', version: 3 + ordinal } });
    const leaf = builder.step(tree, rollout, tree.rootStepId, 1, { action: `act ${value}`, termination: 'terminated' });
    builder.reward(tree, leaf, value, { rolloutId: rollout });
    builder.finishRollout(tree, rollout, leaf, { steps: 1, success: value === 1 });
    return { rollout, leaf };
  });
  const [good = { rollout: '', leaf: '' }, bad = good] = walks;
  const revision = builder.id('revision', index);
  const leaves = { goodLeafStepId: good.leaf, badLeafStepId: bad.leaf, branchStepId: tree.rootStepId };
  const found = { transitionStepId: bad.leaf, transitionCause: 'bad', judged: 1, reflection: 'I erred.' } as const;
  const rest = {
    signal: 'thought',
    alpha: 0.5,
    beta: 0.2,
    judge: { name: 'planner', revision: '1' },
    contentHash: sha256,
  } as const;
  builder.record('RevisionComposed', { revisionId: revision, treeId: tree.treeId, ...leaves, ...found, ...rest }, run);
  return { treeId: tree.treeId, good: good.rollout, bad: bad.rollout, revision };
}

function recordRelease(datasetId: string, name: string, version: number, examples: DataOf<'DatasetSourced'>['examples']): void {
  const made = { format: 'xtuner', formatVersion: 1, query: { runs: [run] }, parameters: { data: 'both' } };
  const rest = { position: { 'step-tree@1': 'trees.0:41' }, counts: { lines: 2 * examples.length }, bytes: 10, codeVersion: '1' };
  builder.record('DatasetReleased', { datasetId, name, version, ...made, ...rest, sha256, runs: [run] }, datasetId);
  if (examples.length > 0) builder.record('DatasetSourced', { datasetId, sha256, part: 0, examples }, datasetId);
}

function recordEvaluation(datasetIds: string[]): string {
  const id = builder.run('evaluation');
  const interval = { low: 0, high: 1 };
  const none = { split: null, repeatedActions: [], byDepth: [], recovery: null };
  const measured = {
    tasks: 1,
    episodes: 1,
    meanReturn: 1,
    successRate: 1,
    meanSteps: 1,
    returnInterval: interval,
    successInterval: interval,
  };
  const trained = {
    method: 'agent-r',
    iteration: 2,
    weights: sha256,
    runIds: [run],
    datasetIds,
    good: 1,
    revisions: 1,
    actions: 4,
  };
  const about = { runId: id, policy: { policyId: 'linear', version: 5 }, environment: 'textcraft' };
  builder.record(
    'EvaluationFinished',
    { ...about, ...measured, ...none, bootstrap: { confidence: 0.95, resamples: 1, seed: 1 }, trained },
    id,
  );
  return id;
}

interface Page {
  readonly nodes: readonly { readonly id: string }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string };
}

async function data(query: string, variables = {}) {
  const answer = await api.ask(query, variables);
  expect(answer.errors).toBeUndefined();
  return answer.data;
}

describe('a dataset release', () => {
  test('a release shows how it was made and what each of its lines was made of', async () => {
    const query = `query ($id: ID!) { dataset(id: $id) {
      name version format formatVersion query parameters position counts bytes sha256 codeVersion withdrawnAt withdrawReason
      runs { id } policies { id version }
      examples { totalCount nodes { line lines kind tree { id } trajectory { id return } badTrajectory { id return } revision { id state } } } } }`;
    expect(await data(query, { id: both })).toEqual({
      dataset: {
        name: 'mined',
        version: 1,
        format: 'xtuner',
        formatVersion: 1,
        query: { runs: [run] },
        parameters: { data: 'both' },
        position: { 'step-tree@1': 'trees.0:41' },
        counts: { lines: 8 },
        bytes: 10,
        sha256,
        codeVersion: '1',
        withdrawnAt: null,
        withdrawReason: null,
        runs: [{ id: run }],
        policies: [3, 4].map((version) => ({ id: 'linear', version })),
        examples: {
          totalCount: 4,
          nodes: trees.flatMap(({ treeId, good, bad, revision }, i) => [
            {
              line: 1 + 4 * i,
              lines: 2,
              kind: 'good',
              tree: { id: treeId },
              trajectory: { id: good, return: 1 },
              badTrajectory: null,
              revision: null,
            },
            {
              line: 3 + 4 * i,
              lines: 2,
              kind: 'revision',
              tree: { id: treeId },
              trajectory: { id: good, return: 1 },
              badTrajectory: { id: bad, return: 0 },
              revision: { id: revision, state: 'composed' },
            },
          ]),
        },
      },
    });
  });

  test('a release lists its trees, trajectories and revisions page by page; one without recorded sources lists none', async () => {
    const page = (what: string) => `${what}(first: 1) { totalCount pageInfo { hasNextPage } }`;
    const query = `query ($id: ID!) { dataset(id: $id) { ${['trees', 'trajectories', 'revisions', 'examples'].map(page).join(' ')} } }`;
    const of = (trees: number, trajectories: number, revisions: number, examples: number) => ({
      dataset: Object.fromEntries(
        Object.entries({ trees, trajectories, revisions, examples }).map(([name, totalCount]) => [
          name,
          { totalCount, pageInfo: { hasNextPage: totalCount > 1 } },
        ]),
      ),
    });
    expect(await data(query, { id: both })).toEqual(of(2, 4, 2, 4));
    expect(await data(query, { id: goodOnly })).toEqual(of(2, 2, 0, 2));
    expect(await data(query, { id: bare })).toEqual(of(0, 0, 0, 0));
  });

  test('a release links to the policies trained on it, and they link back to it', async () => {
    const query =
      'query ($id: ID!) { dataset(id: $id) { evaluations { run { id } policy { version } trained { datasets { id } } } } }';
    const trained = { run: { id: evaluated }, policy: { version: 5 }, trained: { datasets: [{ id: both }, { id: goodOnly }] } };
    expect(await data(query, { id: goodOnly })).toEqual({ dataset: { evaluations: [trained] } });
    expect(await data(query, { id: bare })).toEqual({ dataset: { evaluations: [] } });
  });

  test('a release finds the lines that a tree or a revision went into', async () => {
    const query =
      'query ($id: ID!, $filter: DatasetExampleFilter) { dataset(id: $id) { examples(filter: $filter) { nodes { line } } } }';
    const lines = async (filter: object) =>
      (await data(query, { id: both, filter })).dataset.examples.nodes.map(({ line }: { line: number }) => line);
    const [, second] = trees;
    expect(await lines({ tree: second?.treeId })).toEqual([5, 7]);
    expect(await lines({ revision: second?.revision })).toEqual([7]);
    expect(await lines({ kind: 'good' })).toEqual([1, 5]);
  });

  test('an unknown release is null', async () => {
    expect(await data('query ($id: ID!) { dataset(id: $id) { id } }', { id: builder.id('nobody') })).toEqual({ dataset: null });
  });
});

describe('the list of releases', () => {
  const list = 'datasets { totalCount nodes { name version withdrawReason } }';
  const named = (...names: string[]) => names.map((name) => expect.objectContaining(nameOf(name)));
  const nameOf = (text: string) => ({ name: text.split('@')[0], version: Number(text.split('@')[1]) });

  test('a tree, a trajectory, a revision and a run list the releases that hold them, withdrawn ones included', async () => {
    const query = `query ($tree: ID!, $good: ID!, $bad: ID!, $revision: ID!, $run: ID!) {
      tree(id: $tree) { ${list} } good: trajectory(rollout: $good) { ${list} } bad: trajectory(rollout: $bad) { ${list} }
      revision(id: $revision) { ${list} } run(id: $run) { ${list} } }`;
    const [first] = trees;
    const got = await data(query, { tree: first?.treeId, good: first?.good, bad: first?.bad, revision: first?.revision, run });
    const of = (...names: string[]) => ({ datasets: { totalCount: names.length, nodes: named(...names) } });
    expect(got).toEqual({
      tree: of('mined@1', 'mined@2'),
      good: of('mined@1', 'mined@2'),
      bad: of('mined@1'),
      revision: of('mined@1'),
      run: of('mined@1', 'mined@2', 'older@1'),
    });
    expect(got.tree.datasets.nodes[1].withdrawReason).toBe('a leak');
  });

  test('releases are listed newest first and filtered by what they are and what they were made of', async () => {
    const query = `query ($filter: DatasetFilter) { datasets(filter: $filter) { nodes { name version } } }`;
    const of = async (filter: object) => (await data(query, { filter })).datasets.nodes;
    expect(await of({})).toEqual(['older@1', 'mined@2', 'mined@1'].map(nameOf));
    expect(await of({ name: 'mined', withdrawn: false })).toEqual(['mined@1'].map(nameOf));
    expect(await of({ format: 'dpo' })).toEqual([]);
    expect(await of({ revision: trees[0]?.revision })).toEqual(['mined@1'].map(nameOf));
    expect(await of({ rollout: trees[1]?.bad, tree: trees[1]?.treeId })).toEqual(['mined@1'].map(nameOf));
    expect(await of({ rollout: trees[1]?.bad, tree: trees[0]?.treeId })).toEqual([]); // a rollout is one of its tree
    const wrong = await api.ask(query, { filter: { tree: 'x' } });
    expect(wrong.errors?.[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', argument: 'filter.tree' });
  });

  test('pages of releases have neither gaps nor repetitions, forwards and backwards', async () => {
    const query = `query ($first: Int, $after: String, $last: Int, $before: String) {
      datasets(first: $first, after: $after, last: $last, before: $before) { nodes { id } pageInfo { hasNextPage startCursor endCursor } } }`;
    const ids: string[] = [];
    let after: string | null = null;
    for (let more = true; more; ) {
      const page = (await data(query, { first: 1, after })) as { datasets: Page }; // as the query asks
      const { nodes, pageInfo } = page.datasets;
      ids.push(...nodes.map(({ id }) => id));
      more = pageInfo.hasNextPage;
      after = pageInfo.endCursor;
    }
    expect(ids).toEqual([bare, goodOnly, both]);
    const back = (await data(query, { last: 2, before: after })).datasets.nodes;
    expect(back).toEqual([bare, goodOnly].map((id) => ({ id })));
  });

  test('a query of releases takes one statement per level, however many releases there are', async () => {
    const statements = async (query: string) => {
      api.statements();
      await data(query);
      return api.statements().length;
    };
    const queries = [
      'datasets(orderBy: RELEASED_ASC, first: FIRST) { nodes { runs { name } policies { version } evaluations { trained { datasets { name } } } examples(first: 3) { totalCount nodes { tree { id } trajectory { return } badTrajectory { return } revision { state } } } trees(first: 2) { nodes { id } } } }',
      'trees(first: FIRST) { nodes { datasets(first: 2) { totalCount nodes { name } } } }',
      'trajectories(first: FIRST) { nodes { datasets(first: 2) { nodes { name } } } }',
    ];
    for (const query of queries) {
      const few = await statements(`{ ${query.replace('FIRST', '1')} }`);
      expect(await statements(`{ ${query.replace('FIRST', '3')} }`)).toBe(few);
    }
  });

  test('nested lists of releases cost what they may hold, and too dear a query is refused before anything is read', async () => {
    api.statements();
    const answer = await api.ask(
      '{ datasets(first: 500) { nodes { examples(first: 500) { nodes { tree { steps { id } } } } } } }',
    );
    expect(answer.errors?.[0]?.message).toMatch(/the limit "cost" is \d+, and this is/);
    expect(api.statements()).toEqual([]);
  });
});

describe('the text of a line', () => {
  test('a line of a release is found by its number, and its text is made again, cut where it is long', async () => {
    const query = `query ($id: ID!, $line: Int!, $characters: Int!) { dataset(id: $id) { examples(filter: { line: $line }) {
      nodes { line text(characters: $characters) { text length } } } } }`;
    const written = builder.id('dataset', 'written');
    const later = new EventBuilder('a release with texts');
    const [{ treeId, good }] = trees as [(typeof trees)[0]];
    const source = { kind: 'good' as const, treeId, goodRolloutId: good, badRolloutId: null, revisionId: null };
    const parameters = {
      data: 'good',
      thresholds: { alpha: 0.5, beta: 0.2 },
      state: 'composed',
      metadata: 'omit',
      span: 'reply',
    };
    const made = {
      format: 'xtuner',
      formatVersion: ROW_FORMAT_VERSIONS.xtuner,
      query: { runs: [run] },
      parameters,
      position: {},
      counts: {},
      bytes: 10,
    };
    const release = { datasetId: written, name: 'written', version: 1, ...made, codeVersion: '1', sha256, runs: [run] };
    later.record('DatasetReleased', release, written);
    const examples = [{ ...source, line: 1, lines: 1 }];
    later.record('DatasetSourced', { datasetId: written, sha256, part: 0, examples }, written);
    later.record('DatasetWithdrawn', { datasetId: written, reason: 'only for its texts' }, written);
    await givenEvents(api.database.db, later.events);
    const [{ text }] = (await data(query, { id: written, line: 1, characters: 100_000 })).dataset.examples.nodes;
    expect(JSON.parse(text.text)).toEqual({
      conversation: [expect.objectContaining({ output: expect.stringMatching(/^Thought: step 1/), output_with_loss: false })],
    });
    expect(text.length).toBe(text.text.length);
    const [cut] = (await data(query, { id: written, line: 1, characters: 10 })).dataset.examples.nodes;
    expect(cut.text).toEqual({ text: text.text.slice(0, 10), length: text.length });
    expect((await data(query, { id: written, line: 2, characters: 10 })).dataset.examples.nodes).toEqual([]);
    const codes = [];
    for (const given of [
      { id: both, characters: 10 },
      { id: written, characters: 100_001 },
    ])
      codes.push((await api.ask(query, { ...given, line: 1 })).errors?.[0]?.extensions?.code);
    expect(codes).toEqual(['CONFLICT', 'BAD_USER_INPUT']);
  });
});
