import { describe, expect, test } from '@jest/globals';
import { splitSegments } from './prepare-text.ts';
import { renderSpec } from './render-profiles.ts';
import { renderSegment } from './render-segment.ts';
import { segmentRgb } from './rendered-segment.ts';
import { wrapText } from './wrap-text.ts';

const alfworld = renderSpec('agentocr-alfworld');
const crisp = renderSpec('crisp');
const x70 = 'x'.repeat(70);

/** Counts pixels by what they are. */
function inks(rgb: Uint8Array) {
  const counts = { white: 0, grey: 0, coloured: 0 };
  for (let at = 0; at < rgb.length; at += 3) {
    const [r, g, b] = rgb.subarray(at, at + 3);
    counts[r !== g || g !== b ? 'coloured' : r === 255 ? 'white' : 'grey']++;
  }
  return counts;
}

describe('wrapText', () => {
  // V2
  test.each([
    ['a  b   c', 10, ['a  b   c']],
    [`${x70} tail`, 65, ['x'.repeat(65), 'xxxxx', 'tail']],
    [`head ${x70} tail more`, 65, ['head', 'x'.repeat(65), 'xxxxx', 'tail more']],
  ])('the text %j wraps as in the published renderer', (text, limit, lines) => expect(wrapText(text, limit)).toEqual(lines));
});

describe('renderSegment', () => {
  test('the metrics equal those of the published renderer (V1)', () => {
    const { layout } = renderSpec('agentocr-search');
    expect([alfworld.layout.lineHeight, alfworld.layout.charactersPerLine]).toEqual([12, 65]);
    expect([layout.lineHeight, layout.charactersPerLine]).toEqual([15, 77]);
  });

  test('markers are coloured, and the rest is grey', () => {
    const plain = inks(segmentRgb(renderSegment(alfworld, 'nothing happens')));
    expect(plain.coloured).toBe(0);
    expect(plain.grey).toBeGreaterThan(100);
    expect(inks(segmentRgb(renderSegment(alfworld, '[Action]: x'))).coloured).toBeGreaterThan(100);
  });

  test('a character outside the atlas is a counted box as published, and written out in another colour in crisp', () => {
    const boxed = renderSegment(alfworld, 'a 中 😀 b');
    expect([boxed.outside, inks(segmentRgb(boxed)).coloured]).toEqual([2, 0]);
    expect(segmentRgb(boxed)).toEqual(segmentRgb(renderSegment(alfworld, 'a 文 \u0001 b')));
    const escaped = renderSegment(crisp, 'a 中 b');
    expect(escaped.outside).toBe(1);
    expect(inks(segmentRgb(escaped)).coloured).toBeGreaterThan(100);
    expect(inks(segmentRgb(renderSegment(crisp, 'a \\u{4e2d} b'))).coloured).toBe(0);
  });

  test.each([
    ['Ångström Ωμέγα Ёлка → ┌─┐ ≤ €', 0],
    ['中文 かな 한글 😀 \u200b\u00ad', 0],
    ['e\u0301', 1],
    ['مرحبا', 5],
    ['שלום', 4],
    ['a\u202eb', 1],
    ['ກຳ', 1],
    ['ขำ', 1],
    ['ሰላም ᏣᎳᎩ ཀ 𐐷 ꀀ', 0],
    ['\u0378', 1],
    ['❤\ufe0f', 1],
    ['Ṥ \u3000x \uf6c5', 3],
  ])(
    'of %j, %i characters may be drawn otherwise by the published renderer, and none where they are written out',
    (text, count) => {
      expect(renderSegment(alfworld, text).unshaped).toBe(count);
      expect(renderSegment(crisp, text).unshaped).toBe(0);
    },
  );

  test('Latin, Greek, Cyrillic, arrows and frames are drawn', () => {
    expect(renderSegment(crisp, 'Ångström Ωμέγα Ёлка → ┌─┐ ≤ €').outside).toBe(0);
  });

  test.each(['control \u0000\u0007\u001b[31m', 'العربية עברית', 'e\u0301 \u200b \ud800 \u{10ffff}', '\ue000 private'])(
    '%j is drawn',
    (text) => {
      for (const spec of [alfworld, crisp]) {
        const { height, width, lines } = renderSegment(spec, splitSegments(text, spec)[0] ?? '');
        expect([width, height]).toEqual([spec.layout.width, lines * 12]);
      }
    },
  );

  test('a line of 1 MB is cut as published, and with a mark in crisp', () => {
    const cut = renderSegment(alfworld, 'y'.repeat(1_000_000));
    expect([cut.lines, cut.cutLines, cut.height]).toEqual([341, Math.ceil(1_000_000 / 65) - 341, 4096]);
    const marked = renderSegment(crisp, 'y'.repeat(1_000_000));
    expect([marked.lines, marked.cutLines, marked.height]).toEqual([170, Math.ceil(1_000_000 / 63) - 169, 2040]);
    expect(inks(segmentRgb(marked)).coloured).toBeGreaterThan(100);
    expect(splitSegments(`${' '.repeat(1_000_000)}y`, crisp)).toEqual(['y']);
  });
});
