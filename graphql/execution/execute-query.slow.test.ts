import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type ExecutionArgs, GraphQLError, type GraphQLFieldResolver } from 'graphql';
import { createSchema, createYoga, type Plugin } from 'graphql-yoga';
import type { Context } from '../context.ts';
import { useQueryExecution } from './use-query-execution.ts';

// Every field is a property of its record; those that end in R have a resolver, which may throw, wait or both.
const FIELDS = ['text', 'whole', 'sure', 'kind', 'one', 'oneSure', 'many', 'manySure', 'words'];
const typeDefs = `
  enum Kind { GOOD BAD }
  scalar Odd
  type Query { node: Node nodeSure: Node! nodes: [Node!] }
  type Node {
    ${FIELDS.map((name) => `${name}${typeOf(name)}\n    ${name}R${typeOf(name)}`).join('\n    ')}
    odd: Odd
    said(text: String = "nothing", times: Int!): String
  }`;

function typeOf(name: string): string {
  const types: Record<string, string> = {
    one: 'Node',
    oneSure: 'Node!',
    many: '[Node]',
    manySure: '[Node!]!',
    words: '[String!]',
  };
  const leaves: Record<string, string> = { text: 'String', whole: 'Int', sure: 'String!', kind: 'Kind' };
  return name.startsWith('said') ? '' : `: ${types[name] ?? leaves[name]}`;
}

type Value = unknown;
const resolvers = {
  Query: { node: (root: Record<string, Value>) => root.node, nodeSure: (root: Record<string, Value>) => root.node },
  Node: {
    ...Object.fromEntries(FIELDS.map((name) => [`${name}R`, (node: Record<string, Value>) => released(node[name])])),
    said: (_: unknown, args: object) => JSON.stringify(args),
  },
};

/** What a record holds in place of an error that a resolver throws. */
class Thrown {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}
function released(value: Value): Value {
  if (value instanceof Thrown) throw new GraphQLError(value.message, { extensions: { code: 'THROWN' } });
  return value;
}

/** One that nobody has to wait for. */
function rejected(message: string): Promise<never> {
  const promise = Promise.reject(new Error(message));
  promise.catch(() => undefined);
  return promise;
}

const leaf: fc.Arbitrary<() => Value> = fc.oneof(
  { weight: 6, arbitrary: fc.string().map((text) => () => text) },
  { weight: 3, arbitrary: fc.integer({ min: -9, max: 9 }).map((whole) => () => whole) },
  fc.constantFrom<() => Value>(
    () => null,
    () => undefined,
    () => 'GOOD',
    () => true,
    () => Number.NaN,
    () => ({ an: 'object' }),
    () => new Error('a value that is an error'),
    () => new Thrown('thrown'),
    () => 'waited for',
    () => Promise.resolve('later'),
    () => (args: object) => `called with ${JSON.stringify(args)}`,
    () => () => Promise.resolve('called, later'),
    () => () => {
      throw new Error('the function throws');
    },
    () => rejected('rejected'),
    () => new AggregateError([new Error('first'), new Error('second')], 'two'),
  ),
);

const NEAR = { depthSize: 'small', maxDepth: 3 } as const;

// made for each of the two executions: a promise that is rejected is to be met by both
const { node } = fc.letrec<{ node: () => Record<string, Value>; nodes: () => Value }>((tie) => ({
  node: fc
    .record({
      text: leaf,
      whole: leaf,
      sure: leaf,
      kind: fc.oneof(
        leaf,
        fc.constantFrom(
          () => 'GOOD',
          () => 'BAD',
        ),
      ),
      odd: leaf,
      words: fc.oneof(
        leaf,
        fc.array(leaf, { maxLength: 3 }).map((items) => () => items.map((make) => make())),
      ),
      one: fc.oneof(NEAR, leaf, tie('node')),
      oneSure: fc.oneof(NEAR, leaf, tie('node')),
      many: fc.oneof(NEAR, leaf, tie('nodes')),
      manySure: fc.oneof(
        { depthSize: 'small' },
        fc.constant(() => []),
        tie('nodes'),
      ),
    })
    .map((makers) => () => Object.fromEntries(Object.entries(makers).map(([name, make]) => [name, make()]))),
  nodes: fc
    .array(fc.tuple(tie('node'), fc.constantFrom('now', 'later', 'null')), { maxLength: 3 })
    .map(
      (items) => () => items.map(([make, when]) => (when === 'null' ? null : when === 'now' ? make() : Promise.resolve(make()))),
    ),
}));

