import { expect, test } from '@jest/globals';
import type { DataOf, EventType } from '../events/catalogue.ts';
import { partitionForKey } from '../log/partition-for-key.ts';
import { rowsWhere } from '../postgres/rows-where.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { everyEvent } from '../testing/every-event.ts';
import { foldEachAlone, foldedState, partitionsOf } from '../testing/partitions.ts';
import { emptyReadModels } from '../testing/read-models.ts';
import { recordHistory, recordRenderSpec } from '../testing/record-images.ts';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { AmbiguousId } from './ambiguous-id.ts';
import { readChosenSteps } from './analysis/choose-steps.ts';
import { STEP_ORDERINGS } from './analysis/step-query.ts';
import { locateSubjects } from './annotations/locate-subjects.ts';
import { seedOf } from './lineage/recall-seeds.ts';
import { readTouched } from './lineage/recall-touched.ts';
import { findRevision, findStep } from './lineage/trace-trees.ts';
import { keyOf } from './of-tree.ts';
import { projections } from './registry.ts';
import { findMiscounted } from './runs/find-miscounted.ts';
import { readForkPoint } from './step-tree/read-fork-point.ts';
import { readPaths } from './step-tree/read-paths.ts';

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

function revise(builder: EventBuilder, tree: Tree, revisionId: string): void {
  const { treeId, runId, rootStepId: branchStepId } = tree;
  const leaf = builder.step(tree, null, branchStepId, 1);
  const steps = { goodLeafStepId: leaf, badLeafStepId: leaf, branchStepId, transitionStepId: leaf };
  builder.record('RevisionComposed', { ...dataOf('RevisionComposed'), ...steps, revisionId, treeId }, runId);
  builder.record('RevisionVerified', { ...dataOf('RevisionVerified'), revisionId, treeId }, runId);
}

type Say = (builder: EventBuilder, tree: Tree, id: string) => void;

const rollsOut: Say = (builder, tree, rolloutId) => {
  builder.rollout(tree, 0, { rolloutId });
  builder.finishRollout(tree, rolloutId, tree.rootStepId, { steps: 0 });
};

/** A step with a reward, at which a rollout ends, and a step below it. */
const steps: Say = (builder, tree, stepId) => {
  const rolloutId = builder.rollout(tree, 0);
  builder.step(tree, rolloutId, tree.rootStepId, 1, { stepId });
  builder.step(tree, null, stepId, 2);
  builder.reward(tree, stepId, 1);
  builder.finishRollout(tree, rolloutId, stepId, { steps: 1 });
};

const rewarded: Say = (builder, tree, rewardId) => {
  const rolloutId = builder.rollout(tree, 0);
  builder.finishRollout(tree, rolloutId, tree.rootStepId, { steps: 0 });
  const { treeId, runId } = tree;
  const reward = { ...dataOf('RewardAssigned'), rewardId, treeId, stepId: null, rolloutId };
  builder.record('RewardAssigned', reward, runId);
  builder.record('RewardRevised', { ...dataOf('RewardRevised'), rewardId, treeId }, runId);
};

const shownHistory: Say = (builder, tree, stepId) => {
  const renderSpecId = recordRenderSpec(builder, tree.runId);
  recordHistory(builder, tree, { stepId, renderSpecId, segments: [] });
};

const SHARED = [
  { what: 'step', name: 'step-tree', table: 'steps', say: steps },
  { what: 'rollout', name: 'step-tree', table: 'rollouts', say: rollsOut },
  { what: 'step of a return', name: 'rewards', table: 'rewardEdges', say: steps },
  { what: 'rollout with a return', name: 'rewards', table: 'returns', say: rollsOut },
  { what: 'reward', name: 'rewards', table: 'rewards', say: rewarded },
  { what: 'later judgement', name: 'rewards', table: 'rewardRevisions', say: rewarded },
  { what: 'training sample', name: 'training-pool', table: 'samples', say: rollsOut },
  { what: 'step of a training sample', name: 'training-pool', table: 'sampleSteps', say: steps },
  { what: 'reward of a training sample', name: 'training-pool', table: 'sampleRewards', say: rewarded },
  { what: 'history of a step', name: 'images', table: 'historyImages', say: shownHistory },
  {
    what: 'prompt',
    name: 'prompts',
    table: 'prompts',
    say: (builder: EventBuilder, { treeId, runId }: Tree, stepId: string) =>
      builder.record('PromptShown', { ...dataOf('PromptShown'), treeId, stepId, base: null, tokens: null }, runId),
  },
  {
    what: 'picture of a step',
    name: 'pictures',
    table: 'pictures',
    say: (builder: EventBuilder, tree: Tree, stepId: string) => {
      const painted = everyEvent().flatMap(({ type, data }) => (type === 'StepTaken' ? (data.pictures ?? []) : []));
      if (painted.length === 0) throw new Error('a step among every event shows a picture');
      builder.step(tree, null, tree.rootStepId, 1, { stepId, pictures: painted.slice(0, 1) });
    },
  },
  { what: 'revision', name: 'step-tree', table: 'revisions', say: revise },
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
    expect(await treesIn(table)).toEqual(trees.map(({ treeId }) => treeId).sort());
    expect(await database.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
    expect(await findMiscounted(database.db)).toEqual([]);
    await emptyReadModels(database.db);
    await foldEachAlone(database.db, folded, [...partitions].reverse());
    expect(await foldedState(database.db)).toEqual(forwards);
  },
);

