import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { EventBuilder } from '../../../src/testing/event-builder.ts';
import { LOCAL } from '../../../src/testing/local-token.ts';
import { type Damage, damage, damaged } from '../hostile-values.ts';
import { statusesIn, talk } from '../raw-client.ts';
import { Broken, LIMIT_MS, target } from '../target.ts';

interface Sent {
  readonly bytes: Buffer;
  /** Where it is cut into writes. */
  readonly cuts: readonly number[];
  /**
   * Whether the client says behind it that nothing follows: requests that are not answered then are dropped. Else the last one
   * asks for the end.
   */
  readonly behind: 'end' | 'wait';
}

const CRLF = '\r\n';
const TOKEN = `Authorization: ${LOCAL.authorization}`;
const post = (headers: readonly string[], body: string | Buffer, path = '/v1/events') =>
  Buffer.concat([
    Buffer.from(
      [`POST ${path} HTTP/1.1`, 'Host: localhost', TOKEN, 'Content-Type: application/json', ...headers, '', ''].join(CRLF),
      'latin1',
    ),
    Buffer.from(body),
  ]);
const sized = (body: string | Buffer, path?: string) => post([`Content-Length: ${Buffer.byteLength(body)}`], body, path);
const get = (path: string, ...headers: readonly string[]) =>
  Buffer.from([`GET ${path} HTTP/1.1`, 'Host: localhost', TOKEN, ...headers, '', ''].join(CRLF), 'latin1');
const chunked = (chunks: string) => post(['Transfer-Encoding: chunked'], chunks);
const plain = (bytes: Buffer | string): Sent => ({ bytes: Buffer.from(bytes), cuts: [], behind: 'end' });
/** Whole requests, and a last one that asks for the end of the connection. */
const whole = (...requests: readonly Buffer[]): Sent => ({
  bytes: Buffer.concat([...requests, get('/healthz', 'Connection: close')]),
  cuts: [],
  behind: 'wait',
});

/** A good event, by its number. */
const good = (n: number) => JSON.stringify(runOf(n));
/** One that is refused, however much of it arrives: nothing of a connection that breaks off may show in the log. */
const bad = JSON.stringify({ ...runOf(0), sequence: -1 });
function runOf(n: number): object {
  const builder = new EventBuilder(`http ${n}`);
  builder.run();
  return { ...builder.events[0] };
}
const zeros = gzipSync(Buffer.alloc(64 * 2 ** 20));

