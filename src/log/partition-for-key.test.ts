import { expect, test } from '@jest/globals';
import { murmur2, partitionForKey } from './partition-for-key.ts';

// The cases of org.apache.kafka.common.utils.UtilsTest#testMurmur2.
test.each([
  ['21', -973932308],
  ['foobar', -790332482],
  ['a-little-bit-long-string', -985981536],
  ['a-little-bit-longer-string', -1486304829],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
  ['abc', 479470107],
])('murmur2 of %s equals the value of Kafka', (text, hash) => {
  expect(murmur2(Buffer.from(text))).toBe(hash);
});

test('a key is always assigned to an existing partition, and all partitions are used', () => {
  const used = new Set(Array.from({ length: 1_000 }, (_, i) => partitionForKey(`дерево-${i}`, 7)));
  expect([...used].sort()).toEqual([0, 1, 2, 3, 4, 5, 6]);
});