test('a replay is of its run, whatever another run says under its id and whichever partition comes first', async () => {
  const { trees, partitions } = record((builder, { runId }, replayId) =>
    builder.record('ReplayFinished', { ...dataOf('ReplayFinished'), runId, replayId }, runId),
  );
  const folded = projections.filter(({ name }) => name === 'replays');
  await foldEachAlone(database.db, folded, partitions);
  const forwards = await foldedState(database.db);
  const rows = await database.db.selectFrom('replays').select('runId').execute();
  expect(rows.map(({ runId }) => runId).sort()).toEqual(trees.map(({ runId }) => runId).sort());
  await emptyReadModels(database.db);
  await foldEachAlone(database.db, folded, [...partitions].reverse());
  expect(await foldedState(database.db)).toEqual(forwards);
});

/** The trees of the rows of a table that have what is shared: of those two all, or of the two steps of each the one. */
async function treesIn(table: (typeof SHARED)[number]['table']): Promise<readonly string[]> {
  const shared = new EventBuilder('shared').id('of two trees');
  const column = { steps: 'stepId', rewardEdges: 'stepId', sampleSteps: 'stepId' }[table as string];
  const rows = await rowsWhere(database.db, table, column === undefined ? {} : { [column]: shared }, ['treeId']);
  return rows.map(({ treeId }) => treeId).sort();
}

test('what asks for something by an id that two trees gave it is told that the id is ambiguous, and in which trees it is', async () => {
  const all = projections.filter(({ name }) => ['step-tree', 'rewards'].includes(name));
  const { id, trees, partitions } = record((builder, tree, shared) => {
    steps(builder, tree, shared);
    revise(builder, tree, shared);
  });
  await foldEachAlone(database.db, all, partitions);
  const { db } = database;
  const named = trees.map(({ treeId }) => treeId).sort();
  const ambiguous = (kind: string) =>
    `${kind} ${id} is ambiguous: the trees ${named.join(', ')} have one each; name the tree that is meant`;
  const subject = { kind: 'revision', revisionId: id } as const;
  await expect(findRevision(db, id, null)).rejects.toThrow(AmbiguousId);
  await expect(findStep(db, id, null)).rejects.toThrow(ambiguous('step'));
  await expect(readForkPoint(db, id, null)).rejects.toThrow(ambiguous('step'));
  await expect(seedOf(db, { kind: 'step', stepId: id })).rejects.toThrow(ambiguous('step'));
  await expect(locateSubjects(db, [{ subject, inTree: null }])).rejects.toThrow(ambiguous('revision'));
  for (const { treeId, runId } of trees) {
    expect((await findRevision(db, id, treeId))?.madeBy?.streams).toEqual((await findStep(db, id, treeId))?.madeBy?.streams);
    expect(await readForkPoint(db, id, treeId)).toMatchObject({ treeId, runId });
    expect(await locateSubjects(db, [{ subject, inTree: treeId }])).toEqual(new Map([[0, { treeId, runId }]]));
    const { trees: touched } = await readTouched(db, await seedOf(db, { kind: 'step', stepId: id, treeId }));
    expect(touched).toBe(1);
  }
  expect(await findStep(db, id, id)).toBeNull();
});

test('paths, returns and pages of steps keep to the tree where two have one id', async () => {
  const { id, trees, partitions } = record(steps);
  await foldEachAlone(
    database.db,
    projections.filter(({ name }) => ['step-tree', 'rewards'].includes(name)),
    partitions,
  );
  const { db } = database;
  const leaves = trees.map(({ treeId }) => ({ treeId, id }));
  const paths = await readPaths(db, leaves);
  expect(leaves.map((leaf) => paths.get(keyOf(leaf)))).toEqual(trees.map(({ rootStepId }) => [rootStepId, id]));
  const trajectories = await db.selectFrom('returns').select(['treeId', 'value']).orderBy('treeId').execute();
  expect(trajectories.map(({ value }) => value)).toEqual([1, 1]);
  const page = { limit: 1, towards: 'forwards', after: null, before: null } as const;
  const seen: string[] = [];
  for (let after: string | null = null; ; ) {
    const { rows, hasNext } = await readChosenSteps(db, { depthFrom: 1, depthUntil: 2 }, STEP_ORDERINGS.TAKEN_ASC, {
      ...page,
      after,
    });
    for (const { row } of rows) seen.push(row.treeId);
    after = rows.at(-1)?.cursor ?? null;
    if (!hasNext) break;
  }
  expect(seen.sort()).toEqual(trees.map(({ treeId }) => treeId).sort());
});
