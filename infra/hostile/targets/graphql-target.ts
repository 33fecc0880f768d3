import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import {
  type Change,
  change,
  changed,
  damage,
  damaged,
  hostileText,
  hostileValue,
  RAW_TEXTS,
  raw,
  TEXTS,
  write,
} from '../hostile-values.ts';
import { type Answered, objectOf, outcomeOf, request } from '../request.ts';
import { Broken, type Outcome, target } from '../target.ts';

interface Query {
  readonly body: string | Buffer;
  readonly accept: 'application/json' | 'text/event-stream' | 'application/graphql-response+json' | '*/*';
}

const FOLDER = new URL('../../../graphql/operations/', import.meta.url);
const OPERATIONS = readdirSync(FOLDER).map((file) => readFileSync(new URL(file, FOLDER), 'utf8'));
const NAMES = readdirSync(FOLDER).map((file) => file.replace('.graphql', ''));

const n = (times: number, text: (i: number) => string) => Array.from({ length: times }, (_, i) => text(i)).join(' ');
/** Documents that cost a parser, a validator or a resolver more than they look. */
const BOMBS: readonly string[] = [
  ...[n(5_000, (i) => `a${i}: __typename`), n(60, (i) => `a${i}: runs { edges { node { id } } }`)].map(
    (fields) => `{ ${fields} }`,
  ),
  ...['{ ...a } fragment a on Query { ...a }', '{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }'],
  `{ ...f0 } ${n(40, (i) => `fragment f${i} on Query { ...f${i + 1} ...f${i + 1} }`)} fragment f40 on Query { __typename }`,
  `{ ${'runs { edges { node { trees { edges { node { run { '.repeat(20)} id`,
  ...[
    '{'.repeat(100_000),
    '['.repeat(100_000),
    `{ runs(first: ${'['.repeat(2_000)}1${']'.repeat(2_000)}) { edges { node { id } } } }`,
  ],
  `{ __schema { types { fields { type { fields { type { fields { type { fields { type { name } } } } } } } } } } }`,
  `{ __schema { ${n(50, (i) => `t${i}: types { fields { args { type { ofType { ofType { name } } } } } }`)} } }`,
  `query { __type(name: "${'x'.repeat(50_000)}") { name } }`,
  `query(${n(900, (i) => `$v${i}: Int`)}) { __typename }`,
  `{ __typename ${n(1_000, () => '@skip(if: false)')} }`,
  `{ ${n(1_500, () => 'x: __typename')} }`,
  `{ runs(first: 500) { edges { node { trees(first: 500) { edges { node { steps { id } } } } } } } }`,
  ...[
    '{ runs(first: 1e999) { edges { node { id } } } }',
    '{ runs(first: -1) { edges { node { id } } } }',
    '{ runs(first: 99999999999) { edges { node { id } } } }',
  ],
  ...[
    'mutation { x }',
    'mutation { annotate(annotations: []) { ids } }',
    'mutation { annotate(annotations: [{ step: "x", label: "\\u202e\\u0000" }]) { ids } }',
    'mutation { annotate(annotations: [{ row: { dataset: "", line: -1 }, tree: "", score: 1e308 }]) { ids } }',
    'mutation { retractAnnotations(ids: ["", "x"]) { ids } }',
    'subscription { __typename }',
    'subscription { events { id } a: events { id } }',
    '',
    '#',
    '\ufeff{ __typename }',
    '{ __typename }\0',
  ],
  `{ waitFor(position: "runs.0:9999999999999999") { waitedMs } }`,
  `{ waitFor(position: "", timeoutMs: 2147483647) { query { waitFor(position: "", timeoutMs: 1) { query { position } } } } }`,
  `query($a: [[[[Int]]]], $b: NoSuch!) { __typename }`,
  `{ tree(id: """${'"'.repeat(2)} \\""" x""") { id } }`,
];

/** Every argument of a list that takes text or numbers. */
const ARGUED = `query($id: ID!, $text: String, $first: Int, $last: Int, $run: RunFilter, $tree: TreeFilter, $trajectory: TrajectoryFilter) {
  runs(filter: $run, first: $first, after: $text, last: $last) { edges { cursor node { id name } } }
  trees(filter: $tree, first: $first, after: $text) { edges { node { id } } }
  trajectories(filter: $trajectory, first: $first, before: $text) { edges { node { return } } }
  run(id: $id) { id } tree(id: $id) { id } step(id: $id) { id } path(leaf: $id) { id } batch(id: $id) { id } dataset(id: $id) { id } policy(id: $id) { id }
}`;
const VARIABLES = { id: '00000000-0000-4000-8000-000000000000', text: null, first: 2, run: {}, tree: {}, trajectory: {} };

const spliced = fc
  .tuple(fc.constantFrom(...OPERATIONS), fc.constantFrom(...OPERATIONS), fc.nat(), fc.nat(), hostileText)
  .map(([a, b, i, j, text]) => {
    const [from, to] = [i % a.length, j % b.length];
    return `${a.slice(0, from)}${i % 3 === 0 ? text.slice(0, 300) : ''}${b.slice(to)}`;
  });
