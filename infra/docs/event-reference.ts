import { catalogue, type EventType } from '../../src/events/catalogue.ts';
import { jsonSchemas } from '../../src/events/json-schema.ts';
import { cell, codeCell } from './cell.ts';

/** A JSON Schema as far as the page reads it. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly format?: string;
}

/** What stands in nearly every event by the names of its fields, and is explained once. */
const SHARED: readonly { readonly name: string; readonly fields: readonly string[]; readonly about: string }[] = [
  {
    name: 'blob reference',
    fields: ['blob', 'size', 'mediaType'],
    about: 'A payload in the blob store. Text and bytes longer than 64 KiB are stored there, and the event holds the reference.',
  },
  {
    name: 'packed array',
    fields: ['dtype', 'length', 'bytes'],
    about: 'An array of numbers as bytes.',
  },
];

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
    'Made from the code by `npm run docs:reference`. The JSON Schema of a type: `espalier schemas TYPE`, `GET /v1/schemas`.\n',
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
  return `## Envelope\n\nThe fields beside \`data\`, which every event has.\n\n${table}`;
}

function sharedSection({ name, fields, about }: (typeof SHARED)[number], schemas: readonly Schema[]): string {
  const found = schemas.map((schema) => findObject(schema, fields)).find((object) => object !== undefined);
  if (!found) throw new Error(`no event has an object with the fields ${fields.join(', ')}`);
  return `## ${name[0]?.toUpperCase()}${name.slice(1)}\n\n${about}\n\n${tableOf(found)}`;
}

function findObject(schema: Schema, fields: readonly string[]): Schema | undefined {
  if (isObjectOf(schema, fields)) return schema;
  for (const inner of [...Object.values(schema.properties ?? {}), ...partsOf(schema)]) {
    const found = findObject(inner, fields);
    if (found) return found;
  }
  return undefined;
}

function section(type: EventType, schema: Schema): string {
  const data = schema.properties?.data ?? {};
  const { topic, stream } = catalogue[type];
  return `## ${type}\n\n${data.description} Topic \`${topic}\`; the stream is \`data.${stream}\`.\n\n${tableOf(data)}`;
}

function tableOf(object: Schema): string {
  return `| field | type | |\n|---|---|---|\n${rowsOf([object], '').join('\n')}\n`;
}

/** The rows of the fields of an object, each before those inside it. A field of several alternatives is one row. */
function rowsOf(objects: readonly Schema[], path: string): readonly string[] {
  const names = new Set(objects.flatMap(({ properties }) => Object.keys(properties ?? {})));
  return [...names].flatMap((name) => {
    const fields = objects.flatMap(({ properties }) => properties?.[name] ?? []);
    const always = objects.every(({ required }) => required?.includes(name));
    const types = [...new Set(fields.map(shape))].join(' or ');
    const about = [...new Set(fields.map(({ description }) => description ?? ''))].join(' ');
    const place = path + name;
    const row = `| \`${place}\`${always ? '' : ' (optional)'} | ${codeCell(types)} | ${cell(about)} |`;
    return [row, ...fields.flatMap((field) => innerRows(field, place))];
  });
}

function innerRows(field: Schema, place: string): readonly string[] {
  if (field.items) return innerRows(field.items, `${place}[]`);
  const objects = [field, ...partsOf(field)].filter((part) => part.properties && !sharedName(part));
  const lists = partsOf(field).filter(({ items }) => items);
  return [...rowsOf(objects, `${place}.`), ...lists.flatMap((list) => innerRows(list, place))];
}

function shape(field: Schema): string {
  const name = sharedName(field);
  if (name) return name;
  if (field.const !== undefined) return JSON.stringify(field.const);
  if (field.enum) return field.enum.map((value) => JSON.stringify(value)).join(' or ');
  const parts = partsOf(field);
  if (parts.length > 0) return [...new Set(parts.map(shape))].join(' or ');
  if (field.type === 'array') return `array of ${field.items ? shape(field.items) : 'any'}`;
  if (typeof field.additionalProperties === 'object') return `object of ${shape(field.additionalProperties)} by name`;
  const type = typeof field.type === 'string' ? field.type : (field.type?.join(' or ') ?? 'any');
  return field.format ? `${type} (${field.format})` : type;
}

function partsOf({ anyOf, oneOf }: Schema): readonly Schema[] {
  return anyOf ?? oneOf ?? [];
}

function sharedName(field: Schema): string | undefined {
  return SHARED.find(({ fields }) => isObjectOf(field, fields))?.name;
}

function isObjectOf({ properties }: Schema, fields: readonly string[]): boolean {
  return properties !== undefined && Object.keys(properties).join() === fields.join();
}
