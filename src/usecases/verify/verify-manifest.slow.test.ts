import { describe, expect, test } from '@jest/globals';
import type { DataOf } from '../../events/catalogue.ts';
import type { RowManifest } from '../datasets/rows/export-rows.ts';
import { fieldsOffRelease } from './verify-released-files.ts';

const RUN = '11111111-1111-4111-8111-111111111111';
const shared = {
  formatVersion: 1,
  query: { runs: [RUN], minReturn: 0.5 },
  position: { 'step-tree@1': 'trees.0:41' },
  counts: { good: 1, lines: 2, dropped: { duplicate: 0 } },
  bytes: 120,
  sha256: 'a'.repeat(64),
  codeVersion: '0.1.0',
  runs: [RUN],
};
const release: DataOf<'DatasetReleased'> = {
  ...shared,
  datasetId: '22222222-2222-4222-8222-222222222222',
  name: 'lessons',
  version: 1,
  format: 'trl',
  parameters: { data: 'good', gates: { maxPerTask: null }, general: null, metadata: 'include', span: 'reply' },
};
const manifest = {
  schema: 'espalier-rows-manifest/1',
  format: { kind: 'trl', metadata: 'include', span: 'reply' },
  parameters: { data: 'good', gates: { maxPerTask: null } },
  general: null,
  ...shared,
} satisfies { readonly [Field in keyof RowManifest]: unknown };
const textOf = (value: object) => `${JSON.stringify(value, null, 2)}\n`;

describe('manifest verification', () => {
  test('a manifest of the released parameters passes, whatever the order of its fields', () => {
    expect(fieldsOffRelease(textOf(manifest), release)).toEqual([]);
    expect(fieldsOffRelease(textOf(Object.fromEntries(Object.entries(manifest).reverse())), release)).toEqual([]);
  });

  test.each([
    ['schema', { schema: 'espalier-rows-manifest/2' }],
    ['format.kind', { format: { ...manifest.format, kind: 'dpo' } }],
    ['format.span', { format: { ...manifest.format, span: 'turn' } }],
    ['formatVersion', { formatVersion: 2 }],
    ['query.minReturn', { query: { ...manifest.query, minReturn: 0.4 } }],
    ['parameters.gates.maxPerTask', { parameters: { data: 'good', gates: { maxPerTask: 1 } } }],
    ['general', { general: { eta: 0.5 } }],
    ['codeVersion', { codeVersion: '0.1.1' }],
    ['position.step-tree@1', { position: { 'step-tree@1': 'trees.0:42' } }],
    ['counts.dropped.duplicate', { counts: { ...manifest.counts, dropped: { duplicate: 1 } } }],
    ['runs', { runs: [] }],
    ['bytes', { bytes: 121 }],
    ['sha256', { sha256: 'b'.repeat(64) }],
    ['more', { more: null }],
  ])('a changed manifest is reported by the name of the differing field: %s', (field, change) => {
    expect(fieldsOffRelease(textOf({ ...manifest, ...change }), release)).toEqual([field]);
  });

  test('a manifest without a field, one that is not an object, and one that is not JSON are reported', () => {
    const { position: _position, ...lacking } = manifest;
    expect(fieldsOffRelease(textOf(lacking), release)).toEqual(['position']);
    expect(fieldsOffRelease('[]\n', release)).toEqual(['it is no JSON object']);
    expect(fieldsOffRelease('{', release)).toEqual(['it is no JSON']);
  });

  test('a flip of any byte of a manifest is reported', () => {
    const bytes = Buffer.from(textOf(manifest));
    for (let at = 0; at < bytes.length; at++) {
      for (const bit of [1, 2, 4, 8, 16, 32]) {
        const flipped = Buffer.from(bytes);
        flipped[at] = (flipped[at] ?? 0) ^ bit;
        expect([at, bit, fieldsOffRelease(flipped.toString('utf8'), release)]).not.toEqual([at, bit, []]);
      }
    }
  });
});
