import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Envelope } from '../../events/envelope.ts';
import { seedOf } from '../../projections/lineage/recall-seeds.ts';
import { readTouched } from '../../projections/lineage/recall-touched.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { recordHistory, recordRenderSpec, recordSegment } from '../../testing/record-images.ts';
import { recordWeb } from '../../testing/record-web.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { traceRecord } from './trace-record.ts';

const database = useTestDatabase({ emptied: 'never' });
let events: readonly Envelope[];
let image: { readonly stepId: string; readonly imageId: string; readonly segmentId: string; readonly treeId: string };
beforeAll(async () => {
  const builder = new EventBuilder('trace');
  recordWeb(builder, 7);
  const step = dataOf(builder.events, 'StepTaken')[0];
  const runId = builder.events[0]?.correlationId;
  if (!step || !runId) throw new Error('a web begins with a run and has steps');
  const renderSpecId = recordRenderSpec(builder, runId);
  const segmentId = recordSegment(builder, runId, renderSpecId, 'I looked.');
  const imageId = 'a1'.repeat(32);
  const { treeId, stepId } = step;
  recordHistory(builder, { treeId, runId }, { stepId, renderSpecId, segments: [segmentId], imageId });
  image = { stepId, imageId, segmentId, treeId };
  events = builder.events;
  await givenEvents(database.db, events);
});

/** What each kind is called, the events that make it, and the field that names it in them. */
const KINDS = [
  ['run', ['RunStarted', 'RunFinished'], 'runId'],
  ['tree', ['TreeOpened', 'TreeClosed'], 'treeId'],
  ['rollout', ['RolloutStarted', 'RolloutFinished'], 'rolloutId'],
  ['step', ['StepTaken'], 'stepId'],
  ['reward', ['RewardAssigned', 'RewardRevised'], 'rewardId'],
  ['dataset', ['DatasetReleased', 'DatasetSourced'], 'datasetId'],
  ['batch', ['BatchPlanned'], 'batchId'],
  ['checkpoint', ['PolicyUpdated'], 'checkpointId'],
  ['render spec', ['RenderSpecRegistered'], 'renderSpecId'],
  ['segment', ['SegmentRendered'], 'segmentId'],
  ['image', ['HistoryRendered'], 'imageId'],
] as const;

describe('ids traced to their events', () => {
  test.each(KINDS)('the id of a %s leads to the events that made it', async (kind, types, field) => {
    const makers = new Map<string, string[]>();
    for (const event of events) {
      if (!(types as readonly string[]).includes(event.type)) continue;
      const id = (event.data as Record<string, unknown>)[field] as string; // the catalogue's schema of the types above
      makers.set(id, [...(makers.get(id) ?? []), event.id]);
    }
    expect(makers.size).toBeGreaterThan(0);
    for (const [id, ids] of [...makers].slice(0, 12)) {
      const trace = await traceRecord(database.db, id);
      expect([trace.kind, trace.id]).toEqual([kind, id]);
      expect(trace.madeBy.total).toBe(ids.length);
      expect(trace.madeBy.first.map(({ eventId }) => eventId)).toEqual(ids);
      for (const { place } of trace.madeBy.first) expect(place).toMatch(/^[a-z]+\.0@\d+$/);
    }
  });

  test('each of these events names the ids that it recorded', async () => {
    for (const event of events.filter((_, i) => i % 7 === 0)) {
      const trace = await traceRecord(database.db, event.id);
      expect(trace).toMatchObject({ kind: 'event', title: expect.stringContaining(event.type) });
      const named = trace.usedBy.find(({ relation }) => relation === 'names')?.first.map(({ id }) => id);
      // a segment's stream is no id of anything, but made of its own
      const { runId, segmentId } = event.data as Record<string, unknown>;
      expect(named).toContain(runId ?? segmentId ?? event.stream);
    }
  });
});

