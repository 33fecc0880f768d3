import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { EventBuilder } from '../../src/testing/event-builder.ts';
import { everyEvent } from '../../src/testing/every-event.ts';
import { LOCAL } from '../../src/testing/local-token.ts';
import type { Failure } from '../../src/testing/openai-server.ts';
import { edited, edits, hostileString } from './edits.ts';
import type { Stage } from './stage.ts';

/** What is written to a connection, in pieces of Latin-1. */
interface Sent {
  readonly server: 'api' | 'policy';
  readonly pieces: readonly string[];
  /** Signals after the last piece that nothing follows, or stops in the middle and leaves. */
  readonly finish: 'end' | 'leave';
}

const CRLF = '\r\n';
const OPEN_MS = 75_000; // a request may take 60 s to arrive
const LEAVE_MS = 50;

const head = (line: string, headers: readonly string[]) =>
  Buffer.from([line, 'Host: localhost', `Authorization: ${LOCAL.authorization}`, ...headers, '', ''].join(CRLF), 'latin1');
const post = (path: string, body: Buffer, ...headers: readonly string[]) =>
  Buffer.concat([head(`POST ${path} HTTP/1.1`, ['Content-Type: application/json', ...headers]), body]);
const sized = (path: string, body: Buffer, ...headers: readonly string[]) =>
  post(path, body, `Content-Length: ${body.length}`, ...headers);
const jsonOf = (value: unknown) => Buffer.from(JSON.stringify(value));

const chat = {
  model: 'random',
  messages: [{ role: 'user', content: "Goal: craft a stick.\nWhat you can do now: ['look'\n 'go north']" }],
  admissible_actions: ['look', 'go north'],
};
const lease = { policyId: 'hostile', consumer: 'trainer', ttlMs: 1_000, waitMs: 0, layout: 'step' };
const query = { query: 'query($id: ID!) { runs(first: 2) { nodes { id } } run(id: $id) { id name } }', variables: { id: 'x' } };
const live = { query: 'subscription($after: String) { events(after: $after) { id data } }', variables: { after: '' } };
const events = everyEvent();
/** A run with a tree under ids that nobody had: taken as a whole. */
const run = fc.nat(2 ** 31 - 1).map((n) => {
  const builder = new EventBuilder(`hostile ${n}`);
  builder.walk(builder.tree(builder.run()), 0, 3, 1);
  return builder.events;
});

/** Bodies of every endpoint that takes one, edited, and compressed or said to be. */
const body = fc
  .record({
    path: fc.oneof(
      fc.constantFrom(...events).map((event) => ({ path: '/v1/events', bytes: jsonOf(event) })),
      run.map((all) => ({ path: '/v1/events', bytes: jsonOf(all) })),
      fc.constantFrom(
        { path: '/v1/training/leases', bytes: jsonOf(lease) },
        { path: '/graphql', bytes: jsonOf(query) },
        { path: '/graphql', bytes: jsonOf(live) },
        { path: '/v1/chat/completions', bytes: jsonOf(chat) },
        { path: '/v1/proxy/hostile/task/0/chat/completions', bytes: jsonOf(chat) },
        { path: '/v1/traces', bytes: jsonOf({ resourceSpans: [{ scopeSpans: [{ spans: [] }] }] }) },
      ),
    ),
    edits,
    encoding: fc.constantFrom('plain', 'plain', 'plain', 'gzip', 'gzip in name only', 'br', 'gzip, gzip'),
  })
  .map(({ path: { path, bytes }, edits: all, encoding }) => {
    const whole = edited(bytes, all);
    if (encoding === 'plain') return sized(path, whole);
    return sized(
      path,
      encoding === 'gzip' ? gzipSync(whole) : whole,
      `Content-Encoding: ${encoding.replace(' in name only', '')}`,
    );
  });

const bad = jsonOf({ ...events[0], sequence: -1 }); // refused, however much of it arrives
const zeros = gzipSync(Buffer.alloc(64 * 2 ** 20));
/** Lengths that are wrong, given twice or in two ways, chunks that are none, bombs, and what is no HTTP. */
const MALFORMED: readonly Buffer[] = [
  ...[
    '',
    '\r\n\r\n',
    'GET',
    'GET / HTTP/9.9\r\n\r\n',
    'G\u00ffT / HTTP/1.1\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    '\x16\x03\x01',
  ].map((text) => Buffer.from(text, 'latin1')),
  ...[
    `X: ${'x'.repeat(20_000)}`,
    'X\0: 1',
    'X: a\nb',
    'Host: other',
    'Content-Length: 1e3',
    'Expect: x',
    'Upgrade: websocket',
  ].map((header) => head('GET /graphql HTTP/1.1', [header])),
  ...['5', '99999', '5\r\nContent-Length: 6', '5\r\nTransfer-Encoding: chunked', '99999999999999999999', '-1'].map((length) =>
    post('/v1/events', bad, `Content-Length: ${length}`),
  ),
  ...['gzip, chunked', 'x', 'chunked\r\nTransfer-Encoding: identity'].map((coding) =>
    post('/v1/events', bad, `Transfer-Encoding: ${coding}`),
  ),
  ...[
    'zz\r\n',
    '-1\r\n',
    'ffffffffffffffff\r\nx',
    '5\r\nab\r\n0\r\n\r\n',
    '5\r\nabcde',
    `0\r\n${'X: y\r\n'.repeat(3_000)}\r\n`,
  ].map((chunks) => post('/v1/events', Buffer.from(chunks), 'Transfer-Encoding: chunked')),
  ...['/v1/events', '/graphql', '/v1/training/leases'].map((path) => sized(path, zeros, 'Content-Encoding: gzip')),
  Buffer.concat(Array.from({ length: 200 }, () => head('GET /healthz HTTP/1.1', []))),
];
const latin = (text: string) =>
  text.replaceAll(/[^\x21-\x7e]/g, (sign) => encodeURIComponent(sign.toWellFormed())).slice(0, 4_000);
