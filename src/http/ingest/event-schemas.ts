import { jsonSchemas } from '../../events/json-schema.ts';
import type { JsonSchema } from '../endpoint.ts';

/** Returns the schema of every event type, and `Event`, which is any of them. */
export function eventSchemas(): Readonly<Record<string, JsonSchema>> {
  const schemas = jsonSchemas() as Readonly<Record<string, JsonSchema>>; // JSON Schemas, as it is named
  const mapping = Object.fromEntries(Object.keys(schemas).map((type) => [type, `#/components/schemas/${type}`]));
  const oneOf = Object.values(mapping).map(($ref) => ({ $ref }));
  return { Event: { oneOf, discriminator: { propertyName: 'type', mapping } }, ...schemas };
}
