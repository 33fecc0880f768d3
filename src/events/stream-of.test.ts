import { expect, test } from '@jest/globals';
import { streamOf } from './stream-of.ts';

test('the stream of an event is the id that the catalogue names', () => {
  const treeId = '0190f3e1-0000-7000-8000-000000000001';
  expect(streamOf('TreeClosed', { treeId, reason: 'completed' })).toBe(treeId);
});

test('data named by its content has the UUIDv8 of its digest as stream', () => {
  const segmentId = `${'ab'.repeat(16)}${'cd'.repeat(16)}`;
  expect(streamOf('SegmentRendered', { segmentId })).toBe('abababab-abab-8bab-abab-abababababab');
  expect(streamOf('SegmentRendered', { segmentId: `${'ab'.repeat(16)}${'ef'.repeat(16)}` })).toBe(
    streamOf('SegmentRendered', { segmentId }),
  );
});

test('data without the field has no stream', () => {
  expect(streamOf('SegmentRendered', {})).toBeUndefined();
  expect(streamOf('SegmentRendered', null)).toBeUndefined();
  expect(streamOf('TreeClosed', { treeId: 7 })).toBeUndefined();
});