const path = fc
  .tuple(
    fc.constantFrom('GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND'),
    fc.constantFrom(
      '/',
      '/images/',
      '/graphql?query=',
      '/v1/training/leases/',
      '/v1/tables/steps?',
      '/metrics?',
      'http://other/',
    ),
    hostileString,
    fc.constantFrom('Accept', 'Origin', 'Sec-Fetch-Site', 'If-None-Match', 'Range', 'X-Forwarded-Host', 'Espalier-Project'),
  )
  .map(([method, at, text, header]) => head(`${method} ${at}${latin(text)} HTTP/1.1`, [`${header}: ${latin(text)}`]));

const sent: fc.Arbitrary<Sent> = fc
  .record({
    server: fc.constantFrom('api', 'api', 'api', 'policy'),
    requests: fc.array(fc.oneof({ weight: 4, arbitrary: body }, path, fc.constantFrom(...MALFORMED)), {
      minLength: 1,
      maxLength: 3,
    }),
    cuts: fc.array(fc.nat(), { maxLength: 3 }),
    finish: fc.constantFrom('end', 'end', 'leave'),
  })
  .map(({ server, requests, cuts, finish }) => {
    const bytes = Buffer.concat(requests).toString('latin1');
    const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
    return { server, finish, pieces: places.slice(1).map((to, i) => bytes.slice(places[i], to)) };
  });

/** Any bytes on a connection are answered without a fault of the server, each refusal with its reason, and the connection ends. */
export function socketsProperty(stage: Stage): fc.IAsyncProperty<[Sent]> {
  return fc.asyncProperty(sent, async ({ server, pieces, finish }) => {
    const received = await talk(stage.url[server], pieces, finish);
    const statuses = statusesOf(received);
    // 502 and 503 name what does not answer: the model server, the projector
    const fault = statuses.find((status) => status >= 500 && status !== 502 && status !== 503);
    if (fault !== undefined) throw new Error(`answered ${fault}: ${received.slice(0, 500)}`);
    const reasons =
      received.match(/"error":\{"code":"[^"]+","message":"[^"]|\{"errors":\[|"error":\{"message":"[^"]/g)?.length ?? 0;
    const refusals = statuses.filter((status) => status >= 400).length;
    if (finish === 'end' && reasons < refusals && !/HEAD /.test(pieces.join('')))
      throw new Error(`${refusals} refusals with ${reasons} reasons: ${received.slice(-1_000)}`);
  });
}

/** A model server may reply anything: the proxy passes it on or names it as the fault, and the next call is answered. */
export function repliesProperty(stage: Stage): fc.IAsyncProperty<[Failure, string, boolean]> {
  return fc.asyncProperty(failure, fc.constantFrom('chat/completions', 'responses'), fc.boolean(), async (bad, what, stream) => {
    const send = async () => {
      const response = await fetch(`${stage.url.api}/v1/proxy/${stage.recorded.runId}/task/0/${what}`, {
        method: 'POST',
        headers: { ...LOCAL, 'content-type': 'application/json' },
        body: JSON.stringify(what === 'responses' ? { model: 'm', input: 'x', stream } : { ...chat, stream }),
        signal: AbortSignal.timeout(OPEN_MS),
      });
      return { status: response.status, text: await response.text().catch(String) };
    };
    stage.upstream.fail(bad);
    const { status, text } = await send();
    if (status === 500 && bad.kind !== 'status') throw new Error(`answered 500: ${text.slice(0, 500)}`);
  });
}
const failure: fc.Arbitrary<Failure> = fc.oneof(
  { weight: 5, arbitrary: edits.map((all): Failure => ({ kind: 'body', body: edited(GOOD_REPLY, all).toString() })) },
  edits.map((all): Failure => ({ kind: 'status', status: 500, body: edited(GOOD_REPLY, all).toString() })),
  fc.constantFrom<Failure>({ kind: 'reset', when: 'before-headers' }, { kind: 'reset', when: 'within-body' }),
);
const GOOD_REPLY = jsonOf({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 0,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Action: look' }, finish_reason: 'stop', logprobs: null }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
});

/** Writes the pieces to a connection, and returns what the server sent until it ended the connection. */
async function talk(url: string, pieces: readonly string[], finish: Sent['finish']): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let received = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text;
    // a live tail has no end
    if (/text\/event-stream/.test(received) && received.endsWith('\n\n')) socket.destroy();
  });
  return new Promise((resolve, reject) => {
    socket.setTimeout(OPEN_MS, () => {
      socket.destroy();
      reject(new Error(`the connection was open for ${OPEN_MS} ms, and received ${received.slice(0, 200)}`));
    });
    socket.once('close', () => resolve(received)).once('end', () => socket.destroy());
    socket.on('error', () => undefined); // a reset is an end
    for (const piece of pieces) socket.write(piece, 'latin1');
    if (finish === 'end') socket.end();
    else setTimeout(() => socket.destroy(), LEAVE_MS);
  });
}

function statusesOf(received: string): readonly number[] {
  return [...received.matchAll(/(?:^|[\n}])HTTP\/1\.[01] (\d{3}) /g)].map(([, code]) => Number(code));
}
