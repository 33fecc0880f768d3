import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse, validate } from 'graphql';
import { projections } from '../src/projections/registry.ts';
import { createLogger } from '../src/runtime/logger.ts';
import { readOperations } from './persisted-operations.ts';
import { createExecutableSchema } from './schema.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

let api: TestGraphql;
beforeAll(async () => {
  api = await openTestGraphql();
});
afterAll(() => api.close());

describe('shipped operations', () => {
  test('every shipped operation fits the schema and its limits', async () => {
    const schema = await createExecutableSchema();
    for (const { name, text } of await readOperations()) {
      expect({ name, errors: validate(schema, parse(text)) }).toEqual({ name, errors: [] });
      const answer = text.includes('subscription') ? {} : await api.ask(text, { id: EMPTY, tree: EMPTY, position: '' });
      expect({ name, errors: answer.errors }).toEqual({ name, errors: undefined });
    }
  });

  test('a shipped operation is requested by its name or by the hash of its text', async () => {
    const [operation] = await readOperations();
    const sha256Hash = createHash('sha256')
      .update(operation?.text ?? '')
      .digest('hex');
    const byHash = await api.fetch({ extensions: { persistedQuery: { version: 1, sha256Hash } }, variables: { first: 1 } });
    const byName = await api.fetch({ documentId: operation?.name, variables: { first: 1 } });
    expect(operation?.name).toBe('best-trajectories');
    expect(await byHash.json()).toEqual({
      data: { trajectories: { pageInfo: { hasNextPage: false, endCursor: null }, nodes: [] } },
    });
    expect(await byName.json()).toEqual({
      data: { trajectories: { pageInfo: { hasNextPage: false, endCursor: null }, nodes: [] } },
    });
  });

  test('an unknown operation is refused with the names of the shipped ones', async () => {
    const response = await api.fetch({ documentId: 'x' });
    expect((await response.json()).errors[0]).toMatchObject({
      message: expect.stringMatching(/one of: best-trajectories, dataset-lineage, health/),
      extensions: { code: 'PERSISTED_OPERATION_NOT_FOUND' },
    });
  });

  test('a server restricted to shipped operations answers nothing else', async () => {
    const strict = await api.create({ documents: 'persisted-only' });
    expect((await strict.ask('{ position }')).errors?.[0]?.extensions.code).toBe('PERSISTED_ONLY');
    expect((await (await strict.fetch({ documentId: 'health' })).json()).data.lag).toHaveLength(projections.length);
  });
});

describe('the GraphiQL page', () => {
  test('the page opens the shipped operations in its tabs and loads nothing from other hosts', async () => {
    const response = await api.fetch({}, { method: 'GET', headers: { accept: 'text/html' }, body: null });
    const page = await response.text();
    expect(response.status).toBe(200);
    expect(page).toContain('<title>Espalier</title>');
    for (const name of ['RecentRuns', 'BestTrajectories', 'WholeTree', 'LiveEvents', 'Health']) expect(page).toContain(name);
    expect(page).not.toMatch(/<(script|link|img|iframe)[^>]+(src|href)=["']?(https?:)?\/\//);
    expect(page).not.toMatch(/unpkg\.com|jsdelivr\.net|cdnjs/);
  });
});

describe('GraphQL errors', () => {
  test('an internal error shows the caller only an id, and the log all details', async () => {
    const lines: string[] = [];
    const logger = createLogger({ form: 'json', write: (line) => void lines.push(line) });
    const broken = { get: async () => Promise.reject(new Error('unused')) };
    const ends = async () => Promise.reject(new Error('secret of the broker at 10.0.0.1'));
    const failing = await api.create({ blobs: broken, log: { ends }, logger });
    const answer = await failing.ask('{ position }');
    const [error] = answer.errors ?? [];
    expect(error?.message).toBe('the server failed on this query; its log has the cause under the errorId');
    expect(error?.extensions).toEqual({ code: 'INTERNAL_SERVER_ERROR', errorId: expect.any(String) });
    expect(JSON.stringify(answer)).not.toContain('secret');
    expect(lines.filter((line) => line.includes('secret of the broker'))).toHaveLength(1);
    expect(lines.join('')).toContain(String(error?.extensions.errorId));
  });

  test.each([
    ['no JSON', 'text', 400],
    ['no query', '{}', 400],
    ['a batch', '[{"query":"{position}"}]', 400],
    ['null', 'null', 400],
  ])('a request that is %s is answered with a status and a message', async (_, body, status) => {
    const response = await api.fetch({}, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    expect(response.status).toBe(status);
    expect((await response.json()).errors[0].message).toMatch(/./);
  });

  test('a syntax error names its line and column', async () => {
    const answer = await api.ask('{ runs( }');
    expect(answer.errors?.[0]).toMatchObject({
      message: expect.stringMatching(/^Syntax Error/),
      extensions: { code: 'GRAPHQL_PARSE_FAILED' },
    });
  });
});

const EMPTY = '00000000-0000-7000-8000-000000000000';