describe('forward traces', () => {
  test('a rollout leads to what a recall of it lists', async () => {
    for (const { rolloutId } of dataOf(events, 'RolloutStarted').slice(0, 9)) {
      const { touched } = await traceRecord(database.db, rolloutId);
      expect(touched).toEqual(await readTouched(database.db, await seedOf(database.db, { kind: 'trajectory', rolloutId })));
    }
  });

  test('a batch leads to its version and to every later one', async () => {
    const trained = dataOf(events, 'PolicyUpdated').find(({ batchId }) => batchId !== null);
    const { touched } = await traceRecord(database.db, trained?.batchId ?? '');
    const later = dataOf(events, 'PolicyUpdated').filter(
      (update) => update.policyId === trained?.policyId && update.version >= (trained?.version ?? 0),
    );
    expect(touched?.versions).toEqual(
      later.map(({ policyId, version }, i) => ({ policyId, version, how: i === 0 ? 'trained-on' : expect.any(String) })),
    );
  });

  test('a segment leads to the images that show it, and an image to its step and its rollouts', async () => {
    const segment = await traceRecord(database.db, image.segmentId);
    expect(segment.usedBy).toMatchObject([{ relation: 'new in images', total: 1, first: [{ id: image.imageId }] }]);
    const found = await traceRecord(database.db, image.imageId);
    expect(found.usedBy).toMatchObject([{ relation: 'shown at steps', total: 1, first: [{ id: image.stepId }] }]);
    expect(found.touched).toEqual((await traceRecord(database.db, image.stepId)).touched);
    expect(found.touched?.rollouts).toBeGreaterThan(0);
  });
});

describe('backward traces', () => {
  test('a version names its checkpoint, its batch and the previous version', async () => {
    const update = dataOf(events, 'PolicyUpdated').find(({ batchId }) => batchId !== null);
    const { kind, from, madeBy } = await traceRecord(database.db, `${update?.policyId}@${update?.version}`);
    expect([kind, madeBy.total]).toEqual(['policy version', 1]);
    expect(Object.fromEntries(from.map(({ relation, first }) => [relation, first.map(({ id }) => id)]))).toEqual({
      'version before': [`${update?.policyId}@${update?.parentVersion}`],
      batch: [update?.batchId],
      checkpoint: [update?.checkpointId],
    });
  });

  test('NAME@V and the digest of its file lead to a release', async () => {
    const release = dataOf(events, 'DatasetReleased')[0];
    expect(await traceRecord(database.db, 'web@1')).toMatchObject({ kind: 'dataset', id: release?.datasetId });
    const digest = await traceRecord(database.db, release?.sha256 ?? '');
    expect(digest.from).toMatchObject([{ relation: 'of', total: 1, first: [{ id: release?.datasetId }] }]);
  });
});

test('NAME@V#LINE leads to the sources of a line of a release, and POLICY#N to a batch', async () => {
  const { examples = [], datasetId } = dataOf(events, 'DatasetSourced')[0] ?? {};
  expect(examples.length).toBeGreaterThan(1);
  for (const { line, lines, kind, treeId, goodRolloutId, badRolloutId, revisionId } of examples) {
    for (const at of [line, line + lines - 1]) {
      const trace = await traceRecord(database.db, `web@1#${at}`);
      expect(trace).toMatchObject({ kind: 'line of a dataset', id: `web@1#${at}`, title: expect.stringContaining(kind) });
      const from = Object.fromEntries(trace.from.map(({ relation, first }) => [relation, first.map(({ id }) => id)]));
      expect(from).toEqual({
        tree: [treeId],
        'good trajectory': [goodRolloutId],
        ...(badRolloutId && { 'bad trajectory': [badRolloutId] }),
        ...(revisionId && { revision: [revisionId] }),
      });
      expect(trace.touched).toEqual((await traceRecord(database.db, datasetId ?? '')).touched);
    }
  }
  const end = Math.max(...examples.map(({ line, lines }) => line + lines));
  for (const beyond of ['web@1#0', `web@1#${end}`, 'web@9#1', 'web#1', 'web@1#99999999999'])
    await expect(traceRecord(database.db, beyond)).rejects.toThrow(/nothing on record has the id/);
  for (const { batchId, policyId, ordinal } of dataOf(events, 'BatchPlanned').slice(0, 3))
    expect(await traceRecord(database.db, `${policyId}#${ordinal}`)).toEqual(await traceRecord(database.db, batchId));
});

test('an unknown id is refused by name', async () => {
  await expect(traceRecord(database.db, '00000000-0000-4000-8000-000000000000')).rejects.toThrow(
    /nothing on record has the id "0{8}.*": looked for run, tree, step, rollout, reward, task/,
  );
  await expect(traceRecord(database.db, 'f'.repeat(64))).rejects.toThrow(/looked for image, segment, render spec/);
  await expect(traceRecord(database.db, 'nobody@3')).rejects.toThrow(/looked for policy version/);
  await expect(traceRecord(database.db, "'; drop table runs")).rejects.toThrow(/nothing on record/);
});

function dataOf<T extends Envelope['type']>(recorded: readonly Envelope[], type: T): Envelope<T>['data'][] {
  return recorded.filter((event) => event.type === type).map(({ data }) => data as Envelope<T>['data']); // tied by the type
}
