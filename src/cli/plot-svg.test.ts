import { expect, test } from '@jest/globals';
import { plotSvg } from './write-plot.ts';

test('a plot is one SVG element with a line per series, a circle per point and a bar per interval, and escapes its names', () => {
  const svg = plotSvg({
    title: 'a < b & "c"',
    x: { label: 'iteration', ticks: [0, 1] },
    y: { label: 'success', from: 0, to: 1 },
    series: [
      {
        name: 'one',
        points: [
          { x: 0, y: 0, interval: null },
          { x: 1, y: 1, interval: { low: 0.5, high: 1 } },
        ],
      },
      { name: '<two>', points: [{ x: 0, y: 0.5, interval: { low: 0.25, high: 0.75 } }] },
    ],
  });
  expect(svg).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg"[\s\S]*<\/svg>\n$/);
  expect(svg.match(/<polyline /g)).toHaveLength(2);
  expect(svg.match(/<circle /g)).toHaveLength(3);
  expect(svg).toContain('a &lt; b &amp; &quot;c&quot;');
  expect(svg).toContain('&lt;two&gt;');
  // The first point of the first series is at the left end of the axis, at its lower end, shifted by half the gap of two
  // series.
  expect(svg).toContain('<circle cx="61.5" cy="364" r="4" fill="#0072b2"/>');
  // And its second at the right end, at the top, its bar reaching down to the middle.
  expect(svg).toContain('<circle cx="537.5" cy="48" r="4" fill="#0072b2"/>');
  expect(svg).toContain('<line x1="537.5" y1="206" x2="537.5" y2="48" stroke="#0072b2" stroke-width="1.5"/>');
});

test('a plot has room for a single place on its axis', () => {
  const svg = plotSvg({
    title: 'one',
    x: { label: 'depth', ticks: [3] },
    y: { label: 'success', from: 0, to: 1 },
    series: [{ name: 'one', points: [{ x: 3, y: 0.5, interval: null }] }],
  });
  expect(svg).toContain('<circle cx="64" cy="206" r="4"');
  expect(svg).not.toContain('NaN');
});
