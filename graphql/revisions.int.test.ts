import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { DataOf } from '../src/events/catalogue.ts';
import type { Envelope } from '../src/events/envelope.ts';
import { pack } from '../src/events/packed.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { recordRevision } from '../src/testing/record-revision.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

let api: TestGraphql;
const builder = new EventBuilder('graphql revisions');
const judge = { name: 'planner', revision: '1' };
let run: string;
let tree: ReturnType<EventBuilder['tree']>;
let good: readonly string[];
let bad: readonly string[];
const revisionId = builder.id('revision', 0);

/** A rollout whose texts are named by letters. */
function walk(ordinal: number, letters: string, value: number): readonly string[] {
  const rolloutId = builder.rollout(tree, ordinal);
  const steps: string[] = [];
  for (const [i, letter] of [...letters].entries()) {
    const termination = i === letters.length - 1 ? 'terminated' : 'none';
    const words = { response: `Thought: ${letter}.\nAction: ${letter}`, action: letter, observation: `saw ${letter}` };
    // the last of them was shown
    const mask = {
      ids: pack('int32', [1, 2, 3]),
      logProbs: null,
      mask: pack('uint8', [1, 1, 0]),
      ends: pack('int32', [8, 21, 21]),
    };
    steps.push(
      builder.step(tree, rolloutId, steps.at(-1) ?? tree.rootStepId, i + 1, {
        ...words,
        termination,
        ...(letter === 'y' ? {} : { tokens: mask }),
      }),
    );
  }
  const leaf = steps.at(-1) ?? tree.rootStepId;
  builder.reward(tree, leaf, value, { rolloutId });
  builder.finishRollout(tree, rolloutId, leaf, { steps: letters.length, success: value >= 1 });
  return steps;
}

beforeAll(async () => {
  api = await openTestGraphql();
  run = builder.run();
  tree = builder.tree(run);
  good = walk(0, 'abc', 1);
  bad = walk(1, 'axyz', 0);
  const { treeId } = tree;
  const [first = '', second = '', , leafStepId = ''] = bad;
  const recorded = { treeId, leafStepId, judge };
  const of = (index: number, verdict: 'good' | 'bad', stepId: string): DataOf<'StepJudged'> => ({
    ...recorded,
    index,
    verdict,
    stepId,
    reply: `reply ${index}`,
    promptHash: `${index}`.repeat(64),
  });
  builder.record('StepJudged', of(0, 'good', first), run);
  builder.record('StepJudged', of(1, 'bad', second), run);
  builder.record('StepJudged', { ...of(0, 'bad', first), judge: { name: 'other', revision: '1' } }, run);
  const composed: DataOf<'RevisionComposed'> = {
    revisionId,
    treeId,
    goodLeafStepId: good.at(-1) ?? '',
    badLeafStepId: leafStepId,
    branchStepId: first,
    transitionStepId: second,
    transitionCause: 'bad',
    judged: 2,
    reflection: 'I erred.',
    signal: 'thought',
    alpha: 0.5,
    beta: 0.25,
    judge,
    contentHash: 'c'.repeat(64),
  };
  builder.record('RevisionComposed', composed, run);
  builder.record('RevisionVerified', { revisionId, treeId, reached: 1, threshold: 0.5 }, run);
  for (let i = 1; i < 5; i++) builder.record('RevisionComposed', { ...composed, revisionId: builder.id('revision', i) }, run);
  const detail = 'the environment answered "no"';
  const stepId = good[1] ?? null;
  builder.record(
    'RevisionRejected',
    { revisionId: builder.id('revision', 1), treeId, reason: 'impossible', reached: null, stepId, detail },
    run,
  );
  await givenEvents(api.database.db, builder.events);
});
afterAll(() => api.close());

async function data(query: string, variables = {}) {
  const answer = await api.ask(query, variables);
  expect(answer.errors).toBeUndefined();
  return answer.data;
}

