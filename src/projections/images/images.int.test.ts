import { describe, expect, test } from '@jest/globals';
import type { Envelope } from '../../events/envelope.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { readModels } from '../../testing/read-models.ts';
import { recordHistory, recordRenderSpec, recordSegment } from '../../testing/record-images.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { keyInTree } from '../of-tree.ts';
import { findHistoryImage, readHistoryImages, readHistoryImagesOfRun } from './read-history-images.ts';
import { countDifferingImages, readImageTotalsOfRollouts, readImageTotalsOfRuns } from './read-image-totals.ts';
import { readRenderSpecs, readRenderSpecsOfRuns } from './read-render-specs.ts';
import { findKnownSegments, readHistories, readHistory, readSegments } from './read-segments.ts';

const database = useTestDatabase({ emptied: 'before-each' });

/** A rollout of four steps: each but the first was shown what the one before was, and one record more. */
function given(name = 'images') {
  const builder = new EventBuilder(name);
  const runId = builder.run();
  const tree = builder.tree(runId);
  const { steps, rolloutId } = builder.walk(tree, 0, 4, 1);
  const renderSpecId = recordRenderSpec(builder, runId);
  const segments: string[] = [];
  steps.forEach((stepId, i) => {
    const before = steps[i - 1];
    if (before === undefined) {
      recordHistory(builder, tree, { stepId, renderSpecId, segments: [] });
      return;
    }
    segments.push(recordSegment(builder, runId, renderSpecId, `record ${i}`));
    recordHistory(builder, tree, {
      stepId,
      renderSpecId,
      segments: segments.slice(-1),
      prefix: { stepId: before, from: 0, to: i - 1 },
      factor: 1.2,
      factorChosenBy: before,
      cache: { missed: [i - 1] },
    });
  });
  return { builder, runId, tree, steps, rolloutId, renderSpecId, segments };
}

async function quarantined() {
  return database.db.selectFrom('quarantine').select(['projection', 'code', 'field']).execute();
}

