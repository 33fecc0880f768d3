import { findEnclosed } from '../text/enclosed.ts';
import { pythonStrip } from '../text/python-strip.ts';
import { type Floats, isJsonObject, type Json, type ReadJson, readPythonJson } from './read-python-json.ts';

/** A call as a model wrote it: to be looked up and validated still. */
export interface ToolCall {
  readonly name: string;
  readonly arguments: Json;
  /** The arguments as they were written, for the record. */
  readonly text: string;
  /** The numbers within the arguments that were written as floats. */
  readonly floats: Floats;
}

export type ParsedCall =
  | { readonly kind: 'call'; readonly call: ToolCall }
  | { readonly kind: 'broken'; readonly problem: 'json' | 'no-name' | 'no-arguments'; readonly text: string };

/**
 * Reads the calls of profile `nous` (Agent-R1's branch legacy): the JSON of every `<tool_call>` pair. Where the original falls
 * over a number or null, this says that there is no name.
 */
export function parseNousCalls(response: string): ParsedCall[] {
  return readNousJson(response).map(({ text, read }) => {
    if (read.kind === 'broken') return broken('json', text);
    if (!isJsonObject(read.value) || !Object.hasOwn(read.value, 'name')) return broken('no-name', text);
    if (!Object.hasOwn(read.value, 'arguments')) return broken('no-arguments', text);
    return callOf(read.value.name ?? null, read.value.arguments ?? null, read, text);
  });
}

/** Reads the JSON values between the tags of profile `nous`, good or broken. */
export function readNousJson(response: string): { readonly text: string; readonly read: ReadJson }[] {
  return findEnclosed(response, 'tool_call', 'as-written').map(({ content }) => ({
    text: content,
    read: readPythonJson(content),
  }));
}

/**
 * Reads the call of profile `seed` (Agent-R1 of March 2025): the first pair of tags counts, and absent arguments are none. Null
 * where there is no pair.
 */
export function parseSeedCall(response: string): ParsedCall | null {
  const [pair] = findEnclosed(response, 'tool_call', 'as-written');
  if (pair === undefined) return null;
  const text = pythonStrip(pair.content);
  const read = readPythonJson(text);
  if (read.kind === 'broken') return broken('json', text);
  if (!isJsonObject(read.value) || !Object.hasOwn(read.value, 'name')) return broken('no-name', text);
  const given = Object.hasOwn(read.value, 'arguments') ? (read.value.arguments ?? null) : {};
  return callOf(read.value.name ?? null, given, read, '{}');
}

/**
 * Reads the calls of profile `v0.1` in its Hermes form: what is malformed vanishes, and arguments that are a text are read once
 * more.
 */
export function parseHermesCalls(response: string): ToolCall[] {
  return readNousJson(response).flatMap(({ text, read }) => {
    if (read.kind === 'broken' || !isJsonObject(read.value)) return [];
    const { name, arguments: given } = read.value;
    if (typeof name !== 'string' || given === undefined) return [];
    if (typeof given !== 'string') {
      const parsed = isJsonObject(given) ? callOf(name, given, read, text) : null;
      return parsed?.kind === 'call' ? [parsed.call] : [];
    }
    const again = readPythonJson(given);
    return again.kind === 'value' && isJsonObject(again.value)
      ? [{ name, arguments: again.value, text: given, floats: again.floats }]
      : [];
  });
}

/**
 * Reads the program of profile `retool`: lines between a line that begins with `<code>` and one that begins with `</code>`,
 * fences left out, each block under a line of its own; null when there is none or the last one is still open.
 */
export function parseRetoolCode(response: string): string | null {
  let code = '';
  let open = false;
  for (const line of response.split('\n')) {
    if (line.startsWith('<code>')) {
      code += '\n# ========\n';
      open = true;
    } else if (line.startsWith('</code>')) open = false;
    else if (open && !line.startsWith('```')) code += `${line}\n`;
  }
  return open || code === '' ? null : code;
}

function callOf(name: Json, given: Json, read: Extract<ReadJson, { kind: 'value' }>, whole: string): ParsedCall {
  if (typeof name !== 'string') return broken('no-name', whole);
  const floats = (read.floats === 'float' ? undefined : read.floats.get('arguments')) ?? new Map<string, Floats>();
  return {
    kind: 'call',
    call: { name, arguments: given, text: read.members.get('arguments') ?? whole, floats },
  };
}

function broken(problem: Extract<ParsedCall, { kind: 'broken' }>['problem'], text: string): ParsedCall {
  return { kind: 'broken', problem, text };
}

/** The schema of a tool's arguments, as far as generation A looks at it. */
interface ParameterSchema {
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
