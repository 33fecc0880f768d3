import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { localPrincipal } from '../src/postgres/principal.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { everyEvent } from '../src/testing/every-event.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { createGraphql } from './create-graphql.ts';
import { gatherPage } from './pages/gather-page.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

const builder = new EventBuilder('shared');
const id = builder.id('of two trees');
const runId = builder.run();

/** Two trees that have a rollout, its leaf, a revision and an annotation under one id. */
const trees = ['a', 'b'].map((name) => {
  const tree = builder.tree(runId, name);
  const { treeId, rootStepId } = tree;
  builder.rollout(tree, 0, { rolloutId: id });
  builder.step(tree, id, rootStepId, 1, { stepId: id, action: name });
  builder.finishRollout(tree, id, id, { steps: 1 });
  const composed = everyEvent().find(({ type }) => type === 'RevisionComposed')?.data;
  const leaves = { goodLeafStepId: id, badLeafStepId: id, branchStepId: rootStepId, transitionStepId: id };
  builder.record('RevisionComposed', { ...composed, ...leaves, revisionId: id, treeId } as never, runId); // with all its fields
  const said = { annotationId: id, treeId, subject: { kind: 'tree' }, label: name, score: null, note: '' } as const;
  builder.record('AnnotationAdded', said, runId);
  return { treeId };
});

let api: TestGraphql;
beforeAll(async () => {
  api = await openTestGraphql();
  await givenEvents(api.database.db, builder.events);
});
afterAll(() => api.close());

const ROOTS: readonly (readonly [root: string, of: (treeId: string) => string])[] = [
  ['step', (tree) => `step(id: "${id}"${tree}) { treeId }`],
  ['path', (tree) => `path(leaf: "${id}"${tree}) { treeId }`],
  ['rollout', (tree) => `rollout(id: "${id}"${tree}) { treeId }`],
  ['trajectory', (tree) => `trajectory(rollout: "${id}"${tree}) { treeId }`],
  ['revision', (tree) => `revision(id: "${id}"${tree}) { treeId }`],
  ['annotation', (tree) => `annotation(id: "${id}"${tree}) { treeId }`],
  ['trace', (tree) => `trace(id: "${id}"${tree}) { from { relation first { id } } }`],
];

test.each(ROOTS)(
  '%s of an id that two trees have is ambiguous alone, and found by its tree, now and as of a moment',
  async (_, of) => {
    const alone = await api.ask(`{ ${of('')} }`);
    expect(alone.errors?.[0]?.message).toContain('ambiguous');
    for (const { treeId } of trees)
      for (const query of [
        `{ ${of(`, tree: "${treeId}"`)} }`,
        `{ asOf(position: "runs.0:1,trees.0:${builder.events.length - 1}") { ${of(`, tree: "${treeId}"`)} } }`,
      ]) {
        const { data, errors } = await api.ask(query);
        expect(errors).toBeUndefined();
        expect(JSON.stringify(data)).toContain(treeId);
      }
    expect((await api.ask(`{ ${of(`, tree: "${runId}"`)} }`)).errors).toBeUndefined();
  },
);

test('trajectories of one id in two trees are compared, and recalled, by their trees', async () => {
  const [a = '', b = ''] = trees.map(({ treeId }) => treeId);
  const ofTrees = `{ divergence(a: "${id}", b: "${id}", aTree: "${a}", bTree: "${b}") { a { treeId } b { treeId } } }`;
  expect((await api.ask(ofTrees)).data.divergence).toEqual({ a: { treeId: a }, b: { treeId: b } });
  expect((await api.ask(`{ recall(what: { trajectory: "${id}" }) { trees } }`)).errors?.[0]?.message).toContain('ambiguous');
  expect((await api.ask(`{ recall(what: { trajectory: "${id}", tree: "${a}" }) { trees } }`)).data.recall).toEqual({ trees: 1 });
});

test('a page of a rollout whose id two trees have says that it is ambiguous, and is made of the tree that is named', async () => {
  const { database, log, blobs, notices, snapshots } = api;
  const graphql = await createGraphql({ db: database.db, log, blobs, notices, snapshots });
  const asked = { graphql, context: { principal: localPrincipal() }, signal: AbortSignal.timeout(60_000) };
  const sources = { ...asked, image: async () => undefined, source: 'test', madeAt: new Date() };
  const pageOf = (tree: string | undefined) => gatherPage(sources, { id, tree });
  await expect(pageOf(undefined)).rejects.toThrow(/ambiguous: the trees .* have one each; name one by the argument tree/);
  for (const { treeId } of trees)
    expect(await pageOf(treeId)).toMatchObject({ title: `Trajectory ${id}`, first: `/view/trajectory/${id}?tree=${treeId}` });
  expect(await pageOf(runId)).toBeNull();
});