const cursor = fc.oneof(
  fc.array(hostileText, { maxLength: 4 }).map((parts) => Buffer.from(JSON.stringify(parts)).toString('base64url')),
  fc
    .tuple(fc.constantFrom('STARTED_DESC', 'runs', 'started'), hostileText)
    .map((parts) => Buffer.from(JSON.stringify(parts)).toString('base64url')),
  hostileText,
);
const FILTERS = [
  'kind',
  'policy',
  'environment',
  'runs',
  'taskId',
  'startedAfter',
  'minReturn',
  'success',
  'experimentId',
  'search',
  'tasks',
  'split',
  'x',
];
const filter = fc.dictionary(fc.constantFrom(...FILTERS), hostileValue, { maxKeys: 3 });
const variables = fc.oneof(
  fc.record(
    {
      id: hostileText,
      text: cursor,
      first: fc.constantFrom(1, 2, 500, 501, 0, -1),
      run: filter,
      tree: filter,
      trajectory: filter,
    },
    { requiredKeys: ['id'] },
  ),
  fc
    .array(change, { minLength: 1, maxLength: 2 })
    .map((changes: readonly Change[]) => changes.reduce<unknown>(changed, VARIABLES)),
);

const accepts = fc.constantFrom<Query['accept']>(
  'application/json',
  'application/json',
  'application/graphql-response+json',
  '*/*',
);
const asked = (query: unknown, rest: object = {}) => write({ query, ...rest });
const live = (after: unknown, rest: object = {}) =>
  asked(
    'subscription($after: String, $types: [String!], $run: ID) { events(after: $after, types: $types, run: $run) { id position data } }',
    { variables: { after, ...rest } },
  );

const bodies = fc.oneof(
  { weight: 3, arbitrary: spliced.map((query) => asked(query)) },
  { weight: 4, arbitrary: variables.map((given) => asked(ARGUED, { variables: given })) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(...BOMBS), change)
      .map(([query, one]) => write(changed({ query, variables: {}, operationName: null, extensions: {} }, one))),
  },
  { weight: 1, arbitrary: hostileValue.map((query) => asked(query)) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.oneof(fc.constantFrom(...NAMES), hostileText), hostileValue)
      .map(([documentId, given]) => write({ documentId, variables: given })),
  },
  { weight: 1, arbitrary: damage.map((harm) => damaged(Buffer.from(asked(ARGUED, { variables: VARIABLES })), harm)) },
  {
    weight: 1,
    arbitrary: hostileText.map((position) =>
      asked('query($p: String!) { waitFor(position: $p, timeoutMs: 200) { waitedMs } }', { variables: { p: position } }),
    ),
  },
);

/** `/graphql`: documents, variables, cursors, positions, and the live tail. */
export const graphqlTarget = target<Query>({
  name: 'graphql',
  always: [
    ...BOMBS.map((query): Query => ({ body: asked(query), accept: 'application/json' })),
    ...RAW_TEXTS.map(
      (text): Query => ({
        body: write({ query: ARGUED, variables: { ...VARIABLES, run: raw(text) } }),
        accept: 'application/json',
      }),
    ),
    ...RAW_TEXTS.map((text): Query => ({ body: text, accept: 'application/json' })),
    ...TEXTS.map((text): Query => ({ body: live(text), accept: 'text/event-stream' })),
    ...BOMBS.slice(0, 4).map((query): Query => ({ body: asked(query), accept: 'text/event-stream' })),
  ],
  cases: fc.oneof(
    { weight: 9, arbitrary: fc.record({ body: bodies, accept: accepts }) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.oneof(hostileText, hostileValue), fc.dictionary(fc.constantFrom('types', 'run'), hostileValue))
        .map(([after, rest]): Query => ({ body: live(after, rest), accept: 'text/event-stream' })),
    },
  ),
  way: {
    process: 'api',
    async send(stage, { body, accept }) {
      const headers = { accept };
      // A live tail has no end: its first event, or its first word that there is none, is its answer.
      const until = accept === 'text/event-stream' ? (text: string) => /\n\n/.test(text) : undefined;
      const answered = await request(`${stage.url.api}/graphql`, {
        method: 'POST',
        body,
        type: 'application/json',
        headers,
        ...(until ? { until } : {}),
      });
      return judged(answered, accept === 'text/event-stream');
    },
  },
});

function judged(answered: Answered, isLive: boolean): Outcome {
  const { status, text } = answered;
  // a stream sends its refusal as its one event
  const json = answered.json ?? objectOf(/^data: (\{.*\})$/m.exec(text)?.[1] ?? '');
  if (status >= 500) throw new Broken(`answered ${status}: ${text.slice(0, 300)}`);
  if (/INTERNAL_SERVER_ERROR|UNAVAILABLE/.test(text.slice(0, 5_000)))
    throw new Broken(`a fault of the server: ${text.slice(0, 500)}`);
  if (isLive && status === 200) return { kind: 'accepted', appended: 0 };
  const errors = json?.errors as
    | readonly { readonly message?: unknown; readonly extensions?: { readonly code?: unknown } }[]
    | undefined; // read by field
  if (errors === undefined) return json?.data === undefined ? outcomeOf(answered) : { kind: 'accepted', appended: 0 };
  const [first] = errors;
  if (typeof first?.message !== 'string' || first.message === '')
    throw new Broken(`refused (${status}) without a reason: ${text.slice(0, 300)}`);
  if (text.length > 200_000) throw new Broken(`a refusal of ${text.length} characters`);
  return { kind: 'refused', code: `${status} ${String(first.extensions?.code ?? 'no code')}` };
}
