import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { LOCAL } from '../../../src/testing/local-token.ts';
import { type Client, statusesIn, talk } from '../raw-client.ts';
import type { Stage } from '../stage.ts';
import { Broken, target } from '../target.ts';

const KINDS = [
  'silent',
  'half headers',
  'dripping headers',
  'half body',
  'half operation',
  'dripping body',
  'reads nothing',
] as const;
type Kind = (typeof KINDS)[number];

const MINE = `Host: localhost\r\nAuthorization: ${LOCAL.authorization}\r\n`;
const HEAD = `POST /v1/events HTTP/1.1\r\n${MINE}Content-Type: application/json\r\n`;
const text = (...pieces: readonly string[]) => pieces.map((piece) => Buffer.from(piece));
const UNREAD = 400; // answers
const CLIENTS: Readonly<Record<Kind, Client>> = {
  silent: { pieces: [], pauseMs: 0, behind: 'wait', reads: 'all' },
  'half headers': { pieces: text(HEAD), pauseMs: 0, behind: 'wait', reads: 'all' },
  'dripping headers': { pieces: text('GET / HTTP/1.1\r\nX: ', ...'x'.repeat(200)), pauseMs: 500, behind: 'wait', reads: 'all' },
  'half body': { pieces: text(`${HEAD}Content-Length: 100\r\n\r\n{`), pauseMs: 0, behind: 'wait', reads: 'all' },
  'half operation': {
    pieces: text(`POST /graphql HTTP/1.1\r\n${MINE}Content-Length: 900000\r\n\r\n{`),
    pauseMs: 0,
    behind: 'wait',
    reads: 'all',
  },
  'dripping body': {
    pieces: text(`${HEAD}Content-Length: 1000\r\n\r\n`, ...' '.repeat(200)),
    pauseMs: 500,
    behind: 'wait',
    reads: 'all',
  },
  // Some 20 MB of answers, more than the kernel takes in between.
  'reads nothing': {
    pieces: text(`GET /v1/schemas HTTP/1.1\r\n${MINE}\r\n`.repeat(UNREAD)),
    pauseMs: 0,
    behind: 'wait',
    reads: 'nothing',
  },
};
/** How long the server lets each go on, ms: 10 s for headers, 60 s for a request, twice 120 s for answers that nobody reads. */
const GIVEN: Readonly<Record<Kind, number>> = {
  silent: 10_000,
  'half headers': 10_000,
  'dripping headers': 10_000,
  'half body': 60_000,
  'half operation': 60_000,
  'dripping body': 60_000,
  'reads nothing': 240_000,
};
const NOTICE_MS = 10_000; // it looks every second, and answers a thousand one after the other
const PAUSE_MS = 1_000; // between two good requests

/** Clients that hold connections without using them, many at once, while good requests go on. */
export const slowTarget = target<readonly Kind[]>({
  name: 'slow clients',
  share: 0.001,
  always: [
    Array.from({ length: 240 }, (_, i) => KINDS[i % KINDS.length] ?? 'silent'),
    Array.from({ length: 1_100 }, () => 'half headers'), // more than it holds at once
    Array.from({ length: 500 }, (_, i) => (i % 5 === 0 ? 'half operation' : 'half body')),
  ],
  cases: fc.array(fc.constantFrom(...KINDS.slice(0, 3)), { minLength: 50, maxLength: 200 }),
  way: {
    process: 'api',
    async send(stage, kinds) {
      const all = Promise.all(kinds.map((kind) => talk(stage.url.api, CLIENTS[kind], GIVEN[kind] + NOTICE_MS)));
      await servedUntil(stage, all);
      const talks = await all;
      const read = talks.filter((_, i) => kinds[i] === 'reads nothing').map(({ received }) => statusesIn(received).length);
      if (read.includes(UNREAD)) throw new Broken('answers were kept for a client that did not read them');
      const statuses = talks.flatMap(({ received }) => statusesIn(received));
      const fault = statuses.find((status) => status >= 500 && status !== 503);
      if (fault !== undefined) throw new Broken(`answered ${fault}`);
      const seen = [408, 503].filter((status) => statuses.includes(status)); // too slow; made room for others
      return { kind: 'refused', code: [...seen, 'closed'].join(', ') };
    },
  },
});

/** Sends good requests until something is settled, and one after that. @throws Broken when one is refused. */
async function servedUntil(stage: Stage, settled: Promise<unknown>): Promise<void> {
  const over = settled.then(
    () => true,
    () => true,
  );
  do await stage.good();
  while (!(await Promise.race([over, delay(PAUSE_MS, false)])));
}
