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
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly format?: string;
}

/** Returns the page of every event type: topic, stream, and the fields of its data. */
export function eventReference(): string {
  const schemas = jsonSchemas();
  const types = Object.keys(catalogue) as EventType[]; // the keys of the catalogue are the event types
  return [
    '# Events\n',
    'Made from the code by `npm run docs:reference`. The JSON Schema of a type: `espalier schemas TYPE`, `GET /v1/schemas`.\n',
    ...types.map((type) => section(type, schemas[type] as Schema)), // a JSON Schema, read as far as named above
  ].join('\n');
}

function section(type: EventType, schema: Schema): string {
  const data = schema.properties?.data ?? {};
  const rows = Object.entries(data.properties ?? {}).map(([name, field]) => {
    const optional = data.required?.includes(name) ? '' : ' (optional)';
    return `| \`${name}\`${optional} | ${codeCell(shape(field))} | ${cell(field.description ?? '')} |`;
  });
  const { topic, stream } = catalogue[type];
  return `## ${type}\n\nTopic \`${topic}\`; the stream is \`data.${stream}\`.\n\n| field | type | |\n|---|---|---|\n${rows.join('\n')}\n`;
}

function shape(field: Schema): string {
  if (field.const !== undefined) return JSON.stringify(field.const);
  if (field.enum) return field.enum.map((value) => JSON.stringify(value)).join(' or ');
  const parts = field.anyOf ?? field.oneOf;
  if (parts) return [...new Set(parts.map(shape))].join(' or ');
  if (field.type === 'array') return `array of ${field.items ? shape(field.items) : 'any'}`;
  const name = typeof field.type === 'string' ? field.type : (field.type?.join(' or ') ?? 'any');
  return field.format ? `${name} (${field.format})` : name;
}
