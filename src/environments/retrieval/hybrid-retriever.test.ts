import { describe, expect, test } from '@jest/globals';
import { fuse, hybridRetriever } from './hybrid-retriever.ts';
import type { Retriever } from './retriever.ts';

const documents = (...ids: readonly string[]) => ids.map((id, i) => ({ id, contents: `about ${id}`, score: 9 - i }));

function finding(fingerprint: string, ...ids: readonly string[]): Retriever & { closed: boolean } {
  return {
    fingerprint,
    closed: false,
    search: async (queries, topK) => queries.map(() => documents(...ids).slice(0, topK)),
    async close() {
      this.closed = true;
    },
  };
}

describe('hybridRetriever', () => {
  test('a document counts by the sum of 1 / (60 + rank), and equal ones are ordered by id', () => {
    expect(fuse([documents('a', 'b', 'c'), documents('c', 'b', 'd')]).map(({ id, score }) => [id, score])).toEqual([
      ['c', 1 / 63 + 1 / 61],
      ['b', 1 / 62 + 1 / 62],
      ['a', 1 / 61],
      ['d', 1 / 63],
    ]);
  });

  test('more is looked at than is asked for, so that what both find further down comes first', async () => {
    const hybrid = hybridRetriever(finding('words', 'a', 'x'), finding('vectors', 'b', 'x'));
    const [found] = await hybrid.search(['q'], 1);
    expect(found?.map(({ id }) => id)).toEqual(['x']);
  });

  test('its fingerprint follows from both, and it closes both', async () => {
    const [words, vectors] = [finding('words', 'a'), finding('vectors', 'a')];
    const hybrid = hybridRetriever(words, vectors);
    expect(hybrid.fingerprint).not.toBe(hybridRetriever(words, finding('others', 'a')).fingerprint);
    expect(hybrid.fingerprint).not.toBe(hybridRetriever(vectors, words).fingerprint);
    await hybrid.close();
    expect([words.closed, vectors.closed]).toEqual([true, true]);
  });
});
