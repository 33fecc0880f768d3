import { expect, test } from '@jest/globals';
import { catalogue, type DataOf, type EventType } from '../events/catalogue.ts';
import { derivedId } from '../events/derived-id.ts';
import { entityOf } from '../events/entity-of.ts';
import type { Envelope } from '../events/envelope.ts';
import { manifestHashOf } from '../events/manifest-hash.ts';
import { streamOf } from '../events/stream-of.ts';
import { partitionForKey } from '../log/partition-for-key.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { everyEvent } from '../testing/every-event.ts';
import { foldEachAlone, type Partition, partitionsOf } from '../testing/partitions.ts';
import { emptyReadModels, readModels } from '../testing/read-models.ts';
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

/** A step with a reward, at which a rollout ends, and a step below it. */
const steps: Say = (builder, tree, stepId) => {
  const rolloutId = builder.rollout(tree, 0);
  builder.step(tree, rolloutId, tree.rootStepId, 1, { stepId });
  builder.step(tree, null, stepId, 2);
  builder.reward(tree, stepId, 1);
  builder.finishRollout(tree, rolloutId, stepId, { steps: 1 });
};

/** Events of every type, whose streams lie in one partition of two: their ids are those of every world, the streams' are its own. */
function worldIn(partition: number): readonly Envelope[] {
  const every = everyEvent();
  const policyId = every.flatMap(({ type, data }) => (type === 'TrainingDeclared' ? [data.policyId] : []))[0] ?? '';
  const lineageId = every.find(({ type }) => type === 'TrainingDeclared')?.stream ?? '';
  const own = new Map<string, string>();
  const inPartition = (ids: (n: number) => string): number => {
    let n = 0;
    while (partitionForKey(ids(n), PARTITIONS) !== partition) n += 1;
    return n;
  };
  const policyOf = (n: number) => `${policyId} of ${partition} ${n}`;
  const policy = policyOf(inPartition((n) => derivedId('lineage', policyOf(n))));
  own.set(lineageId, derivedId('lineage', policy));
  const named = new Set(
    every.flatMap(({ type, data }) => [streamOf(type, data) ?? '', ...('runId' in data ? [data.runId] : [])]),
  );
  for (const stream of named) {
    const idOf = (n: number) => derivedId('test', stream, partition, n);
    if (!own.has(stream)) own.set(stream, idOf(inPartition(idOf)));
  }
  return every.flatMap((event): Envelope[] => {
    if (event.type === 'SegmentRendered') return partitionForKey(event.stream, PARTITIONS) === partition ? [event] : []; // named by its content
    const text = JSON.stringify(event)
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => own.get(id) ?? id)
      .replaceAll(policyId, policy);
    return [inLineage(JSON.parse(text) as Envelope)]; // the same with other ids of streams
  });
}

/** What batches of a lineage are named and digested by follows from it; what was shown before is left out, as no other event says it. */
function inLineage(event: Envelope): Envelope {
  if (event.type === 'PromptShown') return { ...event, data: { ...event.data, base: null, tokens: null } };
  if (event.type === 'HistoryRendered') return { ...event, data: { ...event.data, prefix: null } };
  if (!('lineageId' in event.data)) return event;
  const batchId = derivedId('batch', event.data.lineageId, 0);
  if (event.type !== 'BatchPlanned') {
    const data = 'batchId' in event.data && event.data.batchId !== null ? { ...event.data, batchId } : event.data;
    return { ...event, data } as Envelope; // of its type
  }
  const groups = event.data.groups.map((group) => ({ ...group, rolloutIds: group.rolloutIds.slice(1) })); // the first is rejected
  const planned = { ...event.data, batchId, ordinal: 0, groups, samples: 1, shards: [[0]], previousHash: null };
  return { ...event, data: { ...planned, manifestHash: manifestHashOf(planned) } };
}

test('of every type of the catalogue: two streams that give something one id keep it each, whichever partition comes first, and what the read models hold of both is what they hold of either', async () => {
  const worlds = Array.from({ length: PARTITIONS }, (_, partition) => worldIn(partition));
  const [one = [], other = []] = worlds;
  const ids = (events: readonly Envelope[], type: EventType) =>
    events.flatMap((event) => (event.type === type ? [entityOf(event)?.id ?? event.id] : []));
  const shared = (Object.keys(catalogue) as EventType[]).filter((type) => {
    const { stream, entity } = catalogue[type];
    return entity !== stream && !IN_LINEAGE.has(type);
  });
  for (const type of shared) expect({ type, ids: ids(one, type) }).toEqual({ type, ids: ids(other, type) });
  const folded = async (partitions: readonly Partition[]) => {
    await emptyReadModels(database.db);
    await foldEachAlone(database.db, projections, partitions);
    return { ...(await readModels(database.db)), waiting: await waitingRows() };
  };
  const both = partitionsOf(PARTITIONS, worlds.flat());
  const held = await folded(both);
  const empty = Object.entries(held).flatMap(([table, rows]) => (rows.length === 0 ? [table] : []));
  expect(empty.sort()).toEqual(WITHOUT_ROWS);
  expect(await findMiscounted(database.db)).toEqual([]);
  expect(await folded([...both].reverse())).toEqual(held);
  const alone: Readonly<Record<string, readonly string[]>>[] = [];
  for (const events of worlds) alone.push(await folded(partitionsOf(PARTITIONS, events)));
  for (const [table, rows] of Object.entries(held)) {
    const either = new Set(alone.flatMap((models) => models[table] ?? []));
    expect({ table, rows: [...rows].sort() }).toEqual({ table, rows: [...either].sort() });
  }
});

/** Read models of what is named by its content, or of what no event among every event brings in a tree of its own. */
const WITHOUT_ROWS = [
  ...['anomalies', 'batch_abandonments', 'experiment_plans', 'render_specs', 'requeued_records', 'run_recorders'],
  ...['run_render_specs', 'segments'],
];

/** Types whose entity is named by the lineage and a number. */
const IN_LINEAGE: ReadonlySet<EventType> = new Set<EventType>(['BatchPlanned', 'BatchAcked', 'BatchAbandoned', 'SampleRejected']);

async function waitingRows(): Promise<string[]> {
  const rows = await database.db.selectFrom('quarantine').selectAll().execute();
  return rows
    .map(
      ({ projection, topic, partition, offset, code, field }) => `${projection} ${topic}.${partition}:${offset} ${code} ${field}`,
    )
    .sort();
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
