import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type RetrieveServer, startRetrieveServer } from '../../testing/retrieve-server.ts';
import { type HttpRetrieverOptions, openHttpRetriever } from './http-retriever.ts';
import { openLocalRetriever } from './local-retriever.ts';
import type { Retriever } from './retriever.ts';

const DOCUMENTS = [
  { id: '1', contents: '"Canary Islands"\nThe Canary Islands lie in the Atlantic.' },
  { id: '2', contents: '"Canary"\nA canary is a small bird.' },
  { id: '3', contents: '"Teide"\nTeide is a volcano in the Canary Islands.' },
];
const local = await openLocalRetriever(DOCUMENTS);

let server: RetrieveServer;
let opened: Retriever[];
beforeEach(async () => {
  server = await startRetrieveServer(local);
  opened = [];
});
afterEach(async () => {
  for (const retriever of opened) await retriever.close();
  await server.close();
});

async function open(options: Partial<HttpRetrieverOptions> = {}): Promise<Retriever> {
  const retriever = await openHttpRetriever({ urls: [server.url], timeoutMs: 5_000, pauseMs: 1, probes: ['bird'], ...options });
  opened.push(retriever);
  return retriever;
}
const asked = () => server.requests.length - 1; // without the probe
const status = (code: number) => ({ kind: 'status', status: code }) as const;

describe('the retrieval protocol', () => {
  test('a search sends one query with topk and scores, and returns documents with their scores', async () => {
    const retriever = await open();
    expect(await retriever.search(['volcano', 'small bird'], 2)).toEqual(await local.search(['volcano', 'small bird'], 2));
    expect(server.requests.slice(1)).toEqual(
      expect.arrayContaining([
        { query: 'volcano', topk: 2, return_scores: true },
        { query: 'small bird', topk: 2, return_scores: true },
      ]),
    );
    expect(asked()).toBe(2);
  });

  test('a search sends all queries at once to a server that accepts lists', async () => {
    const lists = await startRetrieveServer(local, 'queries');
    try {
      const retriever = await open({ urls: [lists.url], dialect: 'queries' });
      expect(await retriever.search(['volcano', 'bird'], 1)).toEqual(await local.search(['volcano', 'bird'], 1));
      expect(lists.requests.at(-1)).toEqual({ queries: ['volcano', 'bird'], topk: 1, return_scores: true });
    } finally {
      await lists.close();
    }
  });

  test('the index that servers name is part of the fingerprint, and servers of different indexes are refused', async () => {
    const [one, same, other] = await Promise.all(
      ['a', 'a', 'b'].map((index) => startRetrieveServer(local, 'query', { 'x-espalier-index': index })),
    );
    if (!one || !same || !other) throw new Error('three servers were started');
    try {
      const fingerprint = async (url: string) => (await open({ urls: [url] })).fingerprint;
      expect(await fingerprint(one.url)).toBe(await fingerprint(same.url));
      expect(await fingerprint(one.url)).not.toBe(await fingerprint(other.url));
      expect(await fingerprint(one.url)).not.toBe(await fingerprint(server.url));
      await expect(open({ urls: [one.url, other.url], probes: ['bird', 'volcano'] })).rejects.toMatchObject({
        code: 'protocol',
        message: 'the retrievers have different indexes: a, b; name those of one',
      });
    } finally {
      for (const each of [one, same, other]) await each.close();
    }
  });

  test('a search reads bare documents, numeric ids and documents without an id', async () => {
    const retriever = await open();
    server.fail({
      kind: 'body',
      body: '{"result": [[{"id": 7, "contents": "a"}, {"document": {"contents": "b"}, "score": 0.5}]]}',
    });
    expect(await retriever.search(['x'], 3)).toEqual([
      [
        { id: '7', contents: 'a', score: null },
        { id: 'b', contents: 'b', score: 0.5 },
      ],
    ]);
  });

  test('results beyond topk are discarded', async () => {
    const retriever = await open();
    server.fail({ kind: 'body', body: JSON.stringify({ result: [DOCUMENTS] }) });
    expect((await retriever.search(['x'], 2))[0]).toHaveLength(2);
  });

  test('an empty list of queries sends no request', async () => {
    const retriever = await open();
    expect(await retriever.search([], 3)).toEqual([]);
    expect(asked()).toBe(0);
  });

  test('the fingerprint depends on the documents found, not on the address', async () => {
    const twin = await startRetrieveServer(await openLocalRetriever(DOCUMENTS));
    const other = await startRetrieveServer(await openLocalRetriever(DOCUMENTS.slice(0, 1)));
    try {
      const [one, two, three] = [await open(), await open({ urls: [twin.url] }), await open({ urls: [other.url] })];
      expect(two.fingerprint).toBe(one.fingerprint);
      expect(three.fingerprint).not.toBe(one.fingerprint);
    } finally {
      await twin.close();
      await other.close();
    }
  });
});

