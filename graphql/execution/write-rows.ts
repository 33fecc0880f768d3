import {
  GraphQLBoolean,
  GraphQLID,
  GraphQLInt,
  type GraphQLLeafType,
  GraphQLString,
  isEnumType,
  TypeNameMetaFieldDef,
} from 'graphql';
import type { CopiedColumn, CopiedRows } from '../../src/postgres/copied-rows.ts';
import { JsonBytes } from './json-bytes.ts';
import type { FieldPlan, Plan } from './plan-selection.ts';
import { Written } from './written.ts';

const AROUND = 4; // as `answerSize` counts a name or a text
const LEAST = 40; // bytes of a value that is no text, or of what a text is written with
const json = (text: string) => Buffer.from(text, 'utf8');
const [NULL, TRUE, FALSE, OPEN, CLOSE, NEXT, END] = ['null', 'true', 'false', '[', ']', ',', '}'].map(json) as Seven;
type Seven = [Buffer, Buffer, Buffer, Buffer, Buffer, Buffer, Buffer];

/** A field of the selection: what precedes its value, and how that is written. */
interface Field {
  readonly before: Buffer;
  /** What `answerSize` counts of its name. */
  readonly size: number;
  /** -1 of a field that is the same in all rows, which `before` holds. */
  readonly column: number;
  readonly required: boolean;
  readonly write: (out: JsonBytes, bytes: Buffer, at: number, length: number) => boolean;
}

/**
 * Writes rows as they are answered, where each field of the selection is a column as it lies there: no text, no record and no
 * object of the answer is made. Undefined where that does not hold for all rows: as records, what is wrong with them is worded.
 * @param count is called with how many fields are answered, and may throw.
 */
export function writeRows(rows: CopiedRows<unknown>, plan: Plan, count: (fields: number) => void): Written | undefined {
  const { bytes, starts, columns } = rows;
  const fields: Field[] = [];
  for (const field of plan.fields) {
    const known = fieldOf(field, fields.length === 0 ? '{' : ',', plan.type.name, columns);
    if (!known) return undefined;
    fields.push(known);
  }
  if (fields.length === 0) return undefined;
  const blobs = columns.findIndex(({ name }) => name === 'blobs');
  const around = fields.reduce((sum, { before }) => sum + before.length + LEAST, 0);
  const out = new JsonBytes(starts.length * around + 2);
  const lengths = new Int32Array(columns.length);
  const places = new Int32Array(columns.length);
  out.json(OPEN, 0);
  for (const [row, start] of starts.entries()) {
    let at = start;
    for (let i = 0; i < columns.length; i++) {
      const length = bytes.readInt32BE(at);
      places[i] = at + 4;
      lengths[i] = length;
      at += 4 + Math.max(0, length);
    }
    if (blobs !== -1 && lengths[blobs] !== -1) return undefined; // functions stand for texts that are not here
    if (row > 0) out.json(NEXT, 0);
    for (const { before, size, column, required, write } of fields) {
      out.json(before, size);
      if (column === -1) continue;
      const length = lengths[column] as number; // the index of one
      if (length === -1) {
        if (required) return undefined;
        out.literal(NULL);
      } else if (!write(out, bytes, places[column] as number, length)) return undefined;
    }
    out.json(END, 0);
  }
  out.json(CLOSE, 0);
  count(starts.length * fields.filter(({ column }) => column !== -1).length);
  return new Written(out);
}

function fieldOf(
  { definition, key, name, leaf, required }: FieldPlan,
  opening: string,
  typename: string,
  columns: readonly CopiedColumn[],
): Field | undefined {
  const before = `${opening}${JSON.stringify(key)}:`;
  const size = key.length + AROUND;
  if (definition === TypeNameMetaFieldDef) {
    const whole = json(`${before}${JSON.stringify(typename)}`);
    return { before: whole, size: size + typename.length + AROUND, column: -1, required, write: () => true };
  }
  const column = columns.findIndex((one) => one.name === name);
  const type = columns[column]?.type;
  const write = leaf && type && writerOf(leaf, type);
  return write ? { before: json(before), size, column, required, write } : undefined;
}

/** How a value of a column is written as a value of a type; undefined where they do not go together. */
function writerOf(leaf: GraphQLLeafType, type: CopiedColumn['type']): Field['write'] | undefined {
  if (type === 'uuid' && leaf === GraphQLID) return writeUuid;
  if (type === 'text' && (leaf === GraphQLString || leaf === GraphQLID)) return writeText;
  if (type === 'text' && isEnumType(leaf)) return enumWriter(leaf);
  if (type === 'integer' && leaf === GraphQLInt) return writeInteger;
  if (type === 'bigint' && leaf.name === 'SafeInt') return writeBigint;
  if (type === 'boolean' && leaf === GraphQLBoolean) return writeBoolean;
  return undefined;
}

function writeUuid(out: JsonBytes, bytes: Buffer, at: number): boolean {
  out.uuid(bytes, at);
  return true;
}

function writeText(out: JsonBytes, bytes: Buffer, at: number, length: number): boolean {
  out.text(bytes, at, length);
  return true;
}

function writeInteger(out: JsonBytes, bytes: Buffer, at: number): boolean {
  out.integer(bytes.readInt32BE(at));
  return true;
}

function writeBigint(out: JsonBytes, bytes: Buffer, at: number): boolean {
  const value = bytes.readInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);
  if (!Number.isSafeInteger(value)) return false;
  out.integer(value);
  return true;
}

function writeBoolean(out: JsonBytes, bytes: Buffer, at: number): boolean {
  out.literal(bytes[at] === 1 ? TRUE : FALSE);
  return true;
}

/** Only texts that are values of the type. */
function enumWriter(leaf: GraphQLLeafType): Field['write'] {
  const known = new Map<string, string | null>();
  return (out, bytes, at, length) => {
    const text = bytes.toString('latin1', at, at + length);
    let answered = known.get(text);
    if (answered === undefined) {
      answered = serializedBy(leaf, text);
      known.set(text, answered);
    }
    if (answered === null) return false;
    const written = json(answered);
    out.text(written, 0, written.length);
    return true;
  };
}

function serializedBy(leaf: GraphQLLeafType, text: string): string | null {
  try {
    const serialized = leaf.serialize(text);
    return typeof serialized === 'string' ? serialized : null;
  } catch {
    return null; // worded where it is answered as a record
  }
}