const ALWAYS: readonly Sent[] = [
  ...[
    '',
    '\r\n\r\n',
    '\0\0\0\0',
    'GET',
    'GET / HTTP/9.9\r\n\r\n',
    'G\u00ffT / HTTP/1.1\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    '\x16\x03\x01\x02\x00\x01\x00',
    'GET  /  HTTP/1.1\r\n\r\n',
  ].map((text) => plain(Buffer.from(text, 'latin1'))),
  ...[
    get('/healthz', `X: ${'x'.repeat(20_000)}`),
    get('/healthz', ...Array.from({ length: 3_000 }, (_, i) => `X${i}: 1`)),
    get(`/${'x'.repeat(20_000)}`),
    get('/healthz', 'X\0: 1'),
    get('/healthz', 'X: a\nb'),
  ].map(plain),
  ...[
    get('/healthz', 'Host: other'),
    get('/healthz', 'Content-Length: -1'),
    get('/healthz', 'Content-Length: 1e3'),
    get('/healthz', 'Expect: x'),
    get('/healthz', 'Expect: 100-continue'),
    get('/graphql', 'Upgrade: websocket', 'Connection: Upgrade'),
  ].map(plain),
  // Lengths that are wrong, said twice, or said in two ways: what smuggles a request past who reads them otherwise.
  ...[
    post(['Content-Length: 5'], bad),
    post(['Content-Length: 99999'], bad),
    post(['Content-Length: 5', 'Content-Length: 6'], bad),
    post(['Content-Length: 5', 'Transfer-Encoding: chunked'], bad),
  ].map(plain),
  ...[
    post(['Content-Length: 99999999999999999999'], ''),
    post(['Content-Length: 40000000'], 'x'),
    post(['Transfer-Encoding: gzip, chunked'], ''),
    post(['Transfer-Encoding: x'], 'x'),
    post([], bad),
  ].map(plain),
  ...[
    'zz\r\n',
    '-1\r\n',
    'ffffffffffffffff\r\nx',
    '5\r\nab\r\n0\r\n\r\n',
    `1;${'x'.repeat(20_000)}\r\na\r\n0\r\n\r\n`,
    '5\r\nabcde',
    '0\r\n\r\n',
    `0\r\n${'X: y\r\n'.repeat(3_000)}\r\n`,
    `${'1\r\n \r\n'.repeat(20_000)}0\r\n\r\n`,
  ].map((chunks) => plain(chunked(chunks))),
  // Bombs, at targets that inflate and at one that does not.
  ...['/v1/events', '/v1/training/leases', '/graphql'].flatMap((path) => [
    plain(post(['Content-Encoding: gzip', `Content-Length: ${zeros.length}`], zeros, path)),
    plain(post(['Content-Encoding: gzip, gzip', `Content-Length: ${zeros.length}`], zeros, path)),
    plain(post(['Content-Encoding: br', `Content-Length: ${zeros.length}`], zeros, path)),
    plain(post(['Content-Encoding: gzip', 'Content-Length: 5'], '\x1f\x8b\x08\x00\x00', path)),
    plain(post(['Transfer-Encoding: chunked'], `2\r\n{}\r\n0\r\n\r\n`, path)),
  ]),
  // Many requests at once on one connection: good ones, bad ones between them, and garbage behind a good one.
  whole(...Array.from({ length: 200 }, () => get('/healthz'))),
  whole(...Array.from({ length: 20 }, (_, i) => sized(good(i)))),
  whole(sized(good(201)), sized('{'), sized(good(202)), get('/nothing'), sized('{"query":"{__typename}"}', '/graphql')),
  { bytes: Buffer.concat([sized(good(203)), Buffer.from('garbage\r\n\r\n')]), cuts: [], behind: 'wait' },
];

const requests = fc.oneof(
  fc.constantFrom(...ALWAYS.filter(({ bytes, behind }) => behind === 'end' && bytes.length < 60_000).map(({ bytes }) => bytes)),
  fc.constant(sized(bad)),
  fc.constantFrom('/', '/healthz', '/metrics', '/graphql', '/v1/schemas', '/v1/training/leases').map((path) => get(path)),
  fc.nat({ max: 800 }).map((length) => post([`Content-Length: ${length}`], bad)),
);

/** Bytes on a connection, as no client of a library would send them. */
export const httpTarget = target<Sent>({
  name: 'HTTP',
  always: ALWAYS,
  cases: fc
    .record({
      requests: fc.array(requests, { minLength: 1, maxLength: 4 }),
      harms: fc.array(damage, { maxLength: 2 }),
      cuts: fc.array(fc.nat(), { maxLength: 4 }),
    })
    .map(({ requests: all, harms, cuts }) => ({
      bytes: harms.reduce((bytes: Buffer, harm: Damage) => damaged(bytes, harm), Buffer.concat(all)),
      cuts,
      behind: 'end' as const,
    })),
  way: {
    process: 'api',
    async send(stage, { bytes, cuts, behind }) {
      const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
      const pieces = places.slice(1).map((to, i) => bytes.subarray(places[i], to));
      const { received } = await talk(stage.url.api, { pieces, pauseMs: 1, behind, reads: 'all' }, LIMIT_MS);
      const statuses = statusesIn(received);
      const fault = statuses.find((status) => status >= 500);
      if (fault !== undefined) throw new Broken(`answered ${fault}: ${received.slice(0, 500)}`);
      const appended = [...received.matchAll(/"appended":(\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0);
      const refusals = statuses.filter((status) => status >= 400);
      const reasons =
        [...received.matchAll(/"error":\{"code":"[^"]+","message":"[^"]/g)].length +
        [...received.matchAll(/\{"errors":\[/g)].length;
      if (reasons < refusals.length)
        throw new Broken(`${refusals.length} refusals with ${reasons} reasons: ${received.slice(0, 600)}`);
      if (appended > 0 || refusals.length === 0)
        return statuses.length === 0 ? { kind: 'refused', code: 'closed' } : { kind: 'accepted', appended };
      return { kind: 'refused', code: [...new Set(refusals)].sort().join(' ') };
    },
  },
});
