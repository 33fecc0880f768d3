import { describe, expect, test } from '@jest/globals';
import { buildSchema, parse } from 'graphql';
import { readTypeDefs } from '../type-defs.ts';
import { measure } from './cost.ts';

const schema = buildSchema(await readTypeDefs());
const measured = (query: string, variables = {}) => measure(schema, parse(query), null, variables);
const cost = (query: string, variables = {}) => measured(query, variables).cost;

describe('the cost of a query', () => {
  test('a query costs the objects that its answer can hold', () => {
    // 1 connection + 10 nodes, each with 1 task
    expect(cost('{ trees(first: 10) { nodes { id task { goal } } } }')).toBe(21);
  });

  test('a connection costs its edges and nodes once per page item, whichever way it is paged', () => {
    expect(cost('{ trees(first: 7) { edges { cursor } } }')).toBe(8);
    expect(cost('{ trees(last: 7) { edges { cursor } } }')).toBe(8);
    expect(cost('{ trees { edges { cursor } } }')).toBe(51);
  });

  test('the costs of nested lists multiply', () => {
    expect(cost('{ runs(first: 3) { nodes { trees(first: 5) { nodes { id } } } } }')).toBe(1 + 3 * (1 + (1 + 5)));
  });

  test('page sizes are taken from variables and from their defaults', () => {
    const query = 'query ($n: Int = 2, $m: Int) { runs(first: $n) { nodes { trees(last: $m) { nodes { id } } } } }';
    expect(cost(query, { m: 5 })).toBe(1 + 2 * (1 + (1 + 5)));
    expect(cost(query, { n: 100, m: 500 })).toBe(1 + 100 * (1 + (1 + 500)));
    expect(cost(query, { n: null })).toBe(1 + 50 * (1 + (1 + 50)));
  });

  test('a fragment costs again at every place that spreads it', () => {
    const spread = '{ a: runs(first: 2) { ...R } b: runs(first: 9) { ...R } } fragment R on RunConnection { nodes { id } }';
    expect(cost(spread)).toBe(1 + 2 + (1 + 9));
    expect(cost('{ ... on Query { runs(first: 2) { ... { nodes { id } } } } }')).toBe(3);
  });

  test('a whole tree costs as many steps as may be returned whole', () => {
    expect(cost('{ tree(id: "x") { steps { id } } }')).toBe(1 + 2_000);
    expect(cost('{ tree(id: "x") { steps(first: 10) { id rewards { value } } } }')).toBe(1 + 10 * (1 + 3));
  });

  test('the field that costs most is named by its path, down to the one that costs more than half', () => {
    const dearest = (query: string) => measured(query).dearest.path.join('.');
    expect(dearest('{ policies { id } all: runs(first: 9) { totalCount nodes { trees(first: 500) { nodes { id } } } } }')).toBe(
      'all.nodes.trees.nodes',
    );
    expect(dearest('{ runs(first: 2) { ...R } } fragment R on RunConnection { nodes { id } }')).toBe('runs.nodes');
  });

  test('the costs of single fields are added', () => {
    expect(cost('{ runs(first: 2) { totalCount nodes { totals { steps } } } }')).toBe(1 + 10 + 2 * (1 + 2));
  });

  test('introspection and fields that validation refuses cost nothing', () => {
    expect(cost('{ __schema { types { fields { name } } } nonsense { more } }')).toBe(0);
  });

  test('only the named operation of a document costs', () => {
    const document = parse('query A { runs(first: 1) { nodes { id } } } query B { runs(first: 400) { nodes { id } } }');
    expect(measure(schema, document, 'A', {}).cost).toBe(2);
    expect(measure(schema, document, 'B', {}).cost).toBe(401);
  });

  test('a fragment bomb is measured in time linear in its text', () => {
    const bomb = Array.from(
      { length: 300 },
      (_, i) => `fragment F${i} on Step { a: parent { ...F${i + 1} } b: parent { ...F${i + 1} } }`,
    );
    const query = `{ step(id: "x") { ...F0 } } ${bomb.join(' ')} fragment F300 on Step { id }`;
    expect(cost(query)).toBeGreaterThan(1e80);
    expect(measured(query).aliases).toBeGreaterThan(1e80);
  });

  test('the measurement of fragments that spread themselves ends', () => {
    expect(cost('{ step(id: "x") { ...A } } fragment A on Step { parent { ...B } } fragment B on Step { parent { ...A } }')).toBe(
      3,
    );
  });
});

describe('the counts of a document', () => {
  test('a document counts its deepest field and all its aliases', () => {
    expect(measured('{ a: runs { nodes { b: id } } position }')).toMatchObject({ depth: 3, aliases: 2 });
  });

  test('introspection does not count towards the depth', () => {
    expect(measured('{ __schema { types { ofType { ofType { name } } } } }').depth).toBe(0);
  });
});
