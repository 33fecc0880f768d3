import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { generateResizeWasm, readResizeWasm } from '../../infra/codegen/resize-wasm.ts';
import { type PassOrder, resizeLanczos } from './lanczos.ts';
import { type Patch, type RenderedSegment, writeSegment } from './rendered-segment.ts';
import { MOST_BYTES, vectorLoops } from './resize/vector-loops.ts';
import { resizeRows } from './resize-rows.ts';
import { openSegmentRows, pushSegmentRows } from './segment-rows.ts';

const loops = vectorLoops();
if (!loops) throw new Error('this engine has no WebAssembly with vectors');

test('the committed WebAssembly is what its source compiles to (npm run codegen:resize writes it)', async () => {
  expect(await generateResizeWasm()).toBe(await readResizeWasm());
});

test('vectors resize any rows to the bytes of the plain form, in either order of passes, larger or smaller', () => {
  const sizes = { across: side(90), width: fc.integer({ min: 16, max: 120 }), height: side(140), border: fc.nat(9) };
  const order = fc.constantFrom<PassOrder>('columns-first', 'rows-first');
  const more = { right: fc.nat(30), below: fc.nat(30), seed: fc.integer() };
  fc.assert(
    fc.property(
      fc.record({ ...sizes, order, ...more, heights: fc.array(side(40), { minLength: 1, maxLength: 5 }) }),
      ({ across, width, height, border, order, right, below, seed, heights }) => {
        const segments = heights.map((each, i) => noise(across, each, seed + i));
        const rows = openSegmentRows(across, order === 'columns-first' ? width : across);
        for (const n of [1, segments.length]) pushSegmentRows(rows, segments.slice(0, n), loops);
        const raw = stacked(segments, across);
        const bordered = { width: width + 2 * border + right, height: height + 2 * border + below };
        const made = new Uint8Array(bordered.width * bordered.height * 3);
        expect(resizeRows(rows, { raw, resized: { width, height }, bordered }, border, made, loops)).toBe(true);
        const expected = framed(resizeLanczos(raw, width, height, order).rgb, width, bordered, border);
        expect(Buffer.from(made).equals(expected)).toBe(true);
      },
    ),
    { numRuns: 8 },
  );
});

test('a picture narrower than a vector, or with more rows than the loops have memory for, is left to the plain form', () => {
  const rows = openSegmentRows(100, 100);
  pushSegmentRows(rows, [noise(100, 10, 1)], loops);
  const made = (width: number, coloured: number) => {
    const sizes = { raw: { width: 100, height: 10 }, resized: { width, height: 8 }, bordered: { width, height: 8 } };
    return resizeRows({ ...rows, coloured }, sizes, 0, new Uint8Array(width * 24), loops);
  };
  expect([made(16, 0), made(15, 0), made(16, MOST_BYTES / 200)]).toEqual([true, false, false]);
});

function side(most: number) {
  return fc.integer({ min: 1, max: most });
}

/** A segment of random bytes: white behind the end of each band, with rectangles of other red and blue. */
function noise(width: number, height: number, seed: number): RenderedSegment {
  let state = seed >>> 0;
  const draw = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const bandHeight = 1 + draw(12);
  const ends = Uint16Array.from({ length: Math.ceil(height / bandHeight) }, () => draw(width + 1));
  const green = new Uint8Array(width * height).fill(255);
  const grey: number[] = [];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < (ends[Math.floor(y / bandHeight)] ?? 0); x++) {
      const value = draw(3) === 0 ? draw(256) : draw(2) * 255; // sharp edges ring beyond black and white
      green[y * width + x] = value;
      grey.push(value);
    }
  }
  const patch = (): Patch => {
    const [x, y] = [draw(width), draw(height)];
    const [across, down] = [1 + draw(width - x), 1 + draw(height - y)];
    const rgb = Uint8Array.from({ length: across * down * 3 }, (_, i) => {
      const pixel = Math.floor(i / 3);
      return i % 3 === 1 ? (green[(y + Math.floor(pixel / across)) * width + x + (pixel % across)] ?? 0) : draw(256);
    });
    return { x, y, width: across, height: down, rgb };
  };
  const patches = Array.from({ length: draw(4) }, patch);
  return {
    width,
    height,
    lines: 1,
    cutLines: 0,
    outside: 0,
    unshaped: 0,
    bandHeight,
    ends,
    grey: Uint8Array.from(grey),
    patches,
  };
}

function stacked(segments: readonly RenderedSegment[], width: number) {
  const height = segments.reduce((sum, each) => sum + each.height, 0);
  const rgb = new Uint8Array(width * height * 3).fill(255);
  let at = 0;
  for (const segment of segments) {
    writeSegment(segment, rgb, at, width * 3);
    at += segment.height * width * 3;
  }
  return { width, height, rgb, at: 0, stride: width * 3 };
}

function framed(
  inside: Uint8Array,
  width: number,
  bordered: { readonly width: number; readonly height: number },
  border: number,
) {
  const rgb = new Uint8Array(bordered.width * bordered.height * 3).fill(255);
  for (let y = 0; y * width * 3 < inside.length; y++)
    rgb.set(inside.subarray(y * width * 3, (y + 1) * width * 3), ((border + y) * bordered.width + border) * 3);
  return rgb;
}
