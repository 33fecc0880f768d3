import { expect, test } from '@jest/globals';
import sharp from 'sharp';
import { svgToPng } from './svg-to-png.ts';

const svg = (inside: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20" width="40" height="20">${inside}</svg>`;

async function pixels(png: Uint8Array) {
  const { data, info } = await sharp(png).raw().toBuffer({ resolveWithObject: true });
  const at = (x: number, y: number) => [
    ...data.subarray((y * info.width + x) * info.channels, (y * info.width + x) * info.channels + 3),
  ];
  return { width: info.width, height: info.height, at };
}

test('the PNG has the colours of the SVG, twice its size, on white', async () => {
  const { png } = await svgToPng(svg('<rect x="10" y="5" width="20" height="10" fill="#0072b2"/>'));
  const { width, height, at } = await pixels(png);
  expect([width, height]).toEqual([80, 40]);
  expect(at(40, 20)).toEqual([0, 0x72, 0xb2]);
  expect(at(2, 2)).toEqual([255, 255, 255]);
});

test('words are drawn, or reported as missing where the machine has no font', async () => {
  const bare = await svgToPng(svg(''));
  const worded = await svgToPng(svg('<text x="2" y="16" font-family="sans-serif" font-size="14">Hm</text>'));
  expect(Buffer.from(worded.png).equals(Buffer.from(bare.png))).toBe(worded.words === 'missing');
});

test('a text that is not SVG is refused', async () => {
  await expect(svgToPng('no drawing')).rejects.toThrow();
});