describe('history images', () => {
  test('an image is read as measured', async () => {
    const { builder, runId, tree, steps, renderSpecId } = given();
    const stepId = builder.step(tree, null, tree.rootStepId, 1);
    const sizes = {
      raw: { width: 392, height: 24 },
      resized: { width: 320, height: 28 },
      bordered: { width: 330, height: 38 },
      model: { width: 336, height: 56 },
    };
    const recorded = { factor: 1.5, factorChosenBy: steps[0] ?? null, imageId: 'e'.repeat(64), timings: { renderMs: 2.5 } };
    const counted = { visionTokens: { count: 24, preset: 'p' }, textTokens: { count: 90, tokenizer: 't' } };
    const limits = { cut: { segments: 1, lines: 2 }, outside: 3, unshaped: 2, cache: { missed: [0, 1] } };
    const segments = ['1'.repeat(64), '2'.repeat(64)];
    recordHistory(builder, tree, { stepId, renderSpecId, segments, sizes, ...recorded, ...counted, ...limits });
    await givenEvents(database.db, builder.events);
    const { treeId } = tree;
    const image = {
      id: recorded.imageId,
      stepId,
      treeId,
      runId,
      renderSpecId,
      length: 2,
      history: 'segments',
      missed: [0, 1],
      factor: 1.5,
      factorChosenBy: recorded.factorChosenBy,
      ...sizes.bordered,
      raw: sizes.raw,
      resized: sizes.resized,
      model: sizes.model,
      visionTokens: 24,
      visionPreset: 'p',
      textTokens: 90,
      tokenizer: 't',
      cutSegments: 1,
      cutLines: 2,
      outside: 3,
      unshaped: 2,
      renderMs: 2.5,
      renderedAt: expect.any(Date),
    };
    expect(await readHistoryImages(database.db, [{ treeId: tree.treeId, id: stepId }])).toEqual([image]);
    expect(await findHistoryImage(database.db, recorded.imageId)).toEqual(image);
    expect(await findHistoryImage(database.db, 'f'.repeat(64))).toBeUndefined();
    expect((await readHistoryImagesOfRun(database.db, runId)).map((shown) => shown.stepId)).toEqual([...steps, stepId]);
  });

  test('an image has the segments of its chain of prefixes, in order', async () => {
    const { builder, tree, steps, segments } = given();
    await givenEvents(database.db, builder.events);
    const histories = await readHistories(database.db, ofTree(tree, [...steps, builder.id('nobody')]));
    expect([...histories]).toEqual(steps.map((id, i) => [keyInTree(tree.treeId, id), segments.slice(0, i)]));
  });

  test('an image of a window contains the named range', async () => {
    const { builder, tree, steps, renderSpecId, segments } = given();
    const stepId = builder.step(tree, null, tree.rootStepId, 1);
    const fresh = recordSegment(builder, tree.runId, renderSpecId, 'fresh');
    const prefix = { stepId: steps[3] ?? '', from: 1, to: 3 };
    recordHistory(builder, tree, { stepId, renderSpecId, segments: [fresh], prefix });
    await givenEvents(database.db, builder.events);
    expect(await readHistory(database.db, { treeId: tree.treeId, stepId })).toEqual([segments[1], segments[2], fresh]);
  });

  test('an image may be recorded before its spec and its segments', async () => {
    const { builder, tree, steps, segments } = given();
    const late = builder.events.filter(({ type }) => type === 'RenderSpecRegistered' || type === 'SegmentRendered');
    await givenEvents(
      database.db,
      builder.events.filter((event) => !late.includes(event)),
    );
    expect(await quarantined()).toEqual([]);
    expect(await readSegments(database.db, segments)).toEqual([]);
    await givenEvents(database.db, late.reverse());
    expect(await readSegments(database.db, segments)).toHaveLength(segments.length);
    expect(await readHistory(database.db, { treeId: tree.treeId, stepId: steps[3] ?? '' })).toEqual(segments);
    expect(tree.treeId).toBe((await readHistoryImages(database.db, ofTree(tree, steps)))[0]?.treeId);
  });

  test.each([
    ['without a history behind it', { from: 0, to: 0 }, true, 'missing-history', 'data.prefix.stepId'],
    ['beyond what was shown', { from: 1, to: 4 }, false, 'range', 'data.prefix'],
    ['that ends before it begins', { from: 2, to: 1 }, false, 'range', 'data.prefix'],
  ])('an image with a prefix %s goes to quarantine', async (_, range, unknown, code, field) => {
    const { builder, tree, steps, renderSpecId } = given();
    const stepId = builder.step(tree, null, tree.rootStepId, 1);
    const prefix = { stepId: unknown ? tree.rootStepId : (steps[3] ?? ''), ...range };
    recordHistory(builder, tree, { stepId, renderSpecId, segments: [], history: 'absent', prefix });
    await givenEvents(database.db, builder.events);
    expect(await quarantined()).toEqual([{ projection: 'images', code, field }]);
    expect(await readHistoryImages(database.db, [{ treeId: tree.treeId, id: stepId }])).toEqual([]);
  });
});

describe('segments', () => {
  test('a segment is stored once, whatever runs draw it', async () => {
    const first = given('first run');
    const second = given('second run');
    await givenEvents(database.db, first.builder.events);
    const before = await readModels(database.db);
    await givenEvents(database.db, second.builder.events);
    const after = await readModels(database.db);
    expect(second.segments).toEqual(first.segments);
    expect(after.segments).toEqual(before.segments);
    expect(after.render_specs).toEqual(before.render_specs);
    expect(after.history_images).toHaveLength(8);
    const [segment] = await readSegments(database.db, first.segments.slice(0, 1));
    expect(segment).toEqual({
      id: first.segments[0],
      renderSpecId: first.renderSpecId,
      text: 'record 1',
      lines: 1,
      width: 392,
      height: 12,
      rgb: expect.stringMatching(/^[0-9a-f]{64}$/),
      cutLines: 0,
      outside: 0,
      unshaped: 0,
      runId: first.runId,
      blobs: null,
    });
  });

  test('a segment recorded by two processes under its derived id is not an anomaly', async () => {
    const { builder, runId, renderSpecId } = given();
    const id = builder.id('derived from the segment');
    recordSegment(builder, runId, renderSpecId, 'at once');
    const recorded = { ...(builder.events.at(-1) as Envelope), id };
    await givenEvents(database.db, [...builder.events.slice(0, -1), recorded]);
    await givenEvents(database.db, [{ ...recorded, producer: { name: 'another', version: '1' } }]);
    expect(await database.db.selectFrom('anomalies').selectAll().execute()).toEqual([]);
    expect(await quarantined()).toEqual([]);
  });

  test('a segment under an id that is not the hash of its text goes to quarantine', async () => {
    const { builder, runId, renderSpecId } = given();
    recordSegment(builder, runId, renderSpecId, 'one', { text: 'another' });
    await givenEvents(database.db, builder.events);
    expect(await quarantined()).toEqual([{ projection: 'images', code: 'digest', field: 'data.segmentId' }]);
  });

  test('a segment is found by its id', async () => {
    const { builder, segments } = given();
    await givenEvents(database.db, builder.events);
    expect(await findKnownSegments(database.db, ['0'.repeat(64), ...segments])).toEqual(new Set(segments));
  });
});

