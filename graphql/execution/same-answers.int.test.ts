import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Kind, parse } from 'graphql';
import { createYoga } from 'graphql-yoga';
import { localPrincipal } from '../../src/postgres/principal.ts';
import { projections } from '../../src/projections/registry.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import { useMoments } from '../as-of/use-moments.ts';
import { type Context, createContext, type ServerContext } from '../context.ts';
import { createMaskError } from '../mask-error.ts';
import { BUDGETS } from '../metering/budgets.ts';
import { Callers } from '../metering/callers.ts';
import { useMetering } from '../metering/use-metering.ts';
import { readOperations } from '../persisted-operations.ts';
import { createExecutableSchema } from '../schema.ts';
import * as studio from '../studio/generated/operations.ts';
import { openTestRecord, type TestRecord } from '../testing/test-record.ts';

let record: TestRecord;
let reference: (query: string, variables: object) => Promise<string>;
beforeAll(async () => {
  record = await openTestRecord();
  const { database, log, blobs, notices, snapshots } = record.api;
  const sources = { db: database.db, tails: database.db, log, blobs, notices, snapshots, projections };
  const callers = new Callers(BUDGETS, Date.now);
  const yoga = createYoga<ServerContext, Context>({
    schema: await createExecutableSchema(),
    context: ({ request: { signal }, ...given }) =>
      createContext(sources, BUDGETS, callers, () => undefined, { ...given, signal }) as Context, // as createGraphql does
    logging: false,
    maskedErrors: { maskError: createMaskError(SILENT) },
    plugins: [useMetering(), useMoments()],
  });
  reference = async (query, variables) => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ query, variables }) };
    return (await yoga.fetch('http://api/graphql', init, { principal: localPrincipal() })).text();
  };
});
afterAll(() => record.api.close());

test("every operation of the studio and every example is answered to the byte as by yoga's executor", async () => {
  const examples = (await readOperations()).map(({ text }) => text);
  const texts = Object.values(studio).flatMap((operation) => [
    operation.text,
    ...(operation.asOf === null ? [] : [operation.asOf]),
  ]);
  const asked = [...examples, ...texts].filter(isQuery);
  expect(asked.length).toBeGreaterThan(100);
  let answered = 0;
  for (const query of asked)
    for (const id of [record.run, record.tree.treeId, record.good.steps.at(-1) ?? '', record.good.rolloutId]) {
      const variables = variablesOf(query, id);
      const answer = await (await record.api.fetch({ query, variables })).text();
      expect({ query, id, answer: withoutNow(answer) }).toEqual({
        query,
        id,
        answer: withoutNow(await reference(query, variables)),
      });
      if (answer.includes(id)) answered++;
    }
  expect(answered).toBeGreaterThan(100);
});

test("errors are answered to the byte as by yoga's executor", async () => {
  for (const query of [
    '{ run(id: "not a UUID") { id } viewer { name } }',
    `{ tree(id: "${record.tree.treeId}") { steps(first: 0) { id } root { statistics(asOfSimulation: -1) { visits } id } } }`,
    `{ runs(first: 3, after: "nowhere") { nodes { id } } viewer { name } }`,
    `{ tree(id: "${record.bigTree.treeId}") { steps { id response thought observation rewards { value } largeTexts { field size text(offset: 0, length: 9) } } } }`,
  ]) {
    const answer = await (await record.api.fetch({ query })).text();
    expect(answer).toBe(await reference(query, {}));
  }
});

/** Values for what an operation asks to be given: the id wherever it may go, and small numbers. */
function variablesOf(query: string, id: string): Record<string, unknown> {
  const operation = parse(query).definitions.find((node) => node.kind === Kind.OPERATION_DEFINITION);
  const variables: Record<string, unknown> = {};
  for (const { variable, type } of operation?.variableDefinitions ?? []) {
    if (type.kind !== Kind.NON_NULL_TYPE) continue;
    const list = type.type.kind === Kind.LIST_TYPE;
    const named = type.type.kind === Kind.NAMED_TYPE ? type.type.name.value : '';
    const value = { Int: 5, Float: 1, Boolean: true, StepFilter: {}, RunFilter: {} }[named] ?? id;
    variables[variable.name.value] = list ? [id] : value;
  }
  return variables;
}

function isQuery(text: string): boolean {
  return parse(text).definitions.some((node) => node.kind === Kind.OPERATION_DEFINITION && node.operation === 'query');
}

/** What is measured while it is answered differs from one time to the next. */
function withoutNow(answer: string): string {
  return answer.replaceAll(/"(lagMs|ageMs|seconds)":[\d.]+/g, '"$1":0');
}
