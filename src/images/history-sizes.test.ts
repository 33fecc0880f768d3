import { describe, expect, test } from '@jest/globals';
import { historySizes, RenderRefused } from './history-sizes.ts';
import { renderSpec } from './render-profiles.ts';
import { visionTokens } from './vision-tokens.ts';

const alfworld = renderSpec('agentocr-alfworld');
const search = renderSpec('agentocr-search');
const crisp = renderSpec('crisp');

describe('historySizes', () => {
  // V5; 560 is the width of the search profile
  test.each([
    [392, 240, 1, '392x240', '402x250', 126],
    [392, 240, 1.1, '373x228', '383x238', 112],
    [392, 240, 1.2, '357x219', '367x229', 104],
    [392, 240, 1.28, '346x212', '356x222', 104],
    [392, 240, 2, '277x169', '287x179', 60],
    [392, 240, 4.91, '176x108', '186x118', 28],
    [392, 240, 5, '175x107', '185x117', 28],
    [392, 12, 5, '175x28', '185x38', 7],
    [560, 990, 1.2, '511x903', '521x913', 627],
    [560, 990, 2, '395x700', '405x710', 350],
    [392, 1200, 1.28, '346x1060', '356x1070', 494],
  ])('an image of %ix%i at factor %d is resized, then bordered', (width, height, factor, resized, bordered, tokens) => {
    const sizes = historySizes(width === 392 ? alfworld : search, 'segments', height, factor);
    const written = [sizes.resized, sizes.bordered].map((size) => `${size.width}x${size.height}`);
    expect([...written, visionTokens(sizes.bordered.width, sizes.bordered.height).tokens]).toEqual([resized, bordered, tokens]);
  });

  // V13: what a published image costs falls in steps
  test.each([
    [360, { 1: 182, 1.05: 182, 1.1: 182, 1.15: 156, 1.2: 156, 1.28: 156, 1.4: 132, 1.6: 110, 1.8: 110, 2: 90, 3: 64, 5: 42 }],
    [972, { 1: 490, 1.05: 476, 1.1: 462, 1.2: 416, 1.28: 403, 2: 250, 5: 112 }],
  ])('the token counts of 392x%i form the published staircase', (height, expected) => {
    const found = Object.keys(expected).map((factor) => {
      const { width: w, height: h } = historySizes(alfworld, 'segments', height, Number(factor)).bordered;
      return [factor, visionTokens(w, h).tokens];
    });
    expect(Object.fromEntries(found)).toEqual(expected);
  });

  test('an empty history is a small white image', () => {
    expect(historySizes(alfworld, 'absent', 0, 3).bordered).toEqual({ width: 38, height: 38 });
    expect(historySizes(crisp, 'absent', 0, 3).bordered).toEqual({ width: 56, height: 56 });
    expect(visionTokens(56, 56).tokens).toBe(4);
  });

  test('crisp matches the grid of the processor at every height and factor, and a higher factor never costs more', () => {
    for (let height = 12; height <= 4078; height += 84) {
      let before = Number.POSITIVE_INFINITY;
      for (const factor of [1, 1.05, 1.1, 1.28, 1.6, 2, 3, 5, 20, 1e9]) {
        const { width, height: down } = historySizes(crisp, 'segments', height, factor).bordered;
        const { tokens, model } = visionTokens(width, down);
        expect(model).toEqual({ width, height: down });
        expect(tokens).toBeLessThanOrEqual(before);
        before = tokens;
      }
    }
  });

  test.each([0, 0.99, -1, Number.NaN, Number.POSITIVE_INFINITY])('a factor of %d is refused', (factor) => {
    expect(() => historySizes(crisp, 'segments', 12, factor)).toThrow(RenderRefused);
  });
});
