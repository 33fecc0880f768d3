import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type RetrieveServer, startRetrieveServer } from '../../testing/retrieve-server.ts';
import { openHttpRetriever } from '../retrieval/http-retriever.ts';
import { openLocalRetriever } from '../retrieval/local-retriever.ts';
import type { Retriever } from '../retrieval/retriever.ts';
import { search } from './search.ts';

const documents = [
  { id: 'a', contents: 'The river of Tolmar.' },
  { id: 'b', contents: 'The capital of Kessin.' },
];
const signal = new AbortController().signal;
let local: Retriever;
let server: RetrieveServer;
let remote: Retriever;
beforeAll(async () => {
  local = await openLocalRetriever(documents);
  server = await startRetrieveServer(local, 'queries');
  remote = await openHttpRetriever({ urls: [server.url], dialect: 'queries', attempts: 2, pauseMs: 1 });
});
afterAll(async () => {
  await remote.close();
  await server.close();
});

test('the tool returns the same documents as JSON over HTTP and in memory', async () => {
  for (const retriever of [local, remote]) {
    const found = await search(retriever, { topK: 1 }).execute({ query: 'Tolmar' }, signal);
    expect(found).toBe('{"results":["The river of Tolmar."]}');
  }
});

test('calls of one turn share one request', async () => {
  const before = server.requests.length;
  const found = await search(remote, { topK: 1 }).executeBatch?.(
    [{ query: 'Tolmar' }, { query: 'Kessin' }, { query: '?' }],
    signal,
  );
  expect(found).toEqual(['{"results":["The river of Tolmar."]}', '{"results":["The capital of Kessin."]}', '{"results":[]}']);
  expect(server.requests.slice(before)).toHaveLength(1);
});

test('a refused query is shown to the model, and a missing or failing server makes the tool unavailable', async () => {
  server.fail({ kind: 'status', status: 400 });
  expect(await search(remote, { topK: 1 }).execute({ query: 'x' }, signal)).toMatchObject({
    content: expect.stringContaining('{"error":"'),
    success: false,
  });
  server.fail({ kind: 'status', status: 503 }, { kind: 'cut' });
  await expect(search(remote, { topK: 1 }).execute({ query: 'x' }, signal)).rejects.toMatchObject({ name: 'ToolUnavailable' });
  server.fail({ kind: 'status', status: 404 });
  await expect(search(remote, { topK: 1 }).execute({ query: 'x' }, signal)).rejects.toMatchObject({ name: 'ToolUnavailable' });
});

test('a search earns what the tools of March 2025 paid', () => {
  const rewardOf = (pays: 'search' | 'wiki_search', output: string) => search(local, { topK: 1, pays }).reward?.({}, output);
  expect([rewardOf('search', '{"results":[]}'), rewardOf('search', '{"error":"x"}')]).toEqual([0.1, 0]);
  expect([rewardOf('wiki_search', '{"results":[]}'), rewardOf('wiki_search', '{"error":"x"}')]).toEqual([0, -0.1]);
  expect(search(local, { topK: 1 }).reward).toBeUndefined();
});
