import { beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { SegmentCache } from '../../images/segment-cache.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { MemoryBlobs } from '../../testing/memory-blobs.ts';
import { givenPrepared } from '../../testing/projecting-log.ts';
import { type DrawnOptions, recordDrawnHistories } from '../../testing/record-drawn-histories.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { findHistoryImage, readHistoryImages } from './read-history-images.ts';
import { type RebuiltImage, rebuildImage } from './rebuild-image.ts';

const database = useTestDatabase({ emptied: 'before-each' });
let blobs: MemoryBlobs;
beforeEach(async () => {
  blobs = new MemoryBlobs();
});

const RECORDS = [
  '[Observation]: You are in a hall. [Action]: go to desk 1',
  '[Observation]: On the desk 1, you see a mug 1 and a keychain 2. [Action]: take mug 1 from desk 1',
  '[Observation]: 深 Nothing happens. [Action]: look',
];

function given(options: Partial<DrawnOptions> = {}) {
  const builder = new EventBuilder();
  const tree = builder.tree(builder.run());
  const { steps } = builder.walk(tree, 0, 4, 1);
  return { builder, tree, steps, ...recordDrawnHistories(builder, tree, steps, { records: RECORDS, ...options }) };
}

async function rebuild(imageId: string | undefined): Promise<RebuiltImage> {
  const historyImage = await findHistoryImage(database.db, imageId ?? '');
  if (!historyImage) throw new Error(`no step was shown ${imageId}`);
  return rebuildImage({ db: database.db, blobs }, historyImage);
}

describe('images drawn again from the record', () => {
  test.each([
    ['agentocr-alfworld', [1, 1, 1.2, 5]],
    ['agentocr-search', [1, 1, 1.28, 2]],
    ['crisp', [1, 1, 1.2, 3]],
  ] as const)('the image of each step is rebuilt by %s', async (profile, factors) => {
    const { builder, tree, imageIds, steps } = given({ profile, factors });
    await givenEvents(database.db, builder.events);
    const named = steps.map((id) => ({ treeId: tree.treeId, id }));
    expect(await readHistoryImages(database.db, named)).toHaveLength(4);
    for (const imageId of imageIds) expect(await rebuild(imageId)).toMatchObject({ kind: 'image', image: { imageId } });
  });

  test('an image with texts in the blob store is rebuilt', async () => {
    const { builder, imageIds } = given({ records: [`[Observation]: ${'far away '.repeat(9_000)}`, 'short'] });
    await givenPrepared(database.db, builder.events, blobs);
    expect(blobs.held.size).toBe(1);
    expect(await rebuild(imageIds.at(-1))).toMatchObject({ kind: 'image', image: { imageId: imageIds.at(-1) } });
  });

  test('an image is rebuilt to the same pixels with cached segments', async () => {
    const { builder, imageIds } = given();
    await givenEvents(database.db, builder.events);
    const cache = new SegmentCache();
    const world = { db: database.db, blobs, draw: (...of: Parameters<SegmentCache['get']>) => cache.get(...of).entry.segment };
    for (const imageId of imageIds) {
      const historyImage = await findHistoryImage(database.db, imageId);
      expect(historyImage && (await rebuildImage(world, historyImage))).toMatchObject({ kind: 'image', image: { imageId } });
    }
    expect(cache.counters).toMatchObject({ hits: 3, misses: 3 });
  });
});

describe('damage to image records', () => {
  async function damaged(change: (drawn: ReturnType<typeof given>) => Promise<unknown>) {
    const drawn = given({ factors: [1, 1, 1, 1.2] });
    await givenEvents(database.db, drawn.builder.events);
    await change(drawn);
    return { ...drawn, result: await rebuild(drawn.imageIds.at(-1)) };
  }

  test('a flipped bit in the text of a segment is named', async () => {
    const { result, segmentIds } = await damaged(({ segmentIds }) =>
      sql`update images_v2.segments set text = replace(text, 'mug', 'lug') where segment_id = ${segmentIds[1]}`.execute(
        database.db,
      ),
    );
    expect(result).toEqual({
      kind: 'damaged',
      what: 'segment',
      id: segmentIds[1],
      detail: 'holds a text that is not the one its id is the hash of',
    });
  });

  test('a flipped byte of a text in the blob store and a missing blob are named', async () => {
    const { builder, imageIds, segmentIds } = given({ records: ['x'.repeat(70_000)] });
    await givenPrepared(database.db, builder.events, blobs);
    const [[name, bytes] = ['', new Uint8Array()]] = blobs.held;
    blobs.held.set(name, bytes.with(7, 0x79));
    expect(await rebuild(imageIds.at(-1))).toMatchObject({
      kind: 'damaged',
      what: 'segment',
      id: segmentIds[0],
      detail: expect.stringContaining(name),
    });
    blobs.held.delete(name);
    expect(await rebuild(imageIds.at(-1))).toMatchObject({
      kind: 'damaged',
      what: 'segment',
      id: segmentIds[0],
      detail: expect.stringContaining(name),
    });
  });

  test('a segment that is not recorded is named', async () => {
    const { result, segmentIds } = await damaged(({ segmentIds }) =>
      sql`delete from images_v2.segments where segment_id = ${segmentIds[2]}`.execute(database.db),
    );
    expect(result).toMatchObject({
      kind: 'damaged',
      what: 'segment',
      id: segmentIds[2],
      detail: expect.stringContaining('not on record'),
    });
  });

  test('a changed, an unknown and a missing render spec are named', async () => {
    const set = (spec: object) =>
      sql`update images_v2.render_specs set spec = spec || ${JSON.stringify(spec)}::jsonb`.execute(database.db);
    const { result, renderSpecId, imageIds } = await damaged(() => set({ border: 6 }));
    expect(result).toEqual({
      kind: 'damaged',
      what: 'render-spec',
      id: renderSpecId,
      detail: 'is not what its id is the SHA-256 of',
    });
    await set({ border: 5, colour: 'grey' });
    expect(await rebuild(imageIds.at(-1))).toMatchObject({
      what: 'render-spec',
      detail: expect.stringContaining('cannot be drawn by this version'),
    });
    await sql`delete from images_v2.render_specs`.execute(database.db);
    expect(await rebuild(imageIds.at(-1))).toMatchObject({
      what: 'render-spec',
      detail: expect.stringContaining('not on record'),
    });
  });

  test('a segment whose pixels differ from the recorded ones is named', async () => {
    const { result, segmentIds } = await damaged(async ({ segmentIds, steps }) => {
      await sql`update images_v2.segments set rgb = ${'0'.repeat(64)} where segment_id = ${segmentIds[0]}`.execute(database.db);
      await sql`update images_v2.history_images set factor = 1.3 where step_id = ${steps[3]}`.execute(database.db);
    });
    expect(result).toMatchObject({
      kind: 'damaged',
      what: 'segment',
      id: segmentIds[0],
      detail: expect.stringContaining('pixels of SHA-256'),
    });
  });

  test('a changed factor is named with the image and the step', async () => {
    const { result, imageIds, steps } = await damaged(({ steps }) =>
      sql`update images_v2.history_images set factor = 1.5 where step_id = ${steps[3]}`.execute(database.db),
    );
    expect(result).toMatchObject({
      kind: 'damaged',
      what: 'image',
      id: imageIds[3],
      detail: expect.stringContaining(`step ${steps[3]}`),
    });
    await sql`update images_v2.history_images set factor = 0.5 where step_id = ${steps[3]}`.execute(database.db);
    expect(await rebuild(imageIds[3])).toMatchObject({
      what: 'image',
      detail: expect.stringContaining('a compression factor is a number from 1 up'),
    });
  });
});

test('a history too tall to be stacked is not drawn', async () => {
  const builder = new EventBuilder();
  const tree = builder.tree(builder.run());
  const record = (i: number) => `record ${i} ${'word '.repeat(5_000)}`; // 4,096 × 560 px each, the most that a segment has
  const { steps } = builder.walk(tree, 0, 2, 1);
  const records = [Array.from({ length: 16 }, (_, i) => record(i)).join('\n')];
  const { imageIds } = recordDrawnHistories(builder, tree, steps, { records, profile: 'agentocr-search' });
  await givenEvents(database.db, builder.events);
  expect(await rebuild(imageIds[1])).toEqual({ kind: 'too-large', detail: expect.stringContaining('px are stacked') });
});