describe('render specs', () => {
  test('a render spec is shared by all runs, and each run has its own name for it', async () => {
    const { builder, runId, renderSpecId } = given();
    const other = builder.run('other');
    recordRenderSpec(builder, other, { px: 10 }, 'mine');
    await givenEvents(database.db, builder.events);
    expect(await readRenderSpecs(database.db, [renderSpecId])).toEqual([{ id: renderSpecId, spec: { px: 10 } }]);
    const registered = { id: renderSpecId, spec: { px: 10 }, registeredAt: expect.any(Date) };
    expect(await readRenderSpecsOfRuns(database.db, [runId])).toEqual([{ runId, profile: 'crisp', ...registered }]);
    expect(await readRenderSpecsOfRuns(database.db, [other])).toEqual([{ runId: other, profile: 'mine', ...registered }]);
  });

  test('a render spec under an id that is not its digest goes to quarantine', async () => {
    const { builder, runId } = given();
    const data = { runId, renderSpecId: 'a'.repeat(64), profile: 'crisp', spec: { px: 10 } };
    builder.record('RenderSpecRegistered', data, runId);
    await givenEvents(database.db, builder.events);
    expect(await quarantined()).toEqual([{ projection: 'images', code: 'digest', field: 'data.renderSpecId' }]);
  });
});

describe('totals', () => {
  test('totals sum what the steps of a run and of a rollout were shown', async () => {
    const { builder, runId, tree, rolloutId } = given();
    const idle = builder.run('idle');
    await givenEvents(database.db, builder.events);
    const nothing = {
      steps: 0,
      visionTokens: 0,
      textTokens: 0,
      saved: 0,
      segments: 0,
      hits: 0,
      misses: 0,
      hitRate: null,
      pixels: 0,
      meanFactor: null,
      cutSegments: 0,
      cutLines: 0,
      outside: 0,
      unshaped: 0,
      renderMs: 0,
    };
    const shown = {
      steps: 4,
      visionTokens: 56,
      textTokens: 80,
      saved: 24,
      segments: 6,
      hits: 3,
      misses: 3,
      hitRate: 0.5,
      pixels: 392 * 12 * 3,
      meanFactor: expect.closeTo(1.15, 12),
      cutSegments: 0,
      cutLines: 0,
      outside: 0,
      unshaped: 0,
      renderMs: 4,
    };
    const totals = await readImageTotalsOfRuns(database.db, [runId, idle]);
    expect(totals).toHaveLength(2);
    expect(totals).toEqual(
      expect.arrayContaining([
        { ofId: runId, ...shown },
        { ofId: idle, ...nothing },
      ]),
    );
    expect(await readImageTotalsOfRollouts(database.db, [{ treeId: tree.treeId, id: rolloutId }])).toEqual([
      { treeId: tree.treeId, ofId: rolloutId, ...shown, images: 4 },
    ]);
    expect((await countDifferingImages(database.db, [runId, idle])).map(({ images }) => images).sort()).toEqual([0, 4]);
  });
});

function ofTree({ treeId }: { readonly treeId: string }, ids: readonly string[]) {
  return ids.map((id) => ({ treeId, id }));
}
