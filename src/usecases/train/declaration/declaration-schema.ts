import { z } from 'zod';
import { declarationFields } from './declaration-fields.ts';
import { METHOD_SCHEMAS } from './method-schema.ts';

const DESCRIPTION =
  'How a policy is trained: the body of `PUT /v1/training/policies/{id}` and the file of `espalier train --declaration`.';

/** Returns the JSON Schema (draft 2020-12) of a declaration, with what every field and every option means. */
export function declarationSchema(): Readonly<Record<string, unknown>> {
  const { properties, ...schema } = z.toJSONSchema(declarationFields, { io: 'input' });
  const methods = Object.entries(METHOD_SCHEMAS).map(([field, anyOf]) => [field, { ...of(properties?.[field]), anyOf }]);
  return {
    title: 'TrainingDeclaration',
    description: DESCRIPTION,
    ...schema,
    properties: { ...properties, ...Object.fromEntries(methods) },
  };
}

function of(schema: unknown): object {
  return typeof schema === 'object' && schema !== null ? schema : {};
}