describe('transient failures', () => {
  test('HTTP 408, 425, 429, 5xx, a cut connection and silence are retried', async () => {
    const retriever = await open({ timeoutMs: 1_000 });
    server.fail(...[408, 425, 429, 500, 502, 503, 504].map(status), { kind: 'cut' }, { kind: 'silent' });
    expect((await retriever.search(['volcano'], 1))[0]?.[0]?.id).toBe('3');
    expect(asked()).toBe(10);
  });

  test('a failure is final after ten attempts', async () => {
    const retriever = await open();
    server.fail(...Array.from({ length: 12 }, () => status(503)));
    await expect(retriever.search(['volcano'], 1)).rejects.toMatchObject({
      name: 'SearchFailure',
      code: 'unreachable',
      message: expect.stringContaining('HTTP 503'),
    });
    expect(asked()).toBe(10);
  });

  test('several servers take turns, and one that is down is skipped', async () => {
    const second = await startRetrieveServer(local);
    const retriever = await open({ urls: [server.url, second.url] });
    for (let i = 0; i < 3; i++) await retriever.search(['bird'], 1);
    expect([server.requests.length, second.requests.length]).toEqual([2, 2]);
    await second.close();
    for (let i = 0; i < 3; i++) expect((await retriever.search(['bird'], 1))[0]?.[0]?.id).toBe('2');
  });
});

describe('servers that ask for a pause', () => {
  const START = Date.parse('Sun, 06 Nov 1994 08:49:37 GMT');
  const put = (code: number, retryAfter: string) =>
    ({ kind: 'status', status: code, headers: { 'retry-after': retryAfter } }) as const;

  /** A clock that only waits move, and the waits. */
  function clock() {
    const waits: number[] = [];
    let at = START;
    return {
      waits,
      options: {
        pauseMs: 1_000,
        now: () => at,
        sleep: async (ms: number, signal: AbortSignal) => {
          signal.throwIfAborted();
          waits.push(ms);
          at += ms;
        },
      },
    };
  }

  test.each([
    [429, '30'],
    [503, 'Sun, 06 Nov 1994 08:50:07 GMT'],
  ])('HTTP %i with Retry-After %s is retried after 30 s, not before', async (code, retryAfter) => {
    const { waits, options } = clock();
    const retriever = await open(options);
    server.fail(put(code, retryAfter));
    expect((await retriever.search(['volcano'], 1))[0]?.[0]?.id).toBe('3');
    expect([asked(), waits]).toEqual([2, [1_000, 29_000]]);
  });

  test('a pausing server is not asked by another search either, and another server is asked meanwhile', async () => {
    const second = await startRetrieveServer(local);
    try {
      const { waits, options } = clock();
      const retriever = await open({ ...options, urls: [server.url, second.url] });
      server.fail(put(429, '60'));
      await Promise.all([retriever.search(['volcano'], 1), retriever.search(['bird'], 1)]);
      for (let i = 0; i < 3; i++) await retriever.search(['bird'], 1);
      expect([asked(), second.requests.length, waits]).toEqual([1, 5, [1_000]]);
    } finally {
      await second.close();
    }
  });

  test('a pause of more than two minutes is reported at once with its length, as unreachable', async () => {
    const { waits, options } = clock();
    const retriever = await open(options);
    server.fail(put(429, '3600'));
    await expect(retriever.search(['x'], 1)).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringMatching(/HTTP 429: .*; it asks to be left alone for 3599 s$/),
    });
    expect(waits).toEqual([1_000]);
  });

  test('a server that asks for a pause at the opening is waited for, since it exists', async () => {
    const { waits, options } = clock();
    server.fail(put(429, '2'), put(503, '1'));
    await open(options);
    expect(waits).toEqual([1_000, 1_000, 2_000]);
  });
});

describe('final failures', () => {
  test.each([
    [400, 'refused'],
    [413, 'refused'],
    [422, 'refused'],
    [401, 'protocol'],
    [404, 'protocol'],
    [501, 'protocol'],
  ])('HTTP %i is classified as %s, and only a complaint about the query counts against the query', async (code, kind) => {
    const retriever = await open();
    server.fail(status(code));
    await expect(retriever.search(['x'], 1)).rejects.toMatchObject({ code: kind });
    expect(asked()).toBe(1);
  });

  test.each([
    ['<html>hello</html>', 'no JSON'],
    ['{"result": "nothing"}', 'is not {"result"'],
    ['{"result": []}', '1 queries were answered with 0 lists'],
    ['{"result": [[{"document": {"id": "1"}}]]}', 'is not {"result"'],
  ])('%s is not a retrieval server', async (body, message) => {
    const retriever = await open();
    server.fail({ kind: 'body', body });
    await expect(retriever.search(['x'], 1)).rejects.toMatchObject({
      code: 'protocol',
      message: expect.stringContaining(message),
    });
    expect(asked()).toBe(1);
  });

  test('an endless answer is cut off', async () => {
    const retriever = await open();
    server.fail({ kind: 'body', body: 'x'.repeat(17 * 1024 * 1024) });
    await expect(retriever.search(['x'], 1)).rejects.toMatchObject({
      code: 'protocol',
      message: expect.stringContaining('longer than'),
    });
  });

  test('a missing server and a malformed address are reported at the opening', async () => {
    const gone = await startRetrieveServer(local);
    await gone.close();
    await expect(open({ urls: [gone.url] })).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('ECONNREFUSED'),
    });
    await expect(open({ urls: ['127.0.0.1:8000'] })).rejects.toThrow('is no http URL; write for example');
  });
});

test('a wait ends when the caller aborts and when the retriever is closed', async () => {
  const retriever = await open({ pauseMs: 60_000 });
  server.fail(status(503), status(503));
  const caller = new AbortController();
  const given = retriever.search(['x'], 1, caller.signal);
  caller.abort(new Error('enough'));
  await expect(given).rejects.toThrow('enough');
  const closed = retriever.search(['x'], 1);
  await retriever.close();
  await expect(closed).rejects.toMatchObject({ code: 'unreachable', message: 'the retriever is closed' });
});
