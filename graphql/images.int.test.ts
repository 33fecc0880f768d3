import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { renderSpec } from '../src/images/render-profiles.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { givenPrepared } from '../src/testing/projecting-log.ts';
import { recordDrawnHistories } from '../src/testing/record-drawn-histories.ts';
import { recordHistory, recordRenderSpec, recordSegment } from '../src/testing/record-images.ts';
import { segmentTexts } from './studio/generated/operations.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

let api: TestGraphql;
beforeAll(async () => {
  api = await openTestGraphql();
});
afterAll(() => api.close());

describe('the history image of a step', () => {
  let runId: string;
  let steps: readonly string[];
  let rolloutId: string;
  let drawn: ReturnType<typeof recordDrawnHistories>;
  const records = ['[Observation]: a hall [Action]: north', '[Observation]: a garden [Action]: look'];
  beforeAll(async () => {
    const builder = new EventBuilder('drawn');
    runId = builder.run();
    const tree = builder.tree(runId);
    ({ steps, rolloutId } = builder.walk(tree, 0, 3, 1));
    drawn = recordDrawnHistories(builder, tree, steps, { records, factors: [1, 1, 1.2] });
    await givenEvents(api.database.db, builder.events);
  });

  test('a step shows the history image of its prompt with sizes, tokens, segments and the render spec', async () => {
    const query = `query ($id: ID!) { step(id: $id) { historyImage {
      id url stepId width height raw { width height } resized { width height } model { width height } factor factorChosenBy { id }
      visionTokens visionPreset textTokens tokenizer saved length hits misses history cutSegments cutLines outside unshaped renderMs renderSpecId
      segments { id place hit text lines width height cutLines outside unshaped runId largeTexts { field } } renderSpec { id profile spec }
    } } }`;
    const { data, errors } = await api.ask(query, { id: steps[2] });
    expect(errors).toBeUndefined();
    const [id] = drawn.imageIds.slice(2);
    const segment = { lines: 1, width: 392, height: 12, cutLines: 0, outside: 0, unshaped: 0, runId, largeTexts: [] };
    expect(data.step.historyImage).toEqual({
      id,
      url: `/images/${id}.png`,
      stepId: steps[2],
      width: 367,
      height: 38,
      factor: 1.2,
      factorChosenBy: { id: steps[1] },
      raw: { width: 392, height: 24 },
      resized: { width: 357, height: 28 },
      model: { width: 364, height: 28 },
      visionTokens: 13,
      visionPreset: 'qwen2.5-vl',
      textTokens: 10,
      tokenizer: 'words',
      saved: -3,
      length: 2,
      hits: 1,
      misses: 1,
      history: 'segments',
      cutSegments: 0,
      cutLines: 0,
      outside: 0,
      unshaped: 0,
      renderMs: 1,
      segments: records.map((text, i) => ({ id: drawn.segmentIds[i], place: i, hit: i === 0, text, ...segment })),
      renderSpecId: drawn.renderSpecId,
      renderSpec: { id: drawn.renderSpecId, profile: 'agentocr-alfworld', spec: renderSpec('agentocr-alfworld') },
    });
  });

  test('the history of a step before the first record is empty, and a step prompted with text has none', async () => {
    const query =
      '{ first: step(id: "FIRST") { historyImage { history segments { id } } } tree(id: "TREE") { root { historyImage { id } } } }';
    const { data: found } = await api.ask('query ($id: ID!) { step(id: $id) { treeId } }', { id: steps[0] });
    const { data } = await api.ask(query.replace('FIRST', steps[0] ?? '').replace('TREE', found.step.treeId));
    expect(data).toEqual({
      first: { historyImage: { history: 'absent', segments: [] } },
      tree: { root: { historyImage: null } },
    });
  });

  test('a history is shown at other factors with its tokens, its address and how legible it is', async () => {
    const query = `query ($id: ID!, $factors: [Float!]!) { step(id: $id) { historyImage { step { id }
      atFactors(factors: $factors) { factor shown url width height visionTokens saved linePixels legibility } } } }`;
    const { data, errors } = await api.ask(query, { id: steps[2], factors: [1, 1.2, 4] });
    expect(errors).toBeUndefined();
    const [id] = drawn.imageIds.slice(2);
    expect(data.step.historyImage.step).toEqual({ id: steps[2] });
    const [whole, own, small] = data.step.historyImage.atFactors;
    expect([whole, own, small]).toMatchObject([
      { factor: 1, shown: false, url: `/images/${id}.png?factor=1`, width: 402, height: 34 },
      { factor: 1.2, shown: true, url: `/images/${id}.png`, width: 367, height: 38, visionTokens: 13, saved: -3 },
      { factor: 4, shown: false, url: `/images/${id}.png?factor=4` },
    ]);
    expect(whole.legibility).toBeCloseTo(1, 9);
    expect(own.legibility).toBeGreaterThan(small.legibility);
    const much = Array.from({ length: 5 }, (_, n) => `a${n}: atFactors(factors: [${Array(12).fill(2)}]) { factor }`);
    const over = await api.ask(`query ($id: ID!) { step(id: $id) { historyImage { ${much.join(' ')} } } }`, { id: steps[2] });
    expect(over.errors?.[0]).toMatchObject({ extensions: { code: 'LIMIT_EXCEEDED' } });
    for (const factors of [[0.9], [101], Array(13).fill(2)]) {
      const refused = await api.ask(query, { id: steps[2], factors });
      expect(refused.errors?.[0]).toMatchObject({ extensions: { code: 'BAD_USER_INPUT', argument: 'factors' } });
    }
  });

  test('the images of a run are listed page by page, and summed up by version of the policy, run, task and tool', async () => {
    const list = `query ($run: ID!, $after: String) { run(id: $run) { historyImages(first: 2, after: $after) {
      totalCount pageInfo { hasNextPage endCursor } nodes { id stepId factor } } } }`;
    const first = (await api.ask(list, { run: runId })).data.run.historyImages;
    expect([first.totalCount, first.nodes.map(({ stepId }: { stepId: string }) => stepId)]).toEqual([3, steps.slice(0, 2)]);
    const { data } = await api.ask(list, { run: runId, after: first.pageInfo.endCursor });
    expect(data.run.historyImages).toMatchObject({
      pageInfo: { hasNextPage: false },
      nodes: [{ stepId: steps[2], factor: 1.2 }],
    });
    const sums = `query ($run: ID!, $by: AggregateBy!) { run(id: $run) { imageTotals { ...T } } aggregate(filter: { runs: [$run] }, by: $by) {
      rollouts { rollouts } images { ...T } } } fragment T on ImageTotals { steps images visionTokens textTokens saved segments hits misses hitRate meanFactor pixels cutSegments renderMs }`;
    for (const by of ['RUN', 'TASK', 'DEPTH', 'POLICY_VERSION', 'ENVIRONMENT']) {
      const { data: found, errors } = await api.ask(sums, { run: runId, by });
      expect(errors).toBeUndefined();
      expect(found.aggregate).toEqual([{ rollouts: { rollouts: 1 }, images: found.run.imageTotals }]);
    }
    expect((await api.ask(sums, { run: runId, by: 'TOOL' })).data.aggregate).toEqual([]);
  });

  test('a run and a rollout show the totals of their history images', async () => {
    const query = `query ($run: ID!, $rollout: ID!) {
      run(id: $run) { imageTotals { ...T } renderSpecs { id profile } } rollout(id: $rollout) { imageTotals { ...T } }
    } fragment T on ImageTotals { steps images visionTokens textTokens saved segments hits misses hitRate meanFactor pixels outside unshaped renderMs }`;
    const { data, errors } = await api.ask(query, { run: runId, rollout: rolloutId });
    expect(errors).toBeUndefined();
    expect(data.run.renderSpecs).toEqual([{ id: drawn.renderSpecId, profile: 'agentocr-alfworld' }]);
    expect(data.run.imageTotals).toMatchObject({
      steps: 3,
      images: 3,
      segments: 3,
      hits: 1,
      misses: 2,
      hitRate: 1 / 3,
      renderMs: 3,
    });
    expect(data.run.imageTotals.saved).toBe(data.run.imageTotals.textTokens - data.run.imageTotals.visionTokens);
    expect(data.rollout.imageTotals).toEqual(data.run.imageTotals);
  });
});

