import { type Floats, isJsonObject, type Json } from './read-python-json.ts';

/** The schema of a tool's arguments, as far as generation A looks at it. */
export interface ParameterSchema {
  readonly [name: string]: Json;
}

/**
 * Validates arguments as Agent-R1 of March 2025 does, and returns its message for the first problem, null for none: a dictionary,
 * the required names, and for each known property its `type` and `enum`. Names that the schema does not know pass, and so does a
 * type it does not know; a boolean is an integer and a number, as in Python. @param floats the numbers that were written
 * as floats: 1.0 is no integer there.
 */
export function validateSeedArguments(given: Json, schema: ParameterSchema, floats: Floats = new Map()): string | null {
  if (!isJsonObject(given)) return 'Arguments must be a dictionary';
  for (const name of listOf(schema.required)) {
    if (typeof name === 'string' && !Object.hasOwn(given, name)) return `Missing required parameter: ${name}`;
  }
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  for (const [name, value] of Object.entries(given)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (!isJsonObject(property)) continue;
    const { type } = property;
    if (typeof type === 'string' && !isOfType(value, type, floats !== 'float' && floats.get(name) === 'float'))
      return `Parameter ${name} has incorrect type, should be ${type}`;
    if (property.enum !== undefined && !listOf(property.enum).some((allowed) => samePython(allowed, value)))
      return `Parameter ${name} has invalid value, should be one of: ${listOf(property.enum).map(String).join(', ')}`;
  }
  return null;
}

function isOfType(value: Json, type: string, isFloat: boolean): boolean {
  switch (type) {
    case 'string':
      return typeof value === 'string';
    case 'number':
      return typeof value === 'number' || typeof value === 'boolean';
    case 'integer':
      return typeof value === 'boolean' || (typeof value === 'number' && Number.isInteger(value) && !isFloat);
    case 'boolean':
      return typeof value === 'boolean';
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isJsonObject(value);
    default:
      return true;
  }
}

/** Python's ==, where True is 1. */
function samePython(a: Json, b: Json): boolean {
  const plain = (value: Json): Json => (typeof value === 'boolean' ? Number(value) : value);
  if (typeof a === 'object' || typeof b === 'object') return JSON.stringify(a) === JSON.stringify(b);
  return plain(a) === plain(b);
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : []; // isArray does not narrow a read-only list
}
