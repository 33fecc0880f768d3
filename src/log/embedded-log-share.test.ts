import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Shareable, shareOf } from './embedded-log-share.ts';

const partitions = (topicId: number, count: number): Shareable[] =>
  Array.from({ length: count }, (_, partition) => ({ partitionId: topicId * 1_000 + partition, topicId, partition }));

test('every partition belongs to exactly one member that reads its topic, and the shares of a topic differ by at most one', () => {
  const sessions = fc.uniqueArray(fc.integer({ min: 1, max: 99_999 }), { minLength: 1, maxLength: 7 });
  const topics = fc.array(fc.record({ count: fc.integer({ min: 1, max: 12 }), sessions }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(topics, (list) => {
      const all = list.flatMap(({ count }, topicId) => partitions(topicId, count));
      const members = new Map(list.map((topic, topicId) => [topicId, topic.sessions]));
      const everyone = [...new Set(list.flatMap((topic) => topic.sessions))];
      const shares = new Map(everyone.map((session) => [session, shareOf(session, all, members)]));
      for (const [topicId, { sessions: readers }] of list.entries()) {
        const own = all.filter((p) => p.topicId === topicId);
        for (const { partitionId } of own) {
          const owners = everyone.filter((session) => shares.get(session)?.has(partitionId));
          expect(owners).toHaveLength(1);
          expect(readers).toContain(owners[0]);
        }
        const sizes = readers.map((session) => own.filter((p) => shares.get(session)?.has(p.partitionId)).length);
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      }
    }),
  );
});

test('topics with one partition are spread over the members', () => {
  const topics = [1, 2, 3, 4].flatMap((topicId) => partitions(topicId, 1));
  const members = new Map([1, 2, 3, 4].map((topicId) => [topicId, [70, 50]]));
  expect(shareOf(50, topics, members).size).toBe(2);
  expect(shareOf(70, topics, members).size).toBe(2);
});
