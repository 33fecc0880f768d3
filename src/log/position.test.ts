import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Offsets } from './event-log.ts';
import { formatPosition, parsePosition, positionAfter, reached } from './position.ts';

const offsets: fc.Arbitrary<Offsets> = fc
  .uniqueArray(
    fc.tuple(fc.constantFrom('runs', 'trees', 'a.b-c_d', 'x.0'), fc.nat(40), fc.nat({ max: Number.MAX_SAFE_INTEGER })),
    { selector: ([topic, partition]) => `${topic}.${partition}` },
  )
  .map((entries) => {
    const map = new Map<string, Map<number, number>>();
    for (const [topic, partition, next] of entries) map.set(topic, (map.get(topic) ?? new Map()).set(partition, next));
    return map;
  });

const at = (text: string) => parsePosition(text);

describe('positions', () => {
  test('a position is read back from its text unchanged', () => {
    fc.assert(fc.property(offsets, (position) => expect(parsePosition(formatPosition(position))).toEqual(position)));
  });

  test('a position has one text, whatever the order of its parts', () => {
    expect(formatPosition(at('trees.2:41,runs.0:3,trees.10:1'))).toBe('runs.0:3,trees.2:41,trees.10:1');
  });

  test('a position without partitions is the empty text', () => {
    expect(formatPosition(new Map())).toBe('');
    expect(at('')).toEqual(new Map());
  });

  test.each([
    ['trees', 'is not topic.partition:offset'],
    ['trees.0:', 'is not topic.partition:offset'],
    ['trees.0:-1', 'is not topic.partition:offset'],
    ['trees.0:9007199254740993', 'is not topic.partition:offset'],
    ['trees.0:1,', 'is not topic.partition:offset'],
    ['trees.0:1,trees.0:2', 'names its partition a second time'],
    ["trees.0:1'; drop table events", 'is not topic.partition:offset'],
  ])('%p is refused with the reason and the remedy', (text, reason) => {
    expect(() => parsePosition(text)).toThrow(RangeError);
    expect(() => parsePosition(text)).toThrow(reason);
    expect(() => parsePosition(text)).toThrow('pass one that this server gave');
  });

  test('a position longer than any real one is refused unread', () => {
    expect(() => parsePosition('trees.0:1,'.repeat(30_000))).toThrow('at most 200000 characters');
  });
});

describe('reached', () => {
  test('a position is reached when each of its partitions is at or past its offset', () => {
    expect(reached(at('trees.0:5,trees.1:2'), at('trees.0:5,trees.1:1'))).toBe(true);
    expect(reached(at('trees.0:5,trees.1:2'), at('trees.0:6'))).toBe(false);
  });

  test('a partition without a cursor counts as unread', () => {
    expect(reached(at(''), at('trees.0:1'))).toBe(false);
    expect(reached(at(''), at('trees.0:0'))).toBe(true);
  });

  test('every position is reached by itself', () => {
    fc.assert(fc.property(offsets, (position) => reached(position, position)));
  });
});

test('the position after receipts is one past the last of each partition', () => {
  const receipt = (topic: string, partition: number, offset: number) => ({ topic, partition, offset });
  const after = positionAfter([receipt('trees', 1, 4), receipt('runs', 0, 0), receipt('trees', 1, 3)]);
  expect(formatPosition(after)).toBe('runs.0:1,trees.1:5');
});