describe('history segments', () => {
  test('a segment whose own event has not arrived yet shows its place alone', async () => {
    const builder = new EventBuilder('early');
    const runId = builder.run();
    const tree = builder.tree(runId);
    const stepId = builder.step(tree, null, tree.rootStepId, 1);
    recordHistory(builder, tree, { stepId, renderSpecId: 'a'.repeat(64), segments: ['b'.repeat(64)], cache: { missed: [0] } });
    await givenEvents(api.database.db, builder.events);
    const query =
      'query ($id: ID!) { step(id: $id) { historyImage { renderSpec { id } segments { id place hit text lines largeTexts { field } } } } }';
    const { data } = await api.ask(query, { id: stepId });
    const segment = { id: 'b'.repeat(64), place: 0, hit: false, text: null, lines: null, largeTexts: [] };
    expect(data.step.historyImage).toEqual({ renderSpec: null, segments: [segment] });
  });

  test('a segment longer than 64 KiB is read from the blob store', async () => {
    const builder = new EventBuilder('large');
    const runId = builder.run();
    const tree = builder.tree(runId);
    const stepId = builder.step(tree, null, tree.rootStepId, 1);
    const renderSpecId = recordRenderSpec(builder, runId);
    const text = 'é'.repeat(50_000);
    recordHistory(builder, tree, { stepId, renderSpecId, segments: [recordSegment(builder, runId, renderSpecId, text)] });
    await givenPrepared(api.database.db, builder.events, api.blobs);
    const query = 'query ($id: ID!) { step(id: $id) { historyImage { segments { text largeTexts { field size } } } } }';
    const { data } = await api.ask(query, { id: stepId });
    expect(data.step.historyImage.segments).toEqual([{ text, largeTexts: [{ field: 'text', size: 100_000 }] }]);
    const part = await api.ask(segmentTexts.text, { id: stepId, offset: 49_990, length: 100 }); // as the studio reads on
    const [segment] = part.data.step.historyImage.segments;
    expect(segment.largeTexts).toEqual([{ field: 'text', text: 'é'.repeat(10) }]);
  });
});

