import { catalogue, type EventType } from '../../src/events/catalogue.ts';
import { jsonSchemas } from '../../src/events/json-schema.ts';
import { findObject, type Schema, SHARED, tableOf } from './schema-table.ts';

/**
 * Returns the page of every event type: what happened, topic, stream, and the fields of its data; before them what all events
 * share.
 */
export function eventReference(): string {
  const schemas = jsonSchemas();
  const types = Object.keys(catalogue) as EventType[]; // the keys of the catalogue are the event types
  const read = types.map((type) => ({ type, schema: schemas[type] as Schema })); // a JSON Schema, read as far as named above
  return [
    '# Events\n',
    'The JSON Schema of a type: `espalier schemas TYPE`, `GET /v1/schemas`.\n',
    envelope(read[0]?.schema ?? {}),
    ...SHARED.map((shared) =>
      sharedSection(
        shared,
        read.map(({ schema }) => schema),
      ),
    ),
    ...read.map(({ type, schema }) => section(type, schema)),
  ].join('\n');
}

/** The fields of any event but its data. Two of them are literals in the schema of a type, whose values are left out here. */
function envelope({ required = [], properties = {} }: Schema): string {
  const { data: _, id = {}, type, schemaVersion, ...rest } = properties;
  const own = {
    id,
    type: { type: 'string', description: type?.description ?? '' },
    schemaVersion: { type: 'integer', description: schemaVersion?.description ?? '' },
  };
  const table = tableOf({ required, properties: { ...own, ...rest } });
  return `## Envelope\n\nThe fields besides \`data\`, which every event has.\n\n${table}`;
}

function sharedSection({ name, fields, about }: (typeof SHARED)[number], schemas: readonly Schema[]): string {
  const found = schemas.map((schema) => findObject(schema, fields)).find((object) => object !== undefined);
  if (!found) throw new Error(`no event has an object with the fields ${fields.join(', ')}`);
  return `## ${name[0]?.toUpperCase()}${name.slice(1)}\n\n${about}\n\n${tableOf(found)}`;
}

function section(type: EventType, schema: Schema): string {
  const data = schema.properties?.data ?? {};
  const { topic, stream } = catalogue[type];
  return `## ${type}\n\n${data.description} Topic \`${topic}\`; the stream is \`data.${stream}\`.\n\n${tableOf(data)}`;
}
