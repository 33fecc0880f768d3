import { describe, expect, test } from '@jest/globals';
import { legibility } from './legibility.ts';
import { renderSpec } from './render-profiles.ts';
import { renderSegment } from './render-segment.ts';
import { segmentRgb } from './rendered-segment.ts';

const TEXT = '[Observation]: Inventory: [oak log] (2) [Action]: craft 4 oak planks using 1 oak log';

function drawn(text: string) {
  const segment = renderSegment(renderSpec('crisp'), text);
  const { width, height } = segment;
  return { width, height, rgb: segmentRgb(segment), at: 0, stride: width * 3 };
}

const at = (factor: number, text = TEXT) => {
  const rows = drawn(text);
  const root = Math.sqrt(factor);
  return legibility(rows, { width: Math.trunc(rows.width / root), height: Math.trunc(rows.height / root) });
};

describe('the legibility of a resized text', () => {
  test('a text that keeps its size keeps all of its strokes', () => {
    expect(at(1)).toBeCloseTo(1, 9);
  });

  test('a larger factor leaves less of the strokes, down to hardly any', () => {
    const values = [1.2, 1.5, 2, 3, 4, 6, 9, 16].map((factor) => at(factor) ?? Number.NaN);
    for (const [i, value] of values.entries()) if (i > 0) expect(value).toBeLessThan(values[i - 1] ?? 0);
    expect(values[0]).toBeGreaterThan(0.9);
    expect(values.at(-1)).toBeLessThan(0.3);
  });

  test('white around a text changes nothing: windows without ink are not counted', () => {
    const short = drawn('craft');
    const words = at(2, 'craft') ?? 0;
    const tall = { ...short, height: short.height * 5, rgb: new Uint8Array(short.rgb.length * 5).fill(255) };
    tall.rgb.set(short.rgb);
    const root = Math.SQRT2;
    const resized = { width: Math.trunc(tall.width / root), height: Math.trunc(tall.height / root) };
    expect(Math.abs((legibility(tall, resized) ?? 0) - words)).toBeLessThan(0.1);
  });

  test('an image without ink has none', () => {
    const white = { width: 40, height: 12, rgb: new Uint8Array(40 * 12 * 3).fill(255), at: 0, stride: 120 };
    expect(legibility(white, { width: 20, height: 6 })).toBeNull();
    expect(legibility({ ...white, height: 0 }, { width: 20, height: 6 })).toBeNull();
  });
});
