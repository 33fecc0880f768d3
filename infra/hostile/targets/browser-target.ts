import fc from 'fast-check';
import { linkTo } from '../../../src/http/local-access.ts';
import { LOCAL_TOKEN } from '../../../src/testing/local-token.ts';
import { type Attack, openVictim, type Victim } from '../browser/victim.ts';
import { Broken, type Outcome, target } from '../target.ts';

const EVENT = JSON.stringify({ id: 'x', type: 'RunStarted' });
const QUERY = '{"query":"{ runs(first: 1) { nodes { name } } }"}';
const MUTATION = JSON.stringify({
  query: 'mutation { annotate(annotations: [{ tree: "00000000-0000-4000-8000-000000000000", label: "forged" }]) { ids } }',
});
const PATHS = [
  '/graphql?query={runs(first:1){nodes{name}}}',
  '/graphql?query=mutation{retractAnnotations(ids:[]){ids}}',
  '/graphql',
  '/v1/events',
  '/v1/training/leases',
  '/metrics',
  '/v1/schemas',
  '/',
];
const SITES = ['another site', 'another port', 'a rebound name'] as const;
const WAYS = [
  'cors',
  'no-cors',
  'json',
  'image',
  'script',
  'style',
  'frame',
  'object',
  'form',
  'form in a frame',
  'beacon',
  'events',
  'link',
] as const;

/** What a page that the same person has open tries, or the way that the person goes. */
type Tried = Attack | { readonly from: 'its own page' };

const ALWAYS: readonly Tried[] = [
  { from: 'its own page' },
  ...SITES.flatMap((from) =>
    WAYS.flatMap((way) =>
      ['/graphql', '/v1/events'].map((path) => ({ from, way, path, body: path === '/graphql' ? QUERY : EVENT })),
    ),
  ),
  ...SITES.flatMap((from) => WAYS.map((way) => ({ from, way, path: '/graphql', body: MUTATION }))),
];

let open: Promise<Victim> | undefined; // from the first case to the last

/** A real browser, in which the person who uses the server opens pages of others. */
export const browserTarget = target<Tried>({
  name: 'browser',
  share: 0.02,
  always: ALWAYS,
  cases: fc.record({
    from: fc.constantFrom(...SITES),
    way: fc.constantFrom(...WAYS),
    path: fc.constantFrom(...PATHS),
    body: fc.constantFrom(QUERY, MUTATION, EVENT, '', '[]', 'query=%7B__typename%7D'),
  }),
  way: {
    process: 'api',
    async send(stage, tried): Promise<Outcome> {
      open ??= openVictim(stage.url.api, linkTo(stage.url.api, '/graphql', LOCAL_TOKEN));
      const victim = await open;
      if (tried.from === 'its own page')
        return (await victim.useOwnPage()) ? { kind: 'accepted', appended: 0 } : fail('its own page cannot ask');
      const { read, answers } = await victim.visit(tried);
      const served = answers.filter(({ status, linked }) => status < 400 && !linked);
      if (served.length > 0)
        fail(`${tried.way} from ${tried.from} was answered ${served.map(({ status, url }) => `${status} at ${url}`).join(', ')}`);
      if (read !== '' && tried.from !== 'a rebound name')
        fail(`${tried.way} from ${tried.from} read ${JSON.stringify(read.slice(0, 200))}`);
      const linked = answers.some(({ status }) => status < 400);
      if (linked) return { kind: 'accepted', appended: 0 };
      return { kind: 'refused', code: [...new Set(answers.map(({ status }) => status))].sort().join(' ') || 'blocked' };
    },
  },
  async close() {
    const opened = open;
    open = undefined;
    await (await opened?.catch(() => undefined))?.close();
  },
});

function fail(what: string): never {
  throw new Broken(what);
}
