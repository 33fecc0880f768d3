import fc from 'fast-check';
import { hostileText, TEXTS } from '../hostile-values.ts';
import { outcomeOf, request } from '../request.ts';
import { target } from '../target.ts';

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

const get = (path: string, headers: Readonly<Record<string, string>> = {}): Asked => ({ method: 'GET', path, headers });
const PATHS: readonly string[] = [
  ...[
    '/images/../../etc/passwd',
    '/images/..%2f..%2fetc%2fpasswd.png',
    '/images/%00.png',
    '/images//.png',
    '/images/.png',
    '/images/a.png/../b.png',
  ],
  ...[
    `/images/${'a'.repeat(64)}.png`,
    `/images/${'A'.repeat(64)}.png`,
    `/images/${'a'.repeat(63)}.png`,
    `/images/${'0'.repeat(64)}.png?x=../../y`,
  ],
  ...[
    `/images/${'0'.repeat(64)}.png#x`,
    `/images/${'g'.repeat(64)}.png`,
    `/images/${'0'.repeat(10_000)}.png`,
    '//images',
    '/%',
    '/%ff',
    '/\\',
    '/.',
    '/..;/',
  ],
  ...[
    '/graphql/../v1/events',
    '/v1/events/',
    '/V1/events',
    '/v1//events',
    '/healthz/',
    '/metrics?x',
    '*',
    'http://other/metrics',
    '/graphql/x',
    '/__proto__',
    '/constructor',
  ],
];

const safe = (text: string) =>
  text
    .toWellFormed()
    .replaceAll(/[^\x21-\x7e]/gu, (c) => encodeURIComponent(c))
    .slice(0, 4_000);
const headers = fc.dictionary(
  fc.constantFrom(
    'if-none-match',
    'authorization',
    'origin',
    'host',
    'x-forwarded-host',
    'range',
    'accept',
    'content-type',
    'referer',
    'sec-fetch-site',
    'expect',
    'upgrade',
  ),
  hostileText.map((text) => text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 2_000)),
  { maxKeys: 3 },
);

/** Paths, methods and headers: of images, and of anything else that might be one. */
export const imageTarget = target<Asked>({
  name: 'paths and images',
  always: [
    ...PATHS.map((path) => get(path)),
    ...TEXTS.map((text) => get(`/images/${safe(text)}.png`)),
    ...['[', 'a b', '', '@', '::', 'x'.repeat(8_000), '127.0.0.1:99999'].flatMap((host) => [
      get('/graphql?query={__typename}', { host }),
      get('/healthz', { host }),
      get('/', { host }),
    ]),
    get(`/images/${'a'.repeat(64)}.png`, { 'if-none-match': '"x",'.repeat(2_000) }),
  ],
  cases: fc.record({
    method: fc.constantFrom('GET', 'GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'PROPFIND'),
    path: fc.oneof(
      fc.constantFrom(...PATHS),
      hostileText.map((text) => `/images/${safe(text)}.png`),
      fc
        .tuple(
          fc.constantFrom('/', '/graphql?query=', '/graphql?variables=', '/v1/training/leases/', '/v1/', '/metrics?'),
          hostileText,
        )
        .map(([at, text]) => `${at}${safe(text)}`),
      fc
        .array(fc.integer({ min: 0, max: 15 }), { minLength: 64, maxLength: 64 })
        .map((digits) => `/images/${digits.map((d) => d.toString(16)).join('')}.png`),
    ),
    headers,
  }),
  way: {
    process: 'api',
    async send(stage, { method, path, headers: given }) {
      const answered = await request(`${stage.url.api}/`, { method, path, headers: given });
      // An answer to HEAD has no body to hold its reason, nor has a page for browsers.
      if (answered.status >= 400 && answered.status < 500 && (method === 'HEAD' || answered.text.startsWith('{"errors"')))
        return { kind: 'refused', code: `${answered.status}` };
      return outcomeOf(answered);
    },
  },
});
