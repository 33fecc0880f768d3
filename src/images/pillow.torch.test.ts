import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { composeHistories } from '../../infra/bench/render-text.ts';
import { sha256Hex } from '../digest/sha256.ts';
import { createRandom } from '../domain/random/random.ts';
import { pillowsForTests } from '../testing/python.ts';
import { composeHistory } from './compose-history.ts';
import { splitSegments, strip, toCells } from './prepare-text.ts';
import { renderSpec } from './render-profiles.ts';
import { renderSegment } from './render-segment.ts';

const FONT = '/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf';
const SCRIPT = fileURLToPath(new URL('../../infra/bench/render_pillow.py', import.meta.url));

const histories = composeHistories(2, 60, 11);
const ascii = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('');
const searches = histories.map((records) =>
  records.map((text, i) => `<search>${text.slice(20, 50)}</search> <information>${text} ${i}: ${ascii}</information>`),
);
const requests = [
  ...histories.flatMap((records) => requestsFor('alfworld', [...records, ascii, ascii.repeat(3).replaceAll(' ', '')])),
  ...searches.flatMap((records) => requestsFor('search', records)),
  ...(['alfworld', 'search'] as const).map((style) => ({ style, segments: plainTexts(style, 500), factor: 1 })),
];

for (const found of await pillowsForTests()) {
  const there = found.kind === 'found' && existsSync(FONT);
  const generation = found.kind === 'found' ? Number(/pillow (\d+)/.exec(found.versions)?.[1]) : 0;
  (there ? describe : describe.skip)(`with ${found.kind === 'found' ? found.versions : found.reason}`, () => {
    test('the profile of a generation of Pillow draws its bytes, at any height and factor', () => {
      const { stdout, stderr } = spawnSync(found.kind === 'found' ? found.python : '', [SCRIPT, 'digests'], {
        input: JSON.stringify(requests),
        encoding: 'utf8',
      });
      expect(stderr).toBe('');
      const ours = requests.map(({ style, segments, factor }) => {
        const spec = renderSpec(`agentocr-${style}-pillow-${generation < 13 ? 12 : 13}`);
        const drawn = segments.map((text) => renderSegment(spec, text));
        return sha256Hex(composeHistory(spec, drawn, factor).rgb);
      });
      expect(ours).toEqual(JSON.parse(stdout));
    });
  });
}

test('the passes of a resize in another order give other pixels, and the names of generation 12 the spec that was there before', () => {
  const id = (profile: 'agentocr-alfworld-pillow-12' | 'agentocr-alfworld-pillow-13') => {
    const spec = renderSpec(profile);
    const drawn = (histories[0] ?? []).map((text) => renderSegment(spec, text));
    return composeHistory(spec, drawn, 1.2).imageId;
  };
  expect(id('agentocr-alfworld-pillow-13')).not.toBe(id('agentocr-alfworld-pillow-12'));
  expect(renderSpec('agentocr-alfworld-pillow-12')).toBe(renderSpec('agentocr-alfworld'));
  expect(renderSpec('agentocr-search-pillow-12')).toBe(renderSpec('agentocr-search'));
});

/** Draws texts whose characters are all drawn as published: of any scripts mixed, and of one block of 128 code points with ASCII. */
function plainTexts(style: 'alfworld' | 'search', count: number): string[] {
  const spec = renderSpec(`agentocr-${style}`);
  const random = createRandom(7);
  const isPlain = (text: string) => text !== '\n' && text.isWellFormed() && toCells(text, spec).unshaped === 0;
  const drawn = (codes: () => number): string => {
    const text = String.fromCodePoint(random.next() < 0.2 ? 0x20 + random.int(0x5f) : codes());
    return isPlain(text) ? text : drawn(codes);
  };
  const anywhere = () => random.int(random.next() < 0.8 ? 0x3100 : 0x20000);
  const within = (block: number) => () => 128 * block + random.int(128);
  return Array.from({ length: count }, (_, i) => {
    const codes = i % 2 === 0 ? anywhere : within(random.int(0x20000 / 128));
    return strip(`${Array.from({ length: random.int(100) }, () => drawn(codes)).join('')}.`);
  });
}

function requestsFor(style: 'alfworld' | 'search', records: readonly string[]) {
  const segments = records.flatMap((text) => splitSegments(text, renderSpec(`agentocr-${style}`)));
  const shown = [1, 7, 20, segments.length].map((count) => segments.slice(-count));
  return shown.flatMap((each) => [1, 1.2, 1.28, 5].map((factor) => ({ style, segments: each, factor })));
}
