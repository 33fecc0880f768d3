import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { codegen } from '@graphql-codegen/core';
import * as operations from '@graphql-codegen/typescript-operations';
import {
  buildSchema,
  type DocumentNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  parse,
  print,
  validate,
  visit,
} from 'graphql';
import { readTypeDefs } from './type-defs.ts';

const SOURCES = fileURLToPath(new URL('../studio/src/', import.meta.url));
const FILE = fileURLToPath(new URL('studio/generated/operations.ts', import.meta.url));

/**
 * Writes what the studio asks: of every operation of its `.graphql` files the types of variables and answer, its text, and for a
 * query its text as of a moment of the record (`$atPosition` or `$atTime`).
 * @throws Error naming the operation that does not fit the schema.
 */
export async function generateOperations(): Promise<string> {
  const typeDefs = await readTypeDefs();
  const schema = buildSchema(typeDefs);
  const files = (await readdir(SOURCES, { recursive: true })).filter((file) => file.endsWith('.graphql')).sort();
  const documents = await Promise.all(
    files.map(async (file) => ({ location: file, document: parse(await readFile(join(SOURCES, file), 'utf8')) })),
  );
  const whole: DocumentNode = { kind: Kind.DOCUMENT, definitions: documents.flatMap(({ document }) => document.definitions) };
  const [wrong] = validate(schema, whole);
  if (wrong) throw new Error(`${wrong.message} (operations of the studio)`);
  const types = await codegen({
    filename: FILE,
    documents,
    schema: parse(typeDefs),
    schemaAst: schema,
    plugins: [{ operations: {} }],
    pluginMap: { operations },
    config: {
      enumsAsTypes: true,
      immutableTypes: true,
      useTypeImports: true,
      skipTypename: true,
      disableDescriptions: true,
      scalars: { ID: 'string', DateTime: 'string', JSON: 'unknown', SafeInt: 'number' },
    },
  });
  const constants = whole.definitions.flatMap((each) =>
    each.kind === Kind.OPERATION_DEFINITION ? [constantOf(each, whole)] : [],
  );
  return [
    '// Written by graphql/codegen-studio.ts from studio/src/**/*.graphql; `npm run codegen` writes it again.',
    "import type { Operation } from '../operation.ts';",
    types,
    ...constants,
    '',
  ].join('\n');
}

/** Returns the generated file as it is committed. */
export async function readOperations(): Promise<string> {
  return readFile(FILE, 'utf8');
}

function constantOf(operation: OperationDefinitionNode, whole: DocumentNode): string {
  const name = operation.name?.value;
  if (name === undefined) throw new Error('an operation of the studio has no name');
  const kind = { query: 'Query', mutation: 'Mutation', subscription: 'Subscription' }[operation.operation];
  const fragments = fragmentsOf(operation, whole);
  const text = [operation, ...fragments].map(print).join('\n');
  const then = operation.operation === 'query' ? [asOf(operation), ...fragments].map(print).join('\n') : null;
  const type = `Operation<${name}${kind}, ${name}${kind}Variables>`;
  return `export const ${name[0]?.toLowerCase()}${name.slice(1)}: ${type} = ${JSON.stringify({ name, text, asOf: then })};`;
}

/** The same query as of a moment: one more level, which the client takes off again. */
function asOf(operation: OperationDefinitionNode): OperationDefinitionNode {
  const wrapped = parse(
    'query ($atPosition: String, $atTime: DateTime) { asOf(position: $atPosition, time: $atTime) { __typename } }',
  ).definitions[0] as OperationDefinitionNode;
  const [outer] = wrapped.selectionSet.selections;
  if (outer?.kind !== Kind.FIELD) throw new Error('a selection of one field was expected');
  return {
    ...operation,
    variableDefinitions: [...(operation.variableDefinitions ?? []), ...(wrapped.variableDefinitions ?? [])],
    selectionSet: { ...wrapped.selectionSet, selections: [{ ...outer, selectionSet: operation.selectionSet }] },
  };
}

/** The fragments that an operation uses, by themselves or through others, in the order of their names. */
function fragmentsOf(operation: OperationDefinitionNode, whole: DocumentNode): readonly FragmentDefinitionNode[] {
  const all = new Map(
    whole.definitions.flatMap((each) => (each.kind === Kind.FRAGMENT_DEFINITION ? [[each.name.value, each]] : [])),
  );
  const used = new Set<string>();
  const follow = (node: OperationDefinitionNode | FragmentDefinitionNode): void => {
    visit(node, {
      FragmentSpread({ name }) {
        const fragment = all.get(name.value);
        if (!fragment || used.has(name.value)) return;
        used.add(name.value);
        follow(fragment);
      },
    });
  };
  follow(operation);
  return [...used].sort().map((name) => all.get(name)!);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await writeFile(FILE, await generateOperations());
}
