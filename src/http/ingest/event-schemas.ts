import type { EventType } from '../../events/catalogue.ts';
import { jsonSchemas } from '../../events/json-schema.ts';
import type { JsonSchema } from '../endpoint.ts';
import { FIELDS_OF_PLATFORM, ruleOfPlatform } from './check-events.ts';

/** Returns the schema of every event type that a producer sends, and `Event`, which is any of them. */
export function eventSchemas(): Readonly<Record<string, JsonSchema>> {
  const sent = Object.entries(jsonSchemas()).filter(([type]) => !ruleOfPlatform(type as EventType)); // keys of the catalogue
  const schemas = Object.fromEntries(sent.map(([type, schema]) => [type, withoutFieldsOfPlatform(schema)]));
  const mapping = Object.fromEntries(Object.keys(schemas).map((type) => [type, `#/components/schemas/${type}`]));
  const oneOf = Object.values(mapping).map(($ref) => ({ $ref }));
  return { Event: { oneOf, discriminator: { propertyName: 'type', mapping } }, ...schemas };
}

function withoutFieldsOfPlatform(schema: { readonly properties?: object }): JsonSchema {
  const properties = Object.entries(schema.properties ?? {}).filter(([field]) => !Object.hasOwn(FIELDS_OF_PLATFORM, field));
  return { ...schema, properties: Object.fromEntries(properties) };
}
