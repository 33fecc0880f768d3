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
