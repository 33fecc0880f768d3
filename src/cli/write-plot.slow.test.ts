import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import sharp from 'sharp';
import { plotFile, plotSvg, writePlot } from './write-plot.ts';

const svg = plotSvg({
  title: 'Success',
  x: { label: 'iteration', ticks: [0, 1] },
  y: { label: 'success', from: 0, to: 1 },
  series: [{ name: 'one', points: [0, 1].map((x) => ({ x, y: x / 2, interval: null })) }],
});

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plot-'));
});
afterAll(() => rm(folder, { recursive: true }));

test('an .svg file holds the plot unchanged', async () => {
  await writePlot(join(folder, 'a.svg'), svg);
  expect(await readFile(join(folder, 'a.svg'), 'utf8')).toBe(svg);
});

test('a .png file shows the plot: its size, its background and the line of the series', async () => {
  await writePlot(join(folder, 'a.PNG'), svg);
  const { data, info } = await sharp(join(folder, 'a.PNG')).raw().toBuffer({ resolveWithObject: true });
  expect(info.width / info.height).toBeCloseTo(720 / 420);
  const colours = new Map<string, number>();
  for (let i = 0; i < data.length; i += info.channels) {
    const colour = data.subarray(i, i + 3).toString('hex');
    colours.set(colour, (colours.get(colour) ?? 0) + 1);
  }
  expect(colours.get('ffffff')).toBeGreaterThan(data.length / info.channels / 2);
  expect(colours.get('0072b2')).toBeGreaterThan(100);
});

test('another file type is refused before anything runs', () => {
  expect(plotFile('x/y.svg')).toBe('x/y.svg');
  expect(() => plotFile('y.pdf')).toThrow('--plot takes a file that ends in .svg or .png, not "y.pdf"');
});