const { selection } = fc.letrec<{ selection: string }>((tie) => ({
  selection: fc
    .array(
      fc.oneof(
        NEAR,
        fc.constantFrom(
          'text',
          'textR',
          'again: text',
          'whole',
          'sure',
          'sureR',
          'kind',
          'kindR',
          'words',
          'wordsR',
          'odd',
          '__typename',
        ),
        fc.constantFrom(
          '__proto__: text',
          'said(times: $times)',
          'spoken: said(text: "a", times: 3)',
          '...Some',
          'text @skip(if: $no)',
        ),
        fc.constantFrom(
          'sure @include(if: $no)',
          '... on Node { whole text }',
          '... @include(if: $yes) { kind }',
          '...Some @skip(if: $yes)',
        ),
        fc
          .tuple(
            fc.constantFrom('one', 'oneR', 'oneSure', 'oneSureR', 'many', 'manyR', 'manySure', 'manySureR'),
            tie('selection'),
          )
          .map(([name, below]) => `${name} ${below}`),
      ),
      { minLength: 1, maxLength: 5 },
    )
    .map((fields) => `{ ${fields.join(' ')} }`),
}));

const schema = createSchema<Context & { root: unknown }>({ typeDefs, resolvers: resolvers as never }); // of no type that is generated;
let counted = 0;
const meter = { field: () => void counted++ };
const fieldResolver: GraphQLFieldResolver<Record<string, Value>, unknown> = (source, args, context, info) => {
  meter.field();
  const value = source[info.fieldName];
  return typeof value === 'function' ? value.call(source, args, context, info) : value;
};
const yogaWith = (plugins: readonly Plugin<Context>[]) =>
  createYoga<{ root: unknown }, Context>({
    schema,
    logging: false,
    maskedErrors: false,
    context: ({ root }) => ({ meter, root }) as never,
    plugins: [
      ...plugins,
      {
        onExecute: ({ args }: { args: ExecutionArgs }) => {
          args.rootValue = (args.contextValue as unknown as { root: unknown }).root; // which it is asked with
          args.fieldResolver = fieldResolver as GraphQLFieldResolver<unknown, Context>; // of records
        },
      },
    ],
  });
const executions = { ours: yogaWith([useQueryExecution()]), "yoga's": yogaWith([]) };

async function ask(execution: keyof typeof executions, query: string, root: () => Value, variables: object) {
  counted = 0;
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ query, variables }) };
  const answer = await executions[execution].fetch('http://api/graphql', init, { root: { node: root() } });
  return { status: answer.status, text: await answer.text(), counted };
}

/** Runs a test over yoga's executor, which leaves rejections that nobody handles where an item fails while others wait. */
async function withoutRejectionsOfYoga(run: () => Promise<void>): Promise<void> {
  const listeners = process.listeners('unhandledRejection');
  const ours: unknown[] = [];
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', (error) => {
    if (!(error instanceof Error && error.stack?.includes('@graphql-tools/executor'))) ours.push(error);
  });
  try {
    await run();
    await new Promise((resolve) => setTimeout(resolve, 50)); // the last of them come behind the answer
    expect(ours).toEqual([]);
  } finally {
    process.removeAllListeners('unhandledRejection');
    for (const listener of listeners) process.on('unhandledRejection', listener);
  }
}

test("a query is answered to the byte as by yoga's executor, errors and their places included, and as many fields are counted", async () => {
  await withoutRejectionsOfYoga(async () => {
    await fc.assert(
      fc.asyncProperty(node, selection, fc.constantFrom('node', 'nodeSure'), async (root, below, field) => {
        const query = `query ($times: Int! = 2, $yes: Boolean! = true, $no: Boolean! = false) { ${field} ${below} used: ${field} { said(times: $times) text @skip(if: $yes) odd @include(if: $no) ...Some } }
          fragment Some on Node { text whole }`;
        const answer = await ask('ours', query, root, {});
        expect(answer).toEqual(await ask("yoga's", query, root, {}));
        expect(answer.text).not.toContain('GRAPHQL_VALIDATION_FAILED');
      }),
      { numRuns: 100 },
    );
  });
});

test.each([
  [
    'a variable that cannot be what it is declared as',
    'query ($times: Int!) { node { said(times: $times) } }',
    { times: 'many' },
  ],
  ['a variable that is missing', 'query ($times: Int!) { node { said(times: $times) } }', {}],
  ['two operations and no name', 'query A { node { text } } query B { node { text } }', {}],
  [
    'the schema itself',
    '{ __schema { types { name fields { name type { name kind ofType { name } } } } } __type(name: "Node") { name } }',
    {},
  ],
  ['a document that is not valid', '{ node { nothing } }', {}],
])("%s is answered as by yoga's executor", async (_, query, variables) => {
  const root = () => ({ text: 'here' });
  expect(await ask('ours', query, root, variables)).toEqual(await ask("yoga's", query, root, variables));
});

test('an item of a list that fails while others wait leaves no rejection that nobody handles', async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', note);
  try {
    const later = () => new Promise((_, reject) => setTimeout(() => reject(new Error('later')), 1));
    const root = () => ({ manySure: [{ sure: 'x', oneSure: later() }, { sure: null }] });
    const { text } = await ask('ours', '{ node { manySure { sure oneSure { text } } } }', root, {});
    expect(text).toContain('Cannot return null for non-nullable field Node.sure');
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(unhandled).toEqual([]);
  } finally {
    process.off('unhandledRejection', note);
  }
});
