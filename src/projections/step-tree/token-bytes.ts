import { type RawBuilder, sql } from 'kysely';
import type { DataOf } from '../../events/catalogue.ts';
import type { Packed } from '../../events/schemas/values.ts';

/** The token arrays of a step as they were recorded. */
export type RecordedTokens = NonNullable<DataOf<'StepTaken'>['tokens']>;

// One value: a byte of flags, three of nothing, the number of tokens; then the arrays in this order, little-endian. The two of 4
// bytes an element that lie last are rare.
const HEADER = 8;
const HAS = { logProbs: 1, mask: 2, maskOfOnes: 4, ends: 8, entropies: 16 } as const;

/**
 * Returns the token arrays of a step as bytes, which are read without a look at any of them; null where they are kept as JSON:
 * one lies in the blob store, has another type or length than the ids, or base64 that does not come back as it was recorded.
 */
export function tokenBytesOf({ ids, logProbs, mask, ends, entropies }: RecordedTokens): Buffer | null {
  const { length } = ids;
  const arrays = [
    arrayOf(ids, 'int32', 0),
    arrayOf(logProbs, 'float32', HAS.logProbs),
    arrayOf(ends, 'int32', HAS.ends),
    arrayOf(entropies, 'float32', HAS.entropies),
    arrayOf(mask, 'uint8', HAS.mask),
  ].flatMap((array) => array ?? []);
  if (!arrays.every(({ packed, dtype }) => packed.dtype === dtype && packed.length === length && isWhole(packed))) return null;
  const bytes = Buffer.allocUnsafe(HEADER + arrays.reduce((sum, { packed }) => sum + sizeOf(packed), 0));
  let [at, flags] = [HEADER, 0];
  for (const { packed, flag } of arrays) {
    const end = at + bytes.write(String(packed.bytes), at, sizeOf(packed), 'base64');
    if (bytes.toString('base64', at, end) !== packed.bytes) return null;
    flags |= flag;
    at = end;
  }
  if (mask && onesOf(length).every((one, i) => bytes[at - length + i] === one)) {
    flags ^= HAS.mask | HAS.maskOfOnes;
    at -= length;
  }
  bytes.writeUInt32LE(flags, 0);
  bytes.writeUInt32LE(length, 4);
  return bytes.subarray(0, at);
}

function arrayOf(packed: Packed | null | undefined, dtype: Packed['dtype'], flag: number) {
  return packed ? { packed, dtype, flag } : null;
}

function sizeOf({ dtype, length }: Packed): number {
  return length * (dtype === 'uint8' ? 1 : 4);
}

/** Whether the text has as many characters as base64 of the elements has: a length is only said. */
function isWhole(packed: Packed): boolean {
  return typeof packed.bytes === 'string' && packed.bytes.length === 4 * Math.ceil(sizeOf(packed) / 3);
}

/** The arrays that training reads, as views of the bytes. */
export interface TokenViews {
  readonly ids: Int32Array;
  readonly logProbs: Float32Array | null;
  readonly mask: Uint8Array | null;
}

/** Reads what `tokenBytesOf` wrote. @param at where it begins in the buffer: a multiple of 4. */
export function tokenViewsOf(buffer: ArrayBuffer, at: number): TokenViews {
  const view = new DataView(buffer, at, HEADER);
  const [flags, length] = [view.getUint8(0), view.getUint32(4, true)];
  const arrays = at + HEADER;
  const wide = 1 + bitsOf(flags & (HAS.logProbs | HAS.ends | HAS.entropies));
  return {
    ids: new Int32Array(buffer, arrays, length),
    logProbs: flags & HAS.logProbs ? new Float32Array(buffer, arrays + 4 * length, length) : null,
    mask:
      flags & HAS.maskOfOnes
        ? onesOf(length)
        : flags & HAS.mask
          ? new Uint8Array(buffer, arrays + 4 * length * wide, length)
          : null,
  };
}

function bitsOf(flags: number): number {
  return flags === 0 ? 0 : (flags & 1) + bitsOf(flags >> 1);
}

let ones = new Uint8Array(4_096).fill(1);

/** A mask of a policy that sampled all, which nobody writes to. */
export function onesOf(length: number): Uint8Array {
  if (ones.length < length) ones = new Uint8Array(2 * length).fill(1);
  return ones.subarray(0, length);
}

/**
 * The token arrays of a step as JSON, as they were recorded, whichever way they are kept.
 * @param steps the name of the table in the statement.
 */
export function tokensAsJson(steps: string): RawBuilder<RecordedTokens | null> {
  const array = (dtype: string, from: string, width: number) =>
    `jsonb_build_object('dtype', '${dtype}', 'length', n, 'bytes', translate(encode(substr(b, (${from})::int, n * ${width}), 'base64'), E'\\n', ''))`;
  const behind = (...flags: readonly number[]) =>
    ['9 + 4 * n', ...flags.map((flag) => `(f & ${flag}) / ${flag} * 4 * n`)].join(' + ');
  const { logProbs, mask, maskOfOnes, ends, entropies } = HAS;
  const onesAsJson = `jsonb_build_object('dtype', 'uint8', 'length', n, 'bytes', translate(encode(decode(repeat('01', n), 'hex'), 'base64'), E'\\n', ''))`;
  return sql.raw(`coalesce(${steps}.token_json, (select jsonb_build_object('ids', ${array('int32', '9', 4)},
    'logProbs', case when f & ${logProbs} > 0 then ${array('float32', behind(), 4)} end,
    'mask', case when f & ${maskOfOnes} > 0 then ${onesAsJson}
      when f & ${mask} > 0 then ${array('uint8', behind(logProbs, ends, entropies), 1)} end)
    || case when f & ${ends} > 0 then jsonb_build_object('ends', ${array('int32', behind(logProbs), 4)}) else '{}' end
    || case when f & ${entropies} > 0 then jsonb_build_object('entropies', ${array('float32', behind(logProbs, ends), 4)}) else '{}' end
    from (select ${steps}.token_bytes as b, get_byte(${steps}.token_bytes, 0) as f, ${lengthOf(`${steps}.token_bytes`)} as n) packed
    where b is not null))`);
}

function lengthOf(bytes: string): string {
  return `get_byte(${bytes}, 4) + get_byte(${bytes}, 5) * 256 + get_byte(${bytes}, 6) * 65536`;
}

/** How many elements an array of a step has, as it was recorded; null where the step has no such array. */
export function tokensIn(steps: string, array: keyof RecordedTokens): RawBuilder<number | null> {
  const bytes = `${steps}.token_bytes`;
  const flags = array === 'ids' ? undefined : array === 'mask' ? HAS.mask | HAS.maskOfOnes : HAS[array];
  const length =
    flags === undefined ? lengthOf(bytes) : `case when get_byte(${bytes}, 0) & ${flags} > 0 then ${lengthOf(bytes)} end`;
  return sql.raw(`coalesce(${length}, (${steps}.token_json -> '${array}' ->> 'length')::bigint)`);
}
