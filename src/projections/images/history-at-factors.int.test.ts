import { beforeAll, describe, expect, test } from '@jest/globals';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { recordDrawnHistories } from '../../testing/record-drawn-histories.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { historyAtFactors } from './history-at-factors.ts';
import { HISTORY_IMAGE_ORDERINGS, readHistoryImagePages, readHistoryImages } from './read-history-images.ts';
import { rebuildImage, redrawImage } from './rebuild-image.ts';

const database = useTestDatabase({ emptied: 'never' });
const FACTORS = [1, 1.2, 2, 4, 9];
const records = Array.from({ length: 30 }, (_, n) => `[Observation]: room ${n} with a door [Action]: go ${n}`);
let runId: string;
let tree: ReturnType<EventBuilder['tree']>;
let steps: readonly string[];
let drawn: ReturnType<typeof recordDrawnHistories>;

beforeAll(async () => {
  const builder = new EventBuilder('factors');
  runId = builder.run();
  tree = builder.tree(runId);
  ({ steps } = builder.walk(tree, 0, records.length + 1, 1));
  const factors = steps.map((_, n) => (n === 30 ? 2 : 1));
  drawn = recordDrawnHistories(builder, tree, steps, { records, factors, profile: 'crisp' });
  await givenEvents(database.db, builder.events);
});

const world = () => ({ db: database.db, blobs: { get: () => Promise.reject(new Error('no text is that long')) } });
const imageOf = async (step: string | undefined) => {
  const [image] = await readHistoryImages(database.db, [{ treeId: tree.treeId, id: step ?? '' }]);
  if (!image) throw new Error('the step was shown an image');
  return image;
};

describe('the history of a step at other compression factors', () => {
  test('the tokens at the factor of the step are the recorded ones, and the size is the one that is drawn', async () => {
    const image = await imageOf(steps[30]);
    const found = await historyAtFactors(world(), image, FACTORS);
    if (found.kind !== 'factors') throw new Error(found.detail);
    expect(found.factors.map(({ factor, shown }) => [factor, shown])).toEqual(FACTORS.map((factor) => [factor, factor === 2]));
    const own = found.factors.find(({ shown }) => shown);
    expect(own).toMatchObject({ visionTokens: image.visionTokens, width: image.width, height: image.height });
    for (const { factor, width, height } of found.factors) {
      const redrawn = await redrawImage(world(), image, factor);
      expect(redrawn).toMatchObject({ kind: 'image', image: { width, height } });
    }
  });

  test('a larger factor costs no more tokens, has lower lines and leaves less of the strokes', async () => {
    const found = await historyAtFactors(world(), await imageOf(steps[30]), FACTORS);
    if (found.kind !== 'factors') throw new Error(found.detail);
    for (const [n, each] of found.factors.entries()) {
      const before = found.factors[n - 1];
      if (!before) continue;
      expect(each.visionTokens).toBeLessThanOrEqual(before.visionTokens);
      expect(each.linePixels).toBeLessThanOrEqual(before.linePixels ?? 0);
      expect(each.legibility).toBeLessThan(before.legibility ?? 0);
    }
    expect(found.factors[0]?.legibility).toBeCloseTo(1, 6);
  });

  test('a history without text has no legibility, and a factor below 1 is refused', async () => {
    const empty = await imageOf(steps[0]);
    const found = await historyAtFactors(world(), empty, [1, 4]);
    expect(found).toMatchObject({ kind: 'factors', factors: [{ legibility: null, linePixels: null }, { legibility: null }] });
    await expect(historyAtFactors(world(), empty, [0.5])).rejects.toThrow('a compression factor is a number from 1 up');
  });

  test('an image that is drawn at its own factor is the one that was shown', async () => {
    const image = await imageOf(steps[30]);
    expect(await rebuildImage(world(), image)).toMatchObject({ kind: 'image', image: { imageId: image.id } });
    expect(await redrawImage(world(), image, image.factor)).toMatchObject({ kind: 'image', image: { imageId: image.id } });
  });

  test('a segment whose text was changed is named in the place of figures', async () => {
    const changed = drawn.segmentIds.at(-1) ?? '';
    const set = (text: string) => database.db.updateTable('segments').set({ text }).where('segmentId', '=', changed).execute();
    const row = await database.db.selectFrom('segments').select('text').where('segmentId', '=', changed).executeTakeFirst();
    await set('another');
    expect(await historyAtFactors(world(), await imageOf(steps[30]), [2])).toMatchObject({
      kind: 'damaged',
      what: 'segment',
      id: changed,
    });
    await set(row?.text ?? '');
  });
});

describe('the images of a run, page by page', () => {
  test('pages of every order hold each image once', async () => {
    for (const ordering of Object.values(HISTORY_IMAGE_ORDERINGS)) {
      const seen: string[] = [];
      let after: string | null = null;
      do {
        const [page]: Awaited<ReturnType<typeof readHistoryImagePages>> = await readHistoryImagePages(
          database.db,
          [runId],
          ordering,
          { limit: 7, towards: 'forwards', after, before: null },
        );
        seen.push(...(page?.rows ?? []).map(({ row }) => row.stepId));
        after = page?.hasNext ? (page.rows.at(-1)?.cursor ?? null) : null;
      } while (after !== null);
      expect([...seen].sort()).toEqual([...steps].sort());
      if (ordering === HISTORY_IMAGE_ORDERINGS.FACTOR_DESC) expect(seen[0]).toBe(steps[30]);
      if (ordering === HISTORY_IMAGE_ORDERINGS.TREE) expect(seen).toEqual(steps);
    }
  });
});
