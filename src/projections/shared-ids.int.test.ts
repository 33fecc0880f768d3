import { expect, test } from '@jest/globals';
import type { DataOf, EventType } from '../events/catalogue.ts';
import { partitionForKey } from '../log/partition-for-key.ts';
import { rowsWhere } from '../postgres/rows-where.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { everyEvent } from '../testing/every-event.ts';
import { foldEachAlone, foldedState, partitionsOf } from '../testing/partitions.ts';
import { emptyReadModels } from '../testing/read-models.ts';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { AmbiguousId } from './ambiguous-id.ts';
import { locateSubjects } from './annotations/locate-subjects.ts';
import { findRevision } from './lineage/trace-trees.ts';
import { projections } from './registry.ts';

const PARTITIONS = 2;
const database = useTestDatabase({ emptied: 'before-each' });

type Tree = ReturnType<EventBuilder['tree']>;

/** Trees of two runs, in a partition each, and what either says of one id. */
function record(say: (builder: EventBuilder, tree: Tree, id: string) => void) {
  const id = new EventBuilder('shared').id('of two trees');
  const trees: Tree[] = [];
  const events = [0, 1].flatMap((partition) => {
    const builder = new EventBuilder(`run of ${partition}`);
    const runId = builder.run();
    const all = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => builder.tree(runId, name));
    const tree = all.find(({ treeId }) => partitionForKey(treeId, PARTITIONS) === partition);
    if (!tree) throw new Error(`no tree lies in partition ${partition}`);
    trees.push(tree);
    say(builder, tree, id);
    return builder.events;
  });
  return { id, trees, partitions: partitionsOf(PARTITIONS, events) };
}

function dataOf<T extends EventType>(type: T): DataOf<T> {
  const event = everyEvent().find((each) => each.type === type);
  if (!event) throw new Error(`no ${type} among every event`);
  return event.data as DataOf<T>; // of that type
}

function revise(builder: EventBuilder, { treeId, runId }: Tree, revisionId: string): void {
  builder.record('RevisionComposed', { ...dataOf('RevisionComposed'), revisionId, treeId }, runId);
  builder.record('RevisionVerified', { ...dataOf('RevisionVerified'), revisionId, treeId }, runId);
}

const SHARED = [
  { what: 'revision', name: 'revisions', table: 'revisions', say: revise },
  {
    what: 'call of a tool',
    name: 'step-tree',
    table: 'toolCalls',
    say: (builder: EventBuilder, { treeId, runId, rootStepId: stepId }: Tree, toolCallId: string) =>
      builder.record('ToolCalled', { ...dataOf('ToolCalled'), toolCallId, treeId, stepId }, runId),
  },
  {
    what: 'step that a search visits',
    name: 'search-statistics',
    table: 'nodeStatistics',
    say: (builder: EventBuilder, { treeId, runId }: Tree, stepId: string) => {
      for (const value of [0.25, 0.5])
        builder.record('ValueBackedUp', { treeId, simulation: 0, leafStepId: stepId, value, path: [stepId] }, runId);
    },
  },
  {
    what: 'span',
    name: 'held-spans',
    table: 'heldSpans',
    say: (builder: EventBuilder, { treeId, runId }: Tree, spanId: string) => {
      builder.record('SpanReceived', { ...dataOf('SpanReceived'), spanId, treeId, endsRollout: false }, runId);
      builder.record('CallCaptured', { ...dataOf('CallCaptured'), callId: spanId, treeId, source: 'trace' }, runId);
    },
  },
] as const;

test.each(SHARED)(
  'a $what is of its tree, whatever another tree says under its id and whichever partition comes first',
  async ({ name, table, say }) => {
    const { trees, partitions } = record(say);
    const folded = projections.filter((projection) => projection.name === name);
    await foldEachAlone(database.db, folded, partitions);
    const forwards = await foldedState(database.db);
    expect((await rowsWhere(database.db, table, {}, ['treeId'])).map(({ treeId }) => treeId).sort()).toEqual(
      trees.map(({ treeId }) => treeId).sort(),
    );
    await emptyReadModels(database.db);
    await foldEachAlone(database.db, folded, [...partitions].reverse());
    expect(await foldedState(database.db)).toEqual(forwards);
  },
);

test('what asks for something by an id that two trees gave it is told that the id is ambiguous', async () => {
  const { id, partitions } = record(revise);
  const folded = projections.filter(({ name }) => name === 'revisions' || name === 'step-tree');
  await foldEachAlone(database.db, folded, partitions);
  await expect(findRevision(database.db, id)).rejects.toThrow(AmbiguousId);
  await expect(locateSubjects(database.db, [{ kind: 'revision', revisionId: id }])).rejects.toThrow(
    `revision ${id} is ambiguous: several trees have one; name it through its tree`,
  );
});
