import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EventBuilder } from '../../src/testing/event-builder.ts';
import { givenEvents } from '../../src/testing/given-events.ts';
import { openTestGraphql, type TestGraphql } from '../testing/open-test-graphql.ts';

const builder = new EventBuilder('annotated then');
const runId = builder.run();
const tree = builder.tree(runId);
const stepId = builder.walk(tree, 0, 2, 1).steps[0] ?? '';
const { treeId } = tree;
const before = builder.events.filter(({ type }) => !/^Run(Started|Finished)$/.test(type)).length;
const annotationId = builder.id('annotation');
const said = { label: 'bad', score: null, note: '' };
builder.record('AnnotationAdded', { annotationId, treeId, subject: { kind: 'step', stepId }, ...said }, runId);
builder.record('AnnotationRetracted', { annotationId, treeId, reason: '' }, runId);

let api: TestGraphql;
beforeAll(async () => {
  api = await openTestGraphql();
  await givenEvents(api.database.db, builder.events);
});
afterAll(() => api.close());

test.each([
  ['before it was added', 0, []],
  ['while it counted', 1, [{ label: 'bad' }]],
  ['behind its retraction', 2, []],
])('an annotation is shown %s as of then, of a step by its id and in all of the record', async (_, more, shown) => {
  const fields = `step(id: "${stepId}") { annotations { label } } annotations { nodes { label } }`;
  for (const asked of [fields.split(' annotations { nodes')[0], fields]) {
    const { data, errors } = await api.ask(`{ asOf(position: "runs.0:1,trees.0:${before + more}") { ${asked} } }`);
    expect(errors).toBeUndefined();
    expect(data.asOf.step).toEqual({ annotations: shown });
    if (asked === fields) expect(data.asOf.annotations.nodes).toEqual(shown);
  }
});
