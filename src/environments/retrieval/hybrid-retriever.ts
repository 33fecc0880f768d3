import { sha256Hex } from '../../digest/sha256.ts';
import type { RetrievedDocument, Retriever } from './retriever.ts';

const RANK_OFFSET = 60; // of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)
const DEPTH = 50; // documents of each retriever that are looked at, or as many as are asked for

/**
 * Puts two retrievers of one corpus together by reciprocal rank fusion: a document's score is the sum of 1 / (60 + its rank) over
 * those that found it, ranks from 1; equal scores are ordered by id. Ranks alone count, since scores of words and of vectors have
 * no common measure. Documents are the same when their ids are. It closes both.
 */
export function hybridRetriever(words: Retriever, vectors: Retriever): Retriever {
  const both = [words, vectors];
  return {
    fingerprint: sha256Hex(JSON.stringify(['rrf', RANK_OFFSET, DEPTH, ...both.map(({ fingerprint }) => fingerprint)])),
    async search(queries, topK, signal) {
      const found = await Promise.all(both.map((each) => each.search(queries, Math.max(topK, DEPTH), signal)));
      return queries.map((_, i) => fuse(found.map((lists) => lists[i] ?? [])).slice(0, topK));
    },
    close: async () => {
      for (const each of both) await each.close();
    },
  };
}

/** Orders the documents of several lists, each best first. */
export function fuse(lists: readonly (readonly RetrievedDocument[])[]): readonly RetrievedDocument[] {
  const scored = new Map<string, RetrievedDocument & { readonly score: number }>();
  for (const list of lists)
    for (const [i, document] of list.entries()) {
      const before = scored.get(document.id);
      const score = (before?.score ?? 0) + 1 / (RANK_OFFSET + i + 1);
      scored.set(document.id, { ...(before ?? document), score });
    }
  return [...scored.values()].sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
}