describe('one revision', () => {
  test('a revision shows its parents, the judgements of the bad one and the resulting turns', async () => {
    const query = `query ($id: ID!) { revision(id: $id) {
      state cause judged reflection signal alpha beta judge contentHash reached threshold reason detail checkedAt
      tree { id } runId goodLeaf { path { action } } badLeaf { path { action } } branch { action } transition { action }
      judgements { index verdict reply judge reusedFrom step { action } }
      turns { part response observation loss stepId } } }`;
    expect(await data(query, { id: revisionId })).toEqual({
      revision: {
        state: 'verified',
        cause: 'bad',
        judged: 2,
        reflection: 'I erred.',
        signal: 'thought',
        alpha: 0.5,
        beta: 0.25,
        judge: 'planner@1',
        contentHash: 'c'.repeat(64),
        reached: 1,
        threshold: 0.5,
        reason: null,
        detail: null,
        checkedAt: expect.any(String),
        tree: { id: tree.treeId },
        runId: run,
        goodLeaf: { path: ['', 'a', 'b', 'c'].map((action) => ({ action })) },
        badLeaf: { path: ['', 'a', 'x', 'y', 'z'].map((action) => ({ action })) },
        branch: { action: 'a' },
        transition: { action: 'x' },
        judgements: [
          { index: 0, verdict: 'good', reply: 'reply 0', judge: 'planner@1', reusedFrom: null, step: { action: 'a' } },
          { index: 1, verdict: 'bad', reply: 'reply 1', judge: 'planner@1', reusedFrom: null, step: { action: 'x' } },
        ],
        turns: [
          turn('bad', 'a', bad[0], false),
          turn('bad', 'x', bad[1], false),
          { ...turn('signal', 'b', good[1], true), response: 'Thought: I erred. b.\nAction: b' },
          turn('good', 'c', good[2], true),
        ],
      },
    });
  });

  test('the turns of a revision have the tokens of the steps that they repeat, and of others those of a tokenizer that is known', async () => {
    const query = 'query ($id: ID!) { revision(id: $id) { turns { loss response responseTokens observationTokens } } }';
    const recorded = (letter: string) => ['Thought:', ` ${letter}.\nAction: ${letter}`];
    const tokensIn = ({ revision }: { revision: { turns: readonly Record<string, unknown>[] } }) =>
      revision.turns.map(({ loss, responseTokens, observationTokens }) => [loss, responseTokens, observationTokens]);
    expect(tokensIn(await data(query, { id: revisionId }))).toEqual([
      [false, recorded('a'), null],
      [false, recorded('x'), null],
      [true, null, null], // the reflection was put into it: nobody sampled that
      [true, recorded('c'), null],
    ]);
    const words = { texts: () => [], split: (text: string) => text.split(/(?= )/) };
    const knowing = await api.create({ tokenizers: async (names) => (names.includes('random') ? words : null) });
    const { data: found } = await knowing.ask(query, { id: revisionId });
    expect(tokensIn(found)).toEqual([
      [false, recorded('a'), ['saw', ' a']],
      [false, recorded('x'), ['saw', ' x']],
      [true, ['Thought:', ' I', ' erred.', ' b.\nAction:', ' b'], ['saw', ' b']],
      [true, recorded('c'), ['saw', ' c']],
    ]);
  });

  function turn(part: string, letter: string, stepId: string | undefined, loss: boolean) {
    return { part, response: `Thought: ${letter}.\nAction: ${letter}`, observation: `saw ${letter}`, loss, stepId };
  }

  test('a rejected revision shows why and where it was rejected', async () => {
    const query = 'query ($id: ID!) { revision(id: $id) { state reason detail reached rejectedAt { action } } }';
    expect(await data(query, { id: builder.id('revision', 1) })).toEqual({
      revision: {
        state: 'rejected',
        reason: 'impossible',
        detail: 'the environment answered "no"',
        reached: null,
        rejectedAt: { action: 'b' },
      },
    });
  });

  test('an unknown revision is null', async () => {
    expect(await data('query ($id: ID!) { revision(id: $id) { id } }', { id: builder.id('nobody') })).toEqual({ revision: null });
  });
});

