import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Envelope } from '../events/envelope.ts';
import { partitionForKey } from '../log/partition-for-key.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { foldEachAlone, foldedState, partitionsOf, sliceOf } from '../testing/partitions.ts';
import { emptyReadModels } from '../testing/read-models.ts';
import { recordHistory, recordRenderSpec } from '../testing/record-images.ts';
import { until } from '../testing/until.ts';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { applySlices } from './apply-slices.ts';
import { topicsOf } from './concerns.ts';
import type { Projection } from './projection.ts';
import { projections } from './registry.ts';
import { findMiscounted } from './runs/find-miscounted.ts';
import type { Slice } from './slice.ts';

const PARTITIONS = 2;
const database = useTestDatabase({ emptied: 'before-each' });

type Tree = ReturnType<EventBuilder['tree']>;

/** A run of a tree in each partition, and what either says of one id behind it. */
function record(say: (builder: EventBuilder, tree: Tree, runId: string, id: string) => void) {
  const builder = new EventBuilder('at once');
  const runId = builder.run();
  const trees = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => builder.tree(runId, name));
  recordRenderSpec(builder, runId);
  const known = builder.events.length;
  const id = builder.id('of two trees');
  for (const at of [0, 1]) {
    const tree = trees.find(({ treeId }) => partitionForKey(treeId, PARTITIONS) === at);
    if (!tree) throw new Error(`no tree lies in partition ${at}`);
    say(builder, tree, runId, id);
  }
  return { before: builder.events.slice(0, known), all: builder.events };
}

/** The slice of each partition of `trees` behind what is known. */
async function slicesBehind(before: readonly Envelope[], all: readonly Envelope[]): Promise<readonly [Slice, Slice]> {
  const of = (events: readonly Envelope[]) => partitionsOf(PARTITIONS, events).filter(({ topic }) => topic === 'trees');
  const [one, other] = await Promise.all(
    of(all).map(async (partition) => {
      const from = of(before).find((p) => p.partition === partition.partition)?.records.length ?? 0;
      return sliceOf(database.db, partition, from, partition.records.length);
    }),
  );
  if (!one || !other) throw new Error('both partitions hold events of trees');
  return [one, other];
}

async function offer(offered: readonly Projection[], slice: Slice): Promise<void> {
  await applySlices(
    database.db,
    offered.map((projection) => ({ projection, slice })),
  );
}

/** Folds both slices: the second meets what the first has written and not committed. */
async function offerAtOnce(name: string, [one, other]: readonly [Slice, Slice]): Promise<void> {
  let written: () => void = () => undefined;
  let go: () => void = () => undefined;
  const isWritten = new Promise<void>((resolve) => (written = resolve));
  const goes = new Promise<void>((resolve) => (go = resolve));
  const only = projections.filter((projection) => projection.name === name);
  const holding = only.map((projection): Projection => {
    const project: Projection['project'] = async (batch, trx) => {
      const poison = await projection.project(batch, trx);
      written();
      await goes;
      return poison;
    };
    return { ...projection, project };
  });
  const first = offer(holding, one);
  await isWritten;
  const second = offer(only, other);
  await until(waits).finally(go);
  await Promise.all([first, second]);
}

async function waits(): Promise<boolean> {
  const { rows } = await sql`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(database.db);
  return rows.length > 0;
}

const rollout = (builder: EventBuilder, tree: Tree, rolloutId: string) => {
  builder.rollout(tree, 0, { rolloutId });
  builder.finishRollout(tree, rolloutId, tree.rootStepId, { steps: 0 });
};
const TWICE = [
  {
    what: 'a history of one step',
    name: 'images',
    say: (builder: EventBuilder, tree: Tree, runId: string, stepId: string) => {
      const renderSpecId = recordRenderSpec(builder, runId);
      for (const of of [builder.id(tree.treeId), stepId])
        recordHistory(builder, tree, { stepId: of, renderSpecId, segments: [] });
    },
  },
  {
    what: 'a step',
    name: 'step-tree',
    say: (builder: EventBuilder, tree: Tree, _run: string, stepId: string) =>
      void builder.step(tree, null, tree.rootStepId, 1, { stepId }),
  },
  {
    what: 'a rollout',
    name: 'step-tree',
    say: (builder: EventBuilder, tree: Tree, _run: string, rolloutId: string) => rollout(builder, tree, rolloutId),
  },
  {
    what: 'a step that a rollout ends at',
    name: 'rewards',
    say: (builder: EventBuilder, tree: Tree, _run: string, stepId: string) => {
      const rolloutId = builder.rollout(tree, 0);
      builder.step(tree, rolloutId, tree.rootStepId, 1, { stepId });
      builder.reward(tree, stepId, 1);
      builder.finishRollout(tree, rolloutId, stepId, { steps: 1 });
    },
  },
  {
    what: 'the end of a rollout',
    name: 'rewards',
    say: (builder: EventBuilder, tree: Tree, _run: string, rolloutId: string) => rollout(builder, tree, rolloutId),
  },
];

test.each(TWICE)('$what that two trees record is counted once where two transactions fold it at once', async ({ name, say }) => {
  const { before, all } = record(say);
  const others = projections.filter((projection) => projection.name !== name);
  const fold = async (events: readonly Envelope[], by = projections) =>
    foldEachAlone(database.db, by, partitionsOf(PARTITIONS, events));
  await fold(before);
  const [one, other] = await slicesBehind(before, all);
  for (const slice of [one, other])
    await offer(
      projections.filter((p) => topicsOf(p).includes('trees')),
      slice,
    );
  const inTurn = await foldedState(database.db);
  await emptyReadModels(database.db);
  await fold(before);
  for (const slice of [one, other])
    await offer(
      others.filter((p) => topicsOf(p).includes('trees')),
      slice,
    );
  await offerAtOnce(name, [one, other]);
  expect(await foldedState(database.db)).toEqual(inTurn);
  expect(await findMiscounted(database.db)).toEqual([]);
});
