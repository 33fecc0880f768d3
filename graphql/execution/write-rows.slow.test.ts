import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { defaultFieldResolver, type ExecutionArgs, type GraphQLFieldResolver } from 'graphql';
import { createSchema, createYoga } from 'graphql-yoga';
import { type CopiedColumn, CopiedRows } from '../../src/postgres/copied-rows.ts';
import type { Context } from '../context.ts';
import { answerSize } from '../metering/answer-size.ts';
import { SafeInt } from '../resolvers/scalars.ts';
import { useQueryExecution } from './use-query-execution.ts';

const COLUMNS = [
  { name: 'id', type: 'uuid' },
  { name: 'parentId', type: 'uuid' },
  { name: 'text', type: 'text' },
  { name: 'sure', type: 'text' },
  { name: 'whole', type: 'integer' },
  { name: 'place', type: 'bigint' },
  { name: 'flag', type: 'boolean' },
  { name: 'kind', type: 'text' },
  { name: 'blobs', type: 'jsonb' },
] as const satisfies readonly CopiedColumn[];

const typeDefs = `
  scalar SafeInt
  enum Kind { GOOD BAD }
  type Query { rows: [Row!]! some: [Row] none: [Row!] }
  type Row { id: ID! parentId: ID text: String sure: String! whole: Int! place: SafeInt! flag: Boolean kind: Kind words: [String!] }`;

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('"\\\b\t\n\f\r\u0000\u001f\u007f\u2028', 'ä€😀'),
);
const uuid = fc.uuid();
const row = fc.record({
  id: uuid,
  parentId: fc.option(uuid),
  text: fc.option(text),
  sure: fc.oneof({ weight: 20, arbitrary: text }, fc.constant(null)),
  whole: fc.integer(),
  place: fc.oneof(fc.maxSafeInteger(), fc.constantFrom(0, -1, 2 ** 53 - 1, -(2 ** 53) + 1, 999, 1_000)),
  flag: fc.option(fc.boolean()),
  kind: fc.oneof({ weight: 20, arbitrary: fc.option(fc.constantFrom('GOOD', 'BAD')) }, fc.constant('neither')),
  blobs: fc.oneof({ weight: 20, arbitrary: fc.constant(null) }, fc.constant({ text: 'elsewhere' })),
});
type Row = { readonly [Name in (typeof COLUMNS)[number]['name']]: unknown };

/** As Postgres sends them. */
function copied(rows: readonly Row[]): CopiedRows<Row> {
  const starts: number[] = [];
  const parts: Buffer[] = [];
  let end = 0;
  for (const one of rows) {
    starts.push(end);
    for (const { name, type } of COLUMNS) {
      const value = one[name] === null ? null : bytesOf(type, one[name]);
      const length = Buffer.alloc(4);
      length.writeInt32BE(value === null ? -1 : value.length);
      parts.push(length, value ?? Buffer.alloc(0));
      end += 4 + (value?.length ?? 0);
    }
  }
  return new CopiedRows<Row>(COLUMNS, { bytes: Buffer.concat(parts) }, starts);
}

function bytesOf(type: CopiedColumn['type'], value: unknown): Buffer {
  const number = Buffer.alloc(8);
  switch (type) {
    case 'uuid':
      return Buffer.from(String(value).replaceAll('-', ''), 'hex');
    case 'text':
      return Buffer.from(String(value), 'utf8');
    case 'integer':
      number.writeInt32BE(Number(value));
      return number.subarray(0, 4);
    case 'bigint':
      number.writeBigInt64BE(BigInt(Number(value)));
      return number;
    case 'boolean':
      return Buffer.from([value === true ? 1 : 0]);
    case 'jsonb':
      return Buffer.concat([Buffer.from([1]), Buffer.from(JSON.stringify(value))]);
  }
}

let counted = 0;
const meter = {
  field: () => void counted++,
  fields(count: number) {
    counted += count;
  },
};
const fieldResolver: GraphQLFieldResolver<unknown, unknown> = (source, args, context, info) => {
  meter.field();
  return defaultFieldResolver(source, args, context, info);
};
let size = 0;
const yoga = createYoga<{ root: unknown }, Context>({
  schema: createSchema<Context & { root: unknown }>({ typeDefs, resolvers: { SafeInt } }),
  logging: false,
  maskedErrors: false,
  context: ({ root }) => ({ meter, root }) as never,
  plugins: [
    useQueryExecution(),
    {
      onExecute({ args }: { args: ExecutionArgs }) {
        args.rootValue = (args.contextValue as unknown as { root: unknown }).root; // which it is asked with
        args.fieldResolver = fieldResolver;
        return {
          onExecuteDone({ result }: { result: { data?: unknown } }) {
            size = answerSize(result.data, Number.POSITIVE_INFINITY);
          },
        };
      },
    } as never,
  ],
});

async function ask(query: string, root: object, accept = 'application/json') {
  counted = 0;
  const headers = { 'content-type': 'application/json', accept };
  const answer = await yoga.fetch('http://api/graphql', { method: 'POST', headers, body: JSON.stringify({ query }) }, { root });
  return { status: answer.status, headers: [...answer.headers], text: await answer.text(), counted, size };
}

const fields = fc.constantFrom(
  ...['id', 'parentId', 'text', 'again: text', '__proto__: text', 'sure', 'whole', 'place', 'flag', 'kind', '__typename'],
  ...['text @skip(if: true)', '... { sure kind }', 'words'],
);

test('rows that are passed on are answered to the byte as their records, of the same size and with as many fields', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { maxLength: 4 }),
      fc.array(fields, { minLength: 1, maxLength: 6 }),
      fc.constantFrom('rows', 'some', 'none', 'none { sure } some: rows { id } again: none'),
      fc.constantFrom('application/json', 'text/event-stream', 'application/graphql-response+json'),
      async (rows, asked, list, accept) => {
        const query = `{ first: __typename ${list} { ${asked.join(' ')} } last: __typename }`;
        const lists = (of: unknown) => ({ rows: of, some: of, none: of });
        const answer = await ask(query, lists(copied(rows)), accept);
        expect(answer).toEqual(await ask(query, lists(copied(rows).records), accept));
        expect(answer.text).not.toContain('GRAPHQL_VALIDATION_FAILED');
      },
    ),
    { numRuns: 300 },
  );
});

test('rows without a text in another place, and each value as its type has it, are not looked at as records', async () => {
  const rows = copied([
    {
      id: '0188e5a1-0000-8000-8000-000000000001',
      parentId: null,
      text: 'a "text"',
      sure: 's',
      whole: -7,
      place: 12,
      flag: true,
      kind: 'GOOD',
      blobs: null,
    },
  ]);
  Object.defineProperty(rows, 'records', {
    get: () => {
      throw new Error('looked at');
    },
  });
  const { text } = await ask('{ rows { id parentId text sure whole place flag kind __typename } }', { rows });
  expect(text).toBe(
    '{"data":{"rows":[{"id":"0188e5a1-0000-8000-8000-000000000001","parentId":null,"text":"a \\"text\\"","sure":"s","whole":-7,"place":12,"flag":true,"kind":"GOOD","__typename":"Row"}]}}',
  );
});
