import fc from 'fast-check';
import { Broken, door } from '../door.ts';
import { type Client, statusesIn, talk } from '../raw-client.ts';

const KINDS = ['silent', 'half headers', 'dripping headers', 'half body', 'dripping body', 'reads nothing'] as const;
type Kind = (typeof KINDS)[number];

const HEAD = 'POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
const text = (...pieces: readonly string[]) => pieces.map((piece) => Buffer.from(piece));
const CLIENTS: Readonly<Record<Kind, Client>> = {
  silent: { pieces: [], pauseMs: 0, behind: 'wait', reads: 'all' },
  'half headers': { pieces: text(HEAD), pauseMs: 0, behind: 'wait', reads: 'all' },
  'dripping headers': { pieces: text('GET / HTTP/1.1\r\nX: ', ...'x'.repeat(200)), pauseMs: 500, behind: 'wait', reads: 'all' },
  'half body': { pieces: text(`${HEAD}Content-Length: 100\r\n\r\n{`), pauseMs: 0, behind: 'wait', reads: 'all' },
  'dripping body': {
    pieces: text(`${HEAD}Content-Length: 1000\r\n\r\n`, ...' '.repeat(200)),
    pauseMs: 500,
    behind: 'wait',
    reads: 'all',
  },
  // Some 20 MB of answers, more than the kernel takes in between.
  'reads nothing': {
    pieces: text('GET /v1/schemas HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(400)),
    pauseMs: 0,
    behind: 'wait',
    reads: 'nothing',
  },
};
/** How long the server lets each go on, ms: 10 s for headers, 60 s for a request, 120 s for a connection on which nothing moves; and some to notice. */
const LIMITS: Readonly<Record<Kind, number>> = {
  ...{ silent: 75_000, 'half headers': 15_000, 'dripping headers': 15_000 },
  ...{ 'half body': 65_000, 'dripping body': 65_000, 'reads nothing': 130_000 },
};

/** Clients that hold connections without using them, many at once. */
export const slowDoor = door<readonly Kind[]>({
  name: 'slow clients',
  share: 0.001,
  always: [
    Array.from({ length: 240 }, (_, i) => KINDS[i % KINDS.length] ?? 'silent'),
    Array.from({ length: 1_100 }, () => 'half headers'),
  ],
  cases: fc.array(fc.constantFrom(...KINDS.slice(0, 3)), { minLength: 50, maxLength: 200 }),
  way: {
    process: 'api',
    async send(stage, kinds) {
      const talks = await Promise.all(kinds.map((kind) => talk(stage.url.api, CLIENTS[kind], LIMITS[kind])));
      const statuses = talks.flatMap(({ received }) => statusesIn(received));
      const fault = statuses.find((status) => status >= 500);
      if (fault !== undefined) throw new Broken(`answered ${fault}`);
      const told = statuses.filter((status) => status === 408).length;
      return { kind: 'refused', code: `${told === 0 ? '' : '408, '}closed` };
    },
  },
});
