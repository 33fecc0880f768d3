import fc from 'fast-check';
import { write } from '../hostile-values.ts';
import { objectOf, request } from '../request.ts';
import type { Stage } from '../stage.ts';
import { Broken, type Outcome, target } from '../target.ts';

/** What one client asks for at once. */
interface Greed {
  /** The same document, so often at once. */
  readonly queries: number;
  readonly document: string;
  /** Subscriptions that are opened meanwhile, each on a connection of its own. */
  readonly subscriptions: number;
}

const times = (count: number, field: (i: number) => string) =>
  `{ ${Array.from({ length: count }, (_, i) => `a${i}: ${field(i)}`).join(' ')} }`;
/** Documents that are priced low and read or repeat much. */
const DOCUMENTS: readonly string[] = [
  times(48, () => 'trees(first: 50) { nodes { leaves { path { id observation rewards { value } } } } }'),
  times(40, () => 'runs(first: 500) { nodes { totals { steps } totalCount: id } totalCount }'),
  times(10, () => 'trees(first: 20) { nodes { steps(first: 500) { id children { id } statistics { visits } } } }'),
  times(20, () => 'trajectories(first: 100) { totalCount nodes { returns { value } steps { observation response } } }'),
  times(7, (i) => `asOf(time: "2030-01-0${i + 1}T00:00:00Z") { runs { totalCount } }`),
  times(50, () => 'waitFor(position: "", timeoutMs: 60000) { query { position } }'),
  times(40, () => 'lag { partitions { lag } }'),
];
const GOOD_MS = 10_000; // a good event and a good query, while the rest goes on; on a machine that runs other things too

/** One client that asks for all that it is allowed, and more: the others are served, and each refusal names its budget. */
export const budgetTarget = target<Greed>({
  name: 'budget',
  share: 0.01,
  always: [
    ...DOCUMENTS.map((document): Greed => ({ queries: 8, document, subscriptions: 0 })),
    { queries: 200, document: DOCUMENTS[0] ?? '', subscriptions: 0 },
    { queries: 1, document: DOCUMENTS[1] ?? '', subscriptions: 300 },
  ],
  cases: fc.record({
    queries: fc.integer({ min: 1, max: 40 }),
    document: fc.constantFrom(...DOCUMENTS),
    subscriptions: fc.integer({ min: 0, max: 80 }),
  }),
  way: {
    process: 'api',
    async send(stage, { queries, document, subscriptions }) {
      const body = write({ query: document });
      const asked = Array.from({ length: queries }, () => ask(stage, body, 'application/json'));
      const live = write({ query: 'subscription { events(after: "") { id data } }' });
      const followed = Array.from({ length: subscriptions }, () => ask(stage, live, 'text/event-stream'));
      const good = await stage.good();
      if (good > GOOD_MS) throw new Broken(`a good event and a good query took ${Math.round(good)} ms meanwhile`);
      const outcomes = await Promise.all([...asked, ...followed]);
      return outcomes.find(({ kind }) => kind === 'refused') ?? { kind: 'accepted', appended: 0 };
    },
  },
});

async function ask(stage: Stage, body: string, accept: string): Promise<Outcome> {
  const until = accept === 'text/event-stream' ? { until: (text: string) => /\n\n/.test(text) } : {};
  const { status, text, json } = await request(`${stage.url.api}/graphql`, {
    method: 'POST',
    body,
    type: 'application/json',
    headers: { accept },
    ...until,
  });
  const answer = json ?? objectOf(/^data: (\{.*\})$/m.exec(text)?.[1] ?? '');
  const errors = answer?.errors as readonly { readonly message?: unknown; readonly extensions?: Extensions }[] | undefined; // by field
  if (errors === undefined && status === 200) return { kind: 'accepted', appended: 0 };
  const { message, extensions } = errors?.[0] ?? {};
  const named = extensions?.code === 'LIMIT_EXCEEDED' && extensions.limit !== undefined && extensions.allowed !== undefined;
  if (!named || !/; \S+/.test(String(message)))
    throw new Broken(`refused (${status}) without budget and remedy: ${text.slice(0, 300)}`);
  return { kind: 'refused', code: `${status} ${String(extensions.limit)}` };
}
type Extensions = Readonly<Partial<Record<'code' | 'limit' | 'allowed', unknown>>>;
