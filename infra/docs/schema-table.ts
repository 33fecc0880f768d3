/** A JSON Schema as far as the pages read it. */
export interface Schema {
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
  readonly $ref?: string;
}

/** What many schemas have by the names of its fields, and is explained once, in the page of the events. */
export const SHARED: readonly { readonly name: string; readonly fields: readonly string[]; readonly about: string }[] = [
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

/** Returns the first object with these fields in a schema. */
export function findObject(schema: Schema, fields: readonly string[]): Schema | undefined {
  if (isObjectOf(schema, fields)) return schema;
  for (const inner of [...Object.values(schema.properties ?? {}), ...partsOf(schema)]) {
    const object = findObject(inner, fields);
    if (object) return object;
  }
  return undefined;
}

/** Returns the table of the fields of an object. */
export function tableOf(object: Schema): string {
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

/** Returns the type of a value in words. */
export function shape(field: Schema): string {
  const name = sharedName(field);
  if (name) return name;
  if (field.$ref) return field.$ref.replace('#/components/schemas/', '');
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

/** Returns text as one cell of a Markdown table: one line, bars escaped, nothing that a page would read as markup. */
export function cell(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/[|\\]/g, '\\$&').replace(/</g, '&lt;').replace(/\{\{/g, '{ {').trim();
}

/** Returns text as inline code in a cell. */
export function codeCell(text: string): string {
  return `\`${text.replace(/\s+/g, ' ').replace(/\|/g, '\\|')}\``;
}
