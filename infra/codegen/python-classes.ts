import type { EventType } from '../../src/events/catalogue.ts';

/** What is read of a JSON Schema. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly additionalProperties?: Schema | boolean;
}

/**
 * Returns the Python of an event type's data: a TypedDict, behind those of the objects inside of it, each field with its
 * description behind it as a docstring. Python 3.10 has no mark for a field that may be absent, so those are in a base of their
 * own.
 */
export function pythonClasses(type: EventType, schema: object): string {
  const { properties: { data } = {}, description } = schema as Schema; // a JSON Schema, read as far as named above
  if (!data) throw new Error(`the schema of ${type} has no data`);
  const written: string[] = [];
  writeClass(`${type}Data`, { ...data, description: description ?? '' }, written);
  return written.join('\n');
}

/** Objects that mean the same wherever they are, by their fields: a module of their own has them. */
const SHARED: Readonly<Record<string, string>> = {
  'blob size mediaType': 'BlobRef',
  'dtype length bytes': 'Packed',
  'promptTokens completionTokens': 'TokenUsage',
  'responseId model requestHash attempts latencyMs usage trimmed fingerprint': 'ModelCall',
  'name revision mode': 'NamedMethod',
  'name revision': 'NamedScorer',
  'width height': 'PixelSize',
  'imageId width height png': 'ShownPicture',
  'policyId version': 'PolicyVersion',
  'groupsPerBatch group maxStaleness offPolicy metric rewards unscored zeroVariance band truncated unclear unknownSampling maxTokens layout tokenBudget':
    'PlanRules',
};
export const SHARED_NAMES = Object.values(SHARED);

function sharedNameOf({ properties = {} }: Schema): string | undefined {
  return SHARED[Object.keys(properties).join(' ')];
}

/** Returns the Python of the objects that many events share. */
export function sharedClasses(schemas: readonly object[]): string {
  const written: string[] = [];
  for (const [fields, name] of Object.entries(SHARED)) {
    const found = schemas.map((schema) => findObject(schema as Schema, fields)).find((object) => object !== undefined);
    if (!found) throw new Error(`no event has an object with the fields ${fields}`);
    writeClass(name, { ...found, description: ABOUT[name] ?? '' }, written);
  }
  return written.join('\n');
}

const ABOUT: Readonly<Record<string, string>> = {
  BlobRef: 'A payload in the blob store.',
  Packed: 'An array of tokens or bytes, packed.',
  TokenUsage: 'Tokens of a call as the server counted them.',
  ModelCall: 'A call of a model server.',
  NamedMethod: 'An estimator or a loss with its options.',
  NamedScorer: 'What scored or judged.',
  PixelSize: 'The size of an image in pixels.',
  ShownPicture: 'A picture that an environment showed.',
  PolicyVersion: 'A version of a policy.',
  PlanRules: 'The rules by which batches are planned.',
};

function findObject(schema: Schema, fields: string): Schema | undefined {
  if (Object.keys(schema.properties ?? {}).join(' ') === fields) return schema;
  const inside = [...Object.values(schema.properties ?? {}), ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  if (schema.items) inside.push(schema.items);
  return inside.map((each) => findObject(each, fields)).find((found) => found !== undefined);
}

/** Writes the class of an object behind those of its fields, and returns its name. */
function writeClass(name: string, { properties = {}, required = [], description = '' }: Schema, written: string[]): string {
  const fields = Object.entries(properties).map(([field, schema]) => {
    const annotation = typeOf(`${name}${capital(field)}`, schema, written);
    return { field, annotation, about: schema.description ?? '', isRequired: required.includes(field) };
  });
  const about = description || `An object within ${name.replace(/[A-Z][a-z]*$/, '')}.`;
  const optional = fields.filter(({ isRequired }) => !isRequired);
  const base = optional.length > 0 ? `_${name}Optional` : 'TypedDict';
  const lines = (of: typeof fields) =>
    of.flatMap(({ field, annotation, about }) => [`${field}: ${annotation}`, docstring(about)]);
  const body = (docs: string, of: typeof fields) => [docs, '', ...lines(of)].map((line) => (line === '' ? '' : `    ${line}`));
  // A field named by a word of Python, `from`, is written in the functional form, which has no place for docstrings.
  if (fields.some(({ field }) => KEYWORDS.has(field))) {
    const entries = fields.map(
      ({ field, annotation, about }) => `        # ${about}\n        "${field}": ${quoted(annotation)},`,
    );
    written.push(`\n${name} = TypedDict(\n    "${name}",\n    {\n${entries.join('\n')}\n    },\n)`, docstring(about), '');
    return name;
  }
  if (optional.length > 0)
    written.push(
      ['', `class ${base}(TypedDict, total=False):`, ...body(docstring('Fields that may be absent.'), optional), ''].join('\n'),
    );
  const rest = fields.filter(({ isRequired }) => isRequired);
  written.push(['', `class ${name}(${base}):`, ...body(docstring(about), rest), ''].join('\n'));
  return name;
}

const KEYWORDS = new Set(['from', 'class', 'import', 'in', 'is', 'pass', 'raise', 'return', 'with']);

function typeOf(name: string, schema: Schema, written: string[]): string {
  const members = schema.anyOf ?? schema.oneOf;
  if (members) {
    const named = members.length > 1 && members.filter(({ properties }) => properties).length > 1;
    const types = members.map((member, i) => typeOf(named ? `${name}${suffixOf(member, i)}` : name, member, written));
    return [...new Set(types)].join(' | ');
  }
  if (schema.const !== undefined) return `Literal[${literal(schema.const)}]`;
  if (schema.enum) return `Literal[${schema.enum.map(literal).join(', ')}]`;
  if (schema.properties) return sharedNameOf(schema) ?? writeClass(name, schema, written);
  if (typeof schema.type === 'object') return schema.type.map((type) => typeOf(name, { ...schema, type }, written)).join(' | ');
  if (schema.type === 'array') return `list[${schema.items ? typeOf(name, schema.items, written) : 'Any'}]`;
  if (schema.type === 'object') {
    const { additionalProperties: values } = schema;
    return `dict[str, ${typeof values === 'object' ? typeOf(name, values, written) : 'Any'}]`;
  }
  return PLAIN[schema.type ?? ''] ?? 'Any';
}

export const PLAIN: Readonly<Record<string, string>> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
};

/** Returns what distinguishes a member of a union: the literal that it is discriminated by, else its number. */
function suffixOf({ properties = {} }: Schema, index: number): string {
  const literal = Object.values(properties).find((property) => typeof property.const === 'string')?.const;
  return typeof literal === 'string' ? capital(literal) : String(index + 1);
}

function literal(value: unknown): string {
  return value === null ? 'None' : typeof value === 'boolean' ? (value ? 'True' : 'False') : JSON.stringify(value);
}

function quoted(annotation: string): string {
  return `"${annotation.replaceAll('"', "'")}"`;
}

function docstring(text: string): string {
  return `"""${text.replaceAll('\\', '\\\\')}${text.endsWith('"') ? ' ' : ''}"""`;
}

function capital(text: string): string {
  return text.replace(/[^A-Za-z0-9]/g, '').replace(/^./, (first) => first.toUpperCase());
}