describe('the history images of a thousand steps', () => {
  let treeId: string;
  let steps: string[];
  beforeAll(async () => {
    const builder = new EventBuilder('long');
    const runId = builder.run();
    const tree = builder.tree(runId);
    ({ treeId } = tree);
    ({ steps } = builder.walk(tree, 0, 1_000, 1));
    const renderSpecId = recordRenderSpec(builder, runId);
    steps.forEach((stepId, i) => {
      const segments = [recordSegment(builder, runId, renderSpecId, `record ${i}`)];
      const before = steps[i - 1];
      const prefix = before === undefined ? null : { stepId: before, from: 0, to: i };
      recordHistory(builder, tree, { stepId, renderSpecId, segments, prefix });
    });
    await givenEvents(api.database.db, builder.events);
  });

  test('a thousand steps load their images, specs and last segments in as many statements as one step', async () => {
    const query =
      'query ($id: ID!) { tree(id: $id) { steps { historyImage { id saved factorChosenBy { id } renderSpec { id } } } } }';
    api.statements();
    const { data, errors } = await api.ask(query, { id: treeId });
    expect(errors).toBeUndefined();
    expect(data.tree.steps).toHaveLength(1_001);
    expect(api.statements()).toHaveLength(4); // tree · steps · images · specs
  });

  test('a hundred steps load their whole histories in two more statements', async () => {
    const query = 'query ($id: ID!) { tree(id: $id) { steps(first: 101) { historyImage { length segments { text } } } } }';
    api.statements();
    const { data, errors } = await api.ask(query, { id: treeId });
    expect(errors).toBeUndefined();
    expect(api.statements()).toHaveLength(5); // tree · steps · images · chains · segments
    const shown = data.tree.steps
      .slice(1)
      .map(({ historyImage }: { historyImage: { segments: { text: string }[] } }) => historyImage);
    expect(shown[99].segments.map(({ text }: { text: string }) => text)).toEqual(
      Array.from({ length: 100 }, (_, i) => `record ${i}`),
    );
  });

  test('a request for half a million segments is refused', async () => {
    const query = 'query ($id: ID!) { tree(id: $id) { steps { historyImage { segments { id } } } } }';
    const { errors } = await api.ask(query, { id: treeId });
    expect(errors?.[0]).toMatchObject({
      extensions: { code: 'LIMIT_EXCEEDED' },
      message: expect.stringContaining('100000 segments'),
    });
  });
});