describe('lists of revisions', () => {
  test('a tree and its run list the same revisions, in the order of composition, page by page', async () => {
    const page = `{ totalCount nodes { id } pageInfo { hasNextPage endCursor } }`;
    const query = `query ($run: ID!, $tree: ID!, $after: String) {
      run(id: $run) { revisions(first: 3, after: $after) ${page} } tree(id: $tree) { revisions(first: 3, after: $after) ${page} } }`;
    const ids = [0, 1, 2, 3, 4].map((i) => ({ id: builder.id('revision', i) }));
    const ask = (after: string | null) => data(query, { run, tree: tree.treeId, after });
    const first = { totalCount: 5, nodes: ids.slice(0, 3), pageInfo: { hasNextPage: true, endCursor: expect.any(String) } };
    const got = (await ask(null)) as { run: { revisions: { pageInfo: { endCursor: string } } } }; // as the query asks
    expect(got).toEqual({ run: { revisions: first }, tree: { revisions: first } });
    const rest = { totalCount: 5, nodes: ids.slice(3), pageInfo: { hasNextPage: false, endCursor: expect.any(String) } };
    expect(await ask(got.run.revisions.pageInfo.endCursor)).toEqual({ run: { revisions: rest }, tree: { revisions: rest } });
  });

  test('revisions are filtered by state and judge', async () => {
    const query =
      'query ($run: ID!, $filter: RevisionFilter) { run(id: $run) { revisions(filter: $filter) { totalCount nodes { state } } } }';
    const of = async (filter: object) => {
      // as the query asks
      const { run: found } = (await data(query, { run, filter })) as { run: { revisions: { totalCount: number } } };
      return found.revisions.totalCount;
    };
    expect(await of({})).toBe(5);
    expect(await of({ state: 'verified' })).toBe(1);
    expect(await of({ state: 'rejected' })).toBe(1);
    expect(await of({ state: 'composed', judge: 'planner@1' })).toBe(3);
    expect(await of({ judge: 'other@1' })).toBe(0);
  });

  test('a query of revisions takes one statement per level, however many revisions there are', async () => {
    const statements = async (first: number) => {
      api.statements();
      await data(
        'query ($run: ID!, $first: Int) { run(id: $run) { revisions(first: $first) { nodes { goodLeaf { action } badLeaf { action } judgements { verdict } turns { part } } } } }',
        { run, first },
      );
      return api.statements().length;
    };
    expect(await statements(5)).toBe(await statements(1));
  });

  test('the judgements of a tree include those of every judge', async () => {
    const { treeId } = tree;
    const recorded = await data('query ($id: ID!) { tree(id: $id) { judgements { judge index verdict } } }', { id: treeId });
    expect(recorded).toEqual({
      tree: {
        judgements: [
          { judge: 'other@1', index: 0, verdict: 'bad' },
          { judge: 'planner@1', index: 0, verdict: 'good' },
          { judge: 'planner@1', index: 1, verdict: 'bad' },
        ],
      },
    });
  });
});

test('steps are chosen by what a judge said of them', async () => {
  const { good: said, bad: not } = await data(`{ good: steps(filter: { verdict: good }) { nodes { action } }
    bad: steps(filter: { verdict: bad }) { totalCount nodes { action } } }`);
  expect(said.nodes).toEqual([{ action: 'a' }]);
  expect(not.nodes.map(({ action }: { action: string }) => action).sort()).toEqual(['a', 'x']);
});

test('a revision of a tree that lacks a text, or that is not on its bad path, keeps nobody from the turns of another', async () => {
  const record = (name: string) => recordRevision('verified', new EventBuilder(`revisions ${name}`), name);
  const [whole, lacking] = [record('whole'), record('lacking')];
  const blob = 'e'.repeat(64);
  const events = lacking.builder.events.map((event) =>
    event.type === 'StepTaken' ? { ...event, data: { ...event.data, response: { blob, size: 70_000, mediaType: 't' } } } : event,
  ) as readonly Envelope[];
  const composed = whole.builder.events.find(({ type }) => type === 'RevisionComposed') as Envelope<'RevisionComposed'>;
  const { goodLeafStepId: transitionStepId, treeId } = composed.data;
  const off = whole.builder.record(
    'RevisionComposed',
    { ...composed.data, revisionId: whole.builder.id('off'), transitionStepId },
    treeId,
  );
  await givenEvents(api.database.db, [...events, ...whole.builder.events]);
  const turns = (id: string) => `revision(id: "${id}") { turns { part } }`;
  const query = `{ whole: ${turns(whole.revisionId)} lacking: ${turns(lacking.revisionId)} off: ${turns(off.data.revisionId)}
    others: ${turns(revisionId)} }`;
  const answer = await api.ask(query);
  expect(answer.data).toMatchObject({
    whole: { turns: [{}, {}, {}] },
    lacking: { turns: null },
    off: null,
    others: { turns: [{}, {}, {}, {}] },
  });
  expect(answer.errors).toMatchObject([{ path: ['lacking', 'turns'], extensions: { code: 'TEXT_MISSING' } }]);
  const page = await api.ask('{ runs(first: 5) { nodes { revisions(first: 5) { nodes { id turns { part } } } } } }');
  const nodes = (page.data.runs.nodes as readonly RunWithRevisions[]).flatMap((run) => run.revisions.nodes);
  expect(nodes.filter(({ turns }) => turns === null).map(({ id }) => id)).toEqual([lacking.revisionId]);
  expect(nodes.map(({ id }) => id)).toEqual(expect.arrayContaining([revisionId, whole.revisionId]));
  expect(page.errors).toMatchObject([{ extensions: { code: 'TEXT_MISSING' } }]);
});

interface RunWithRevisions {
  readonly revisions: { readonly nodes: readonly { readonly id: string; readonly turns: unknown }[] };
}
