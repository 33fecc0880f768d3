import { expect, test } from '@jest/globals';
import { intervalPlotSvg } from './write-plot.ts';

const values = [{ mean: 25, interval: { low: 0, high: 50 } }, null];
const panel = { label: 'success, %', values, holds: [0, 100], isDifference: false };

test('each panel has a circle for each row that has a value, a bar for its interval, and its values as words', () => {
  const svg = intervalPlotSvg({ title: 'a < b', rows: ['base', 'a & b'], panels: [panel] });
  expect(svg).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg"[\s\S]*<\/svg>\n$/);
  expect(svg.match(/<circle /g)).toHaveLength(1);
  expect(svg).toContain('<title>25 (0 to 50)</title>');
  expect(svg).toContain('a &lt; b');
  expect(svg).toContain('a &amp; b');
  expect(svg).toContain('<line x1="60" y1="91" x2="180" y2="91" stroke="#0072b2" stroke-width="1.5"/>'); // half of 240 from the left end
});

test('a difference has a line at 0, which its scale holds, and equal values have a scale too', () => {
  const difference = { ...panel, values: [null, { mean: 0.5, interval: null }], holds: [0], isDifference: true };
  const svg = intervalPlotSvg({ title: 'one', rows: ['base', 'other'], panels: [panel, difference] });
  expect(svg.match(/stroke="#555555"/g)).toHaveLength(1);
  const flat = { ...panel, values: [{ mean: 3, interval: null }], holds: [] };
  expect(intervalPlotSvg({ title: 'flat', rows: ['a'], panels: [flat] })).not.toContain('NaN');
});
