import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { composeHistory } from './compose-history.ts';
import { HistoryRenderer } from './history-renderer.ts';
import { RenderRefused } from './history-sizes.ts';
import { imageId } from './image-id.ts';
import { decodePng, encodePng } from './png.ts';
import { splitSegments } from './prepare-text.ts';
import { renderSpec } from './render-profiles.ts';
import { renderSegment } from './render-segment.ts';
import { parseRenderSpec, renderSpecId } from './render-spec.ts';
import { SegmentCache } from './segment-cache.ts';
import { visionTokens } from './vision-tokens.ts';

const alfworld = renderSpec('agentocr-alfworld');
const search = renderSpec('agentocr-search');
const crisp = renderSpec('crisp');
const { render } = JSON.parse(readFileSync(new URL('./fixtures/render.json', import.meta.url), 'utf8'));
const records = splitSegments(render.find(({ name }: { name: string }) => name === 'alf5').context, alfworld);

describe('HistoryRenderer', () => {
  test('five growing histories use 15 segments, of which 10 are cache hits (V4)', () => {
    const renderer = new HistoryRenderer(alfworld);
    const hits = records.map((_, i) =>
      renderer.render({ segments: records.slice(0, i + 1), factor: 1 }).segments.map(({ hit }) => hit),
    );
    expect(hits.flat()).toHaveLength(15);
    expect(renderer.cache.counters).toMatchObject({ hits: 10, misses: 5, segments: 5 });
    expect(hits.slice(1).filter((each) => each.some(Boolean))).toHaveLength(4);
  });

  test('two equal records are a miss and a hit', () => {
    const renderer = new HistoryRenderer(search);
    expect(
      renderer.render({ segments: ['<search>a</search>', '<search>a</search>'], factor: 1 }).segments.map(({ hit }) => hit),
    ).toEqual([false, true]);
  });

  test('the pixels depend on the segments alone, whatever caches and stacks hold', () => {
    const text = fc.constantFrom(...records, 'short', 'ñandú Ķķ Ģ', '中 [Action] 😀', 'z'.repeat(200));
    const request = fc.record({
      texts: fc.array(text, { maxLength: 6 }),
      factor: fc.constantFrom(1, 1, 1, 1.1, 2, 5),
      profile: fc.constantFrom(alfworld, crisp),
    });
    fc.assert(
      fc.property(fc.array(request, { minLength: 1, maxLength: 12 }), fc.constantFrom(0, 3000, 1 << 20), (requests, bytes) => {
        const renderers = new Map(
          [alfworld, crisp].map((spec) => [
            spec,
            new HistoryRenderer(spec, { cache: new SegmentCache({ maxBytes: bytes }), stackBytes: bytes * 40 }),
          ]),
        );
        const recorded: (readonly [id: () => string, expected: string])[] = [];
        for (const { texts, factor, profile } of requests) {
          // Every prefix too, as an episode grows.
          for (let n = 0; n <= texts.length; n++) {
            const segments = texts.slice(0, n);
            const image = renderers.get(profile)?.render({ segments, factor }).image;
            const alone = composeHistory(
              profile,
              segments.map((each) => renderSegment(profile, each)),
              factor,
            );
            if (n % 2 === 0) expect(Buffer.from(image?.view() ?? []).equals(alone.rgb)).toBe(true);
            recorded.push([() => image?.imageId ?? '', alone.imageId]);
          }
        }
        for (const [id, expected] of recorded) expect(id()).toBe(expected); // also of images whose stack has gone on
      }),
      { numRuns: 2 },
    );
  });

  test('the memory that is allocated for histories at any factor keeps to the bound, and is free when stacks are dropped', () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void; // what the flag adds
    const allocated = () => {
      collectGarbage();
      return process.memoryUsage().arrayBuffers;
    };
    const renderer = new HistoryRenderer(alfworld, { cache: new SegmentCache({ maxBytes: 1 << 20 }), stackBytes: 8 << 20 });
    const before = allocated();
    for (let i = 0; i < 600; i++) {
      const segments = [`[Observation]: step ${i} [Action]: go to cabinet ${i}`, `[Observation]: ${i} [Action]: look`];
      renderer.render({ segments, factor: [1, 1.1, 2.5][i % 3] ?? 1 }).image.view();
    }
    expect(renderer.stackBytes).toBeGreaterThan(6 << 20);
    expect(renderer.stackBytes).toBeLessThan(8 << 20);
    // With the segments, the tables of resizing, and what the allocator holds back: without a bound it was over a gigabyte.
    expect(allocated() - before).toBeLessThan(80 << 20);
    renderer.clear();
    expect(renderer.stackBytes).toBe(0);
  });

  test('what is kept of an episode is dropped at its end, and what another one continues is kept', () => {
    const renderer = new HistoryRenderer(alfworld);
    const draw = (episode: string, segments: readonly string[]) => {
      renderer.render({ segments, factor: 1, episode }).image.view();
      return renderer.stackBytes;
    };
    draw('one', ['look']);
    const other = draw('two', ['a hall']);
    draw('one', ['look', 'go to cabinet 1']);
    draw('one', ['go to cabinet 1', 'look']); // a window that slides begins a stack of its own
    renderer.release('one');
    expect(renderer.stackBytes).toBeLessThan(other);
    draw('three', ['a hall', 'a door']);
    renderer.release('two');
    expect(renderer.stackBytes).toBeGreaterThan(0);
    renderer.release('three');
    expect(renderer.stackBytes).toBe(0);
  });

  test('the bound counts the segments of a stack too, which the cache may have dropped', () => {
    const renderer = new HistoryRenderer(alfworld, { cache: new SegmentCache({ maxBytes: 1 }) });
    const text = `look${'\u00ad'.repeat(100_000)}`; // one line of pixels
    renderer.render({ segments: [text], factor: 1 });
    expect(renderer.stackBytes).toBeGreaterThan(2 * text.length);
  });

  test('400 records of one line are stacked without a limit, or become one image cut at 4,096 px (V14)', () => {
    const lines = Array.from({ length: 400 }, (_, i) => `record ${i}`);
    const { image } = new HistoryRenderer(alfworld).render({ segments: lines, factor: 1 });
    expect([image.width, image.height, visionTokens(image.width, image.height).tokens]).toEqual([402, 4810, 2408]);
    const whole = parseRenderSpec({ ...alfworld, text: { ...alfworld.text, segments: 'whole' } });
    expect(renderSpecId(whole)).not.toBe(renderSpecId(alfworld));
    const once = new HistoryRenderer(whole).render({ segments: splitSegments(lines.join('\n'), whole), factor: 1 }).image;
    expect([once.width, once.height]).toEqual([402, 4106]);
    const apart = parseRenderSpec({ ...search, text: { ...search.text, segments: 'whole' } });
    const two = render.find(({ name }: { name: string }) => name === 'search2').context;
    expect(new HistoryRenderer(apart).render({ segments: splitSegments(two, apart), factor: 1 }).image.height).toBe(175);
  });

  test('a blank history is drawn as published, and as no history in crisp (V15)', () => {
    const blank = (factor: number) =>
      new HistoryRenderer(search).render({ segments: splitSegments(' \n ', search), factor, empty: 'blank' }).image;
    expect([blank(1).width, blank(1).height]).toEqual([38, 10]);
    expect(new Set(blank(1).rgb)).toEqual(new Set([255]));
    const black = blank(1.3);
    expect([black.width, black.height, visionTokens(38, 38).tokens]).toEqual([38, 38, 9]);
    expect([...black.rgb].filter((value) => value === 0)).toHaveLength(28 * 28 * 3);
    const none = new HistoryRenderer(crisp).render({ segments: [], factor: 1.3, empty: 'blank' }).image;
    expect([none.width, none.height, new Set(none.rgb)]).toEqual([56, 56, new Set([255])]);
  });

  test('10,000 records are refused as published, and crisp keeps the newest below a mark', () => {
    const lines = Array.from({ length: 10_000 }, (_, i) => `record ${i}`);
    expect(() => new HistoryRenderer(alfworld).render({ segments: lines, factor: 1 })).toThrow(RenderRefused);
    const { image, segments } = new HistoryRenderer(crisp).render({ segments: lines, factor: 1 });
    expect(segments).toHaveLength(10_000);
    expect(image.cut).toEqual({ segments: 10_000 - 338, lines: 10_000 - 338 });
    expect([image.width, image.height]).toEqual([392, 4088]);
  });

  test('a factor of 1e9 produces the smallest image, and 0 and NaN are refused', () => {
    const renderer = new HistoryRenderer(alfworld);
    const { image } = renderer.render({ segments: records, factor: 1e9 });
    expect([image.width, image.height, image.rgb.length]).toEqual([38, 38, 38 * 38 * 3]);
    for (const factor of [0, Number.NaN])
      expect(() => renderer.render({ segments: records, factor })).toThrow('a compression factor');
  });

  test('a PNG restores the pixels', async () => {
    const { image } = new HistoryRenderer(crisp).render({ segments: records, factor: 1.2 });
    const { width, height, rgb } = await decodePng(await encodePng(image));
    expect(imageId(width, height, rgb)).toBe(image.imageId);
  });
});
