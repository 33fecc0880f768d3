import { describe, expect, test } from '@jest/globals';
import { VISION_PRESETS, visionTokens } from './vision-tokens.ts';

describe('visionTokens', () => {
  // V6, and the blank image of V15
  test.each([
    [28, 28, 56, 56, 4],
    [38, 38, 84, 84, 9],
    [66, 66, 56, 56, 4],
    [402, 22, 392, 28, 14],
    [402, 70, 392, 56, 28],
    [402, 126, 392, 112, 56],
    [402, 250, 392, 252, 126],
    [570, 1010, 560, 1008, 720],
    [402, 4106, 392, 4116, 2058],
    [1024, 1024, 1036, 1036, 1369],
    [570, 8000, 560, 7672, 5480],
    [402, 12000, 364, 11200, 5200],
    [38, 10, 112, 56, 8],
  ])('an image of %ix%i is shown at %ix%i', (width, height, across, down, tokens) => {
    expect(visionTokens(width, height)).toEqual({ tokens, model: { width: across, height: down }, preset: 'qwen2.5-vl' });
  });

  test('other presets change the numbers', () => {
    expect(visionTokens(640, 640, { ...VISION_PRESETS['qwen3-vl'], name: 'mine', maxPixels: 320 * 320 })).toEqual({
      tokens: 100,
      model: { width: 320, height: 320 },
      preset: 'mine',
    });
  });

  test.each([
    [0, 28],
    [28.5, 28],
    [Number.NaN, 28],
    [28, 28 * 201],
  ])('a size of %dx%d is refused', (width, height) => {
    expect(() => visionTokens(width, height)).toThrow(RangeError);
  });
});
