import { describe, expect, test } from '@jest/globals';
import { type Layout, mayLieAt, mayLieElsewhere, partitionOfNew } from './layout.ts';
import { partitionForKey } from './partition-for-key.ts';

const eight: Layout = { partitions: 8, ends: [] };
const twelve: Layout = { partitions: 12, ends: [10, 10, 10, 10, 10, 10, 10, 10] };
const keys = Array.from({ length: 200 }, (_, i) => `stream ${i}`);
const moved = keys.filter((key) => partitionForKey(key, 8) !== partitionForKey(key, 12));

describe('recorded layouts', () => {
  test('a new stream follows the newest layout', () => {
    for (const key of keys) {
      expect(partitionOfNew([eight], key)).toBe(partitionForKey(key, 8));
      expect(partitionOfNew([eight, twelve], key)).toBe(partitionForKey(key, 12));
    }
  });

  test('streams may lie elsewhere once partitions were adopted, or where records are older than the first layout', () => {
    expect(mayLieElsewhere([eight])).toBe(false);
    expect(mayLieElsewhere([eight, twelve])).toBe(true);
    expect(mayLieElsewhere([{ partitions: 8, ends: [0, 0, 3] }])).toBe(true);
  });

  test('a record may lie where a layout that was recorded by then puts its stream, and nowhere else', () => {
    expect(moved.length).toBeGreaterThan(50);
    for (const key of moved) {
      const [before, after] = [partitionForKey(key, 8), partitionForKey(key, 12)];
      expect(mayLieAt([eight, twelve], key, before, 3)).toBe(true);
      expect(mayLieAt([eight, twelve], key, before, 30)).toBe(true); // a stream that went on after the adoption
      expect(mayLieAt([eight, twelve], key, after, 30)).toBe(true);
      expect(mayLieAt([eight, twelve], key, after, 3)).toBe(after >= 8); // a partition that had no records then
      const neither = [0, 1, 2].find((partition) => partition !== before && partition !== after) ?? 0;
      expect(mayLieAt([eight, twelve], key, neither, 30)).toBe(false);
    }
  });

  test('nothing is known of the places of records that are older than the first layout', () => {
    for (const key of keys) expect(mayLieAt([{ partitions: 8, ends: [5, 5, 5] }], key, 2, 4)).toBe(true);
  });
});
