import { expect, test } from '@jest/globals';
import { buildSchema, type GraphQLNamedType, isEnumType, isInputObjectType, isInterfaceType, isObjectType } from 'graphql';
import { generateOperations, readOperations } from './codegen-studio.ts';
import { readTypeDefs } from './type-defs.ts';

test('the committed operations of the studio equal those generated from its queries (npm run codegen writes them)', async () => {
  expect(await generateOperations()).toBe(await readOperations());
});

test('every type, field, argument value and directive of the schema has a description', async () => {
  const schema = buildSchema(await readTypeDefs());
  const types = Object.values(schema.getTypeMap()).filter(({ name, astNode }) => !name.startsWith('__') && astNode);
  const undocumented = types.flatMap((type) => [type, ...partsOf(type)].filter(({ description }) => !description?.trim()));
  expect(undocumented.map(({ name }) => name)).toEqual([]);
  expect(types.length).toBeGreaterThan(50);
  for (const name of ['listSize', 'cost']) expect(schema.getDirective(name)?.description).toBeTruthy();
});

function partsOf(type: GraphQLNamedType): readonly { readonly name: string; readonly description?: string | null | undefined }[] {
  if (isEnumType(type)) return type.getValues();
  if (isObjectType(type) || isInterfaceType(type) || isInputObjectType(type)) return Object.values(type.getFields());
  return [];
}
