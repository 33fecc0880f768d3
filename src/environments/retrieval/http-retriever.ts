import { sha256Hex } from '../../digest/sha256.ts';
import { retry, wait } from '../../runtime/retry.ts';
import { isPassingStatus, LONGEST_PAUSE_MS, retryAfterMs } from '../../runtime/retry-after.ts';
import { isHttpAddress, sendAddress } from '../../runtime/secret-address.ts';
import { SECRET_REMEDY, secretInUrl } from '../../runtime/secret-in-url.ts';
import { abridge, type RetrieveDialect, readAnswer, writeRequests } from './retrieve-protocol.ts';
import { type RetrievedDocument, type Retriever, SearchFailure } from './retriever.ts';

export interface HttpRetrieverOptions {
  /** The addresses of `POST /retrieve`, all with the same corpus; `/retrieve` is added to one without a path. */
  readonly urls: readonly [string, ...string[]];
  readonly dialect?: RetrieveDialect;
  /** The limit for one request, in milliseconds. */
  readonly timeoutMs?: number;
  /** How often a request is sent before its failure is final. */
  readonly attempts?: number;
  /** The wait after the n-th failure is n times this, in milliseconds. */
  readonly pauseMs?: number;
  /** What the server is asked at the opening, to take its fingerprint. */
  readonly probes?: readonly string[];
  /** Ms since 1970, and the wait; a test's own. */
  readonly now?: () => number;
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

const TIMEOUT_MS = 60_000; // the time-out, attempts and waits are those of Search-R1's client as AgentOCR configures it
const ATTEMPTS = 10;
const PAUSE_MS = 1_000;
const PROBES = ['capital', 'who was born first', 'river'];
const PROBED = 3; // documents looked at for each probe
const REFUSED_STATUS = new Set([400, 413, 414, 422]); // what a server says of the query itself
const ANSWER_LIMIT = 16 * 1024 * 1024; // bytes; an answer has a few kilobytes

/**
 * Opens a retriever that asks Search-R1 servers, in turn. A request that fails in a way that may pass (HTTP 408, 425, 429, 5xx,
 * no connection, no answer in time) is sent again, to the next server, after 1, 2, … 9 s, and to none before the end of the pause
 * that it asked for (`Retry-After`; one over two minutes ends the attempts). Any other failure is final. The protocol does not
 * say which corpus a server has, so its fingerprint is the SHA-256 of the documents it finds for the probes (scores left out:
 * they differ in their last bits between devices), with the name of the index where it sends one as `x-espalier-index`; the
 * opening asks each address once where nobody answers, so that a wrong one is reported at once.
 * @throws SearchFailure when the servers cannot be asked; RangeError for an address that is no http URL.
 */
export async function openHttpRetriever(options: HttpRetrieverOptions): Promise<Retriever> {
  const urls = options.urls.map(retrieveUrl);
  const { dialect = 'query', timeoutMs = TIMEOUT_MS, attempts = ATTEMPTS, pauseMs = PAUSE_MS, probes = PROBES } = options;
  const { now = Date.now, sleep = wait } = options;
  const closing = new AbortController();
  const indexes = new Set<string>(); // as the servers name them
  const resting = new Map<URL, number>(); // until when a server asked to be left alone, by whichever request
  let turn = 0;

  /** The next server in turn that does not rest at a time, or else the one that rests the shortest. */
  function next(at: number): { readonly url: URL; readonly restMs: number } {
    const inTurn = urls.map((_, i) => urls[(turn + i) % urls.length] as URL); // there is at least one
    const restMs = (url: URL) => Math.max(0, (resting.get(url) ?? 0) - at);
    const url = inTurn.reduce((best, each) => (restMs(each) < restMs(best) ? each : best));
    turn = urls.indexOf(url) + 1;
    return { url, restMs: restMs(url) };
  }

  function ask(body: string, unanswered: number, signal: AbortSignal): Promise<string> {
    let [silent, again] = [0, false];
    let failure: SearchFailure | null = null;
    const askNext = async (): Promise<string> => {
      again = false;
      const { url, restMs } = next(now());
      if (restMs > LONGEST_PAUSE_MS)
        throw new SearchFailure(
          'unreachable',
          `${failure?.message ?? `${url} is not asked`}; it asks to be left alone for ${Math.ceil(restMs / 1_000)} s`,
        );
      if (restMs > 0) await sleep(restMs, signal);
      const outcome = await send(url, body, timeoutMs, signal);
      if (outcome.kind === 'answered') {
        if (outcome.index !== null) indexes.add(outcome.index);
        return outcome.body;
      }
      again = outcome.kind === 'passing' || (outcome.kind === 'silent' && ++silent < unanswered);
      const asked = outcome.kind === 'passing' ? retryAfterMs(outcome.header, now()) : null;
      if (asked !== null) resting.set(url, now() + asked);
      failure = outcome.failure;
      throw failure;
    };
    return retry(askNext, {
      signal,
      sleep,
      pauseMs: (tries) => pauseMs * tries,
      again: ({ tries }) => again && tries < attempts,
    });
  }

  async function search(
    queries: readonly string[],
    topK: number,
    unanswered: number,
    signal: AbortSignal,
  ): Promise<readonly (readonly RetrievedDocument[])[]> {
    if (queries.length === 0) return [];
    const answers = writeRequests(queries, topK, dialect).map(async ({ body, lists }) =>
      readAnswer(await ask(body, unanswered, signal), lists, topK),
    );
    return (await Promise.all(answers)).flat();
  }

  const found = await search(probes, PROBED, urls.length, closing.signal);
  if (indexes.size > 1)
    throw new SearchFailure('protocol', `the retrievers have different indexes: ${[...indexes].join(', ')}; name those of one`);
  return {
    fingerprint: fingerprintOf(probes, found, [...indexes]),
    search: async (queries, topK, signal) => {
      try {
        return await search(queries, topK, attempts, signal ? AbortSignal.any([signal, closing.signal]) : closing.signal);
      } catch (error) {
        signal?.throwIfAborted(); // a broken wait has an error of its own
        if (closing.signal.aborted) throw new SearchFailure('unreachable', 'the retriever is closed', { cause: error });
        throw error;
      }
    },
    close: async () => closing.abort(),
  };
}

type Outcome =
  | { readonly kind: 'answered'; readonly body: string; readonly index: string | null }
  /** The server says that it cannot now. */
  | { readonly kind: 'passing'; readonly failure: SearchFailure; readonly header: (name: string) => string | null }
  /** Nobody answered. */
  | { readonly kind: 'silent'; readonly failure: SearchFailure }
  | { readonly kind: 'final'; readonly failure: SearchFailure };

/** Sends one request and waits for the whole answer. Connections are kept and shared, as `fetch` does it. */
async function send(url: URL, body: string, timeoutMs: number, signal: AbortSignal): Promise<Outcome> {
  // By hand: Node 20 keeps a trace of every `AbortSignal.any` in a signal that outlives it, and the timer of
  // `AbortSignal.timeout` runs on.
  const request = new AbortController();
  const stop = () => request.abort();
  let late = false;
  const limit = setTimeout(() => {
    late = true;
    stop();
  }, timeoutMs);
  signal.addEventListener('abort', stop);
  const { url: target, headers, hide } = sendAddress(url);
  if (target.pathname === '/') target.pathname = '/retrieve';
  try {
    signal.throwIfAborted();
    const response = await fetch(target, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
      body,
      signal: request.signal,
    });
    const text = hide(await readText(response));
    if (response.ok) return { kind: 'answered', body: text, index: response.headers.get('x-espalier-index') };
    const said = `${url} answered HTTP ${response.status}: ${abridge(text)}`;
    if (isPassingStatus(response.status))
      return {
        kind: 'passing',
        failure: new SearchFailure('unreachable', said),
        header: (name) => response.headers.get(name),
      };
    const code = REFUSED_STATUS.has(response.status) ? 'refused' : 'protocol';
    return { kind: 'final', failure: new SearchFailure(code, said) };
  } catch (error) {
    if (error instanceof SearchFailure) return { kind: 'final', failure: error };
    signal.throwIfAborted();
    const message = late ? `${url} has not answered within ${timeoutMs} ms` : `cannot reach ${url}: ${hide(reasonOf(error))}`;
    return { kind: 'silent', failure: new SearchFailure('unreachable', message) };
  } finally {
    clearTimeout(limit);
    signal.removeEventListener('abort', stop);
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > ANSWER_LIMIT) throw new SearchFailure('protocol', `the answer is longer than ${ANSWER_LIMIT} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function retrieveUrl(text: string): URL {
  if (!isHttpAddress(text))
    throw new RangeError(
      `${JSON.stringify(text.slice(0, 200))} is no http URL; write for example http://127.0.0.1:8000/retrieve`,
    );
  const secret = secretInUrl(text);
  if (secret !== null) throw new RangeError(`the address of the retriever holds ${secret}: ${SECRET_REMEDY}`);
  const url = new URL(text);
  if (url.pathname === '/') url.pathname = '/retrieve';
  return url;
}

/** `fetch` says only "fetch failed" and carries the reason, or several when a name has several addresses, in its cause. */
function reasonOf(error: unknown): string {
  const cause = (error as { cause?: { message?: string; code?: string } } | null)?.cause; // read by field: whatever was thrown
  return cause?.message || cause?.code || String((error as { message?: unknown } | null)?.message ?? error);
}

function fingerprintOf(
  probes: readonly string[],
  found: readonly (readonly RetrievedDocument[])[],
  indexes: readonly string[],
): string {
  const answers = found.map((documents, i) => [probes[i], documents.map(({ id, contents }) => [id, contents])]);
  return sha256Hex(JSON.stringify(['retrieve', answers, ...indexes]));
}
