import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { getIntrospectionQuery } from 'graphql';
import { openTestGraphql, type TestGraphql } from '../testing/open-test-graphql.ts';

let api: TestGraphql;
beforeAll(async () => {
  api = await openTestGraphql();
});
afterAll(() => api.close());

const nested = (field: string, depth: number) => `${`${field} { `.repeat(depth)} id ${'}'.repeat(depth)}`;

describe('hostile documents', () => {
  test.each([
    ['depth', `{ step(id: "x") { ${nested('parent', 40)} } }`, /"depth" is 16, and this is 42; nest fewer fields/],
    ['aliases', `{ ${Array.from({ length: 200 }, (_, i) => `a${i}: position`).join(' ')} }`, /"aliases" is 50, and this is 200;/],
    [
      'cost',
      '{ runs(first: 500) { nodes { trees(first: 500) { nodes { steps { id } } } } } }',
      /"cost" is 150000, and this is 500251001; most of it is runs.nodes.trees.nodes.steps: ask for fewer items/,
    ],
    ['nesting', `{ runs(first: ${'['.repeat(4_000)}) { nodes { id } } }`, /"nesting" .* put lists and objects into variables/],
  ])(
    'a document with too much %s is refused before anything is read, with the limit, the count and the remedy',
    async (limit, query, message) => {
      const answer = await api.ask(query);
      expect(answer.errors).toEqual([
        expect.objectContaining({
          message: expect.stringMatching(message),
          extensions: expect.objectContaining({ code: 'LIMIT_EXCEEDED', limit }),
        }),
      ]);
      expect(answer.data).toBeUndefined();
      expect(api.statements()).toEqual([]);
    },
  );

  test('a document of too many tokens is not read to its end', async () => {
    const answer = await api.ask(`{ ${'position '.repeat(6_000)} }`);
    expect(answer.errors?.[0]?.message).toMatch(/more tha[nt] 5000 tokens/);
    expect(api.statements()).toEqual([]);
  });

  test('a body that is not JSON is refused without being echoed', async () => {
    const answer = await api.fetch({}, { body: `{"query": ${'{"a":'.repeat(50_000)}` });
    const text = await answer.text();
    expect(text).toContain('invalid JSON');
    expect(text.length).toBeLessThan(5_000);
  });

  test.each([
    ['another type', { method: 'POST', headers: { 'content-type': 'text/plain' } }, 415, 'Content-Type'],
    ['no type', { method: 'POST', headers: { 'content-type': '' } }, 415, 'Content-Type'],
    ['another method', { method: 'PUT' }, 405, 'GET or POST'],
    [
      'a type that it does not want',
      { method: 'POST', headers: { 'content-type': 'application/json', accept: 'image/png' } },
      406,
      'Accept',
    ],
  ] as const)('a request of %s is refused with its reason', async (_name, init, status, message) => {
    const answer = await api.fetch({ query: '{ position }' }, init);
    expect(answer.status).toBe(status);
    expect((await answer.json()).errors[0].message).toContain(message);
  });

  test('a document whose cost comes from variables alone is refused', async () => {
    const query = 'query ($n: Int!) { runs(first: $n) { nodes { trees(first: $n) { nodes { id } } } } }';
    expect((await api.ask(query, { n: 100 })).errors).toBeUndefined();
    expect((await api.ask(query, { n: 500 })).errors?.[0]?.message).toMatch(/"cost" is 150000, and this is 251001;/);
    expect((await api.ask(query, { n: 100 })).errors).toBeUndefined(); // a cached document is judged by its variables each time
  });

  test('a fragment bomb is refused', async () => {
    const bomb = Array.from(
      { length: 60 },
      (_, i) => `fragment F${i} on Step { a: parent { ...F${i + 1} } b: parent { ...F${i + 1} } }`,
    );
    const answer = await api.ask(`{ step(id: "x") { ...F0 } } ${bomb.join(' ')} fragment F60 on Step { id }`);
    expect(answer.errors?.[0]?.extensions.code).toBe('LIMIT_EXCEEDED');
  });

  test('a document whose fragments spread themselves is refused', async () => {
    const answer = await api.ask('{ step(id: "x") { ...A } } fragment A on Step { parent { ...A } }');
    expect(answer.errors?.[0]?.message).toBe('Cannot spread fragment "A" within itself.');
  });

  test('introspection that nests itself is refused', async () => {
    const answer = await api.ask(`{ __schema { types { ${'fields { type { '.repeat(4)} name ${'} }'.repeat(4)} } } }`);
    expect(answer.errors?.[0]?.message).toMatch(/introspection depth/i);
  });

  test('oversized variables are refused', async () => {
    const response = await api.fetch({
      query: 'query ($id: ID!) { run(id: $id) { id } }',
      variables: { id: 'x'.repeat(2_000_000) },
    });
    expect(response.status).toBe(413);
  });
});

test('the introspection query of common tools is answered', async () => {
  const answer = await api.ask(getIntrospectionQuery());
  expect(answer.errors).toBeUndefined();
  expect(answer.data.__schema.queryType.name).toBe('Query');
});

test('validation of an expensive document within the limits is aborted early', async () => {
  const answer = await api.ask(`{ ${'position '.repeat(4_990)} }`); // each pair of equal fields is compared
  expect(answer.errors?.[0]?.extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
});

test('limits are configurable', async () => {
  const strict = await api.create({ limits: { depth: 1 } });
  expect((await strict.ask('{ lag { lag } }')).errors?.[0]?.message).toMatch(/"depth" is 1, and this is 2;/);
});
