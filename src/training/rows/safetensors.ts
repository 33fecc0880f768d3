// safetensors (https://github.com/huggingface/safetensors): 8 bytes little-endian length of the header, the header as JSON, then
// the tensors one after the other without a hole. Written here: the whole format is these lines, and a reader needs nothing that
// could run code.

export type Dtype = 'F64' | 'I32' | 'F32' | 'U8';
export type Numbers = Float64Array | Int32Array | Float32Array | Uint8Array;

export interface Tensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Numbers;
}

const WIDTHS: Readonly<Record<Dtype, number>> = { F64: 8, I32: 4, F32: 4, U8: 1 };
const ALIGNMENT = 8;

/**
 * Writes tensors and string metadata as the parts of one body, in order: the header, then each tensor's bytes, not copied. Wide
 * types come first, so that every tensor lies aligned in the body and a reader may map it.
 * @throws RangeError when a shape does not fit its data.
 */
export function writeSafetensors(tensors: readonly Tensor[], metadata: Readonly<Record<string, string>>): readonly Uint8Array[] {
  const ordered = [...tensors].sort((a, b) => WIDTHS[dtypeOf(b.data)] - WIDTHS[dtypeOf(a.data)]);
  const header: Record<string, unknown> = { __metadata__: metadata };
  let offset = 0;
  for (const { name, shape, data } of ordered) {
    const elements = shape.reduce((product, size) => product * size, 1);
    if (elements !== data.length)
      throw new RangeError(`tensor ${name}: the shape [${shape}] has ${elements} elements, not ${data.length}`);
    header[name] = { dtype: dtypeOf(data), shape, data_offsets: [offset, offset + data.byteLength] };
    offset += data.byteLength;
  }
  return [headerBytes(header), ...ordered.map(({ data }) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength))];
}

function headerBytes(header: unknown): Uint8Array {
  const json = Buffer.from(JSON.stringify(header), 'utf8');
  const padded = Math.ceil(json.length / ALIGNMENT) * ALIGNMENT; // with spaces, as the reference writer does
  const bytes = Buffer.alloc(8 + padded, ' ');
  bytes.writeBigUInt64LE(BigInt(padded), 0);
  json.copy(bytes, 8);
  return bytes;
}

export interface Safetensors {
  readonly metadata: Readonly<Record<string, string>>;
  readonly tensors: ReadonlyMap<string, { readonly dtype: string; readonly shape: readonly number[]; readonly data: Numbers }>;
}

/**
 * Reads a body that `writeSafetensors` wrote; tensors are views where they lie aligned. @throws RangeError when it is cut or
 * damaged.
 */
export function readSafetensors(body: Uint8Array): Safetensors {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  if (body.byteLength < 8) throw new RangeError(`${body.byteLength} bytes are no safetensors`);
  const headerLength = Number(view.getBigUint64(0, true));
  const start = 8 + headerLength;
  if (start > body.byteLength) throw new RangeError(`the header of ${headerLength} bytes is cut`);
  const header = JSON.parse(Buffer.from(body.buffer, body.byteOffset + 8, headerLength).toString('utf8')) as Record<
    string,
    HeaderEntry
  >; // checked below
  const { __metadata__: metadata = {}, ...entries } = header as { __metadata__?: Record<string, string> } & typeof header;
  const tensors = new Map<string, { dtype: string; shape: readonly number[]; data: Numbers }>();
  for (const [
    name,
    {
      dtype,
      shape,
      data_offsets: [from, to],
    },
  ] of Object.entries(entries)) {
    if (from < 0 || to < from || start + to > body.byteLength) throw new RangeError(`tensor ${name} is cut`);
    tensors.set(name, { dtype, shape, data: numbersOf(dtype, body.subarray(start + from, start + to)) });
  }
  return { metadata, tensors };
}

interface HeaderEntry {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

function numbersOf(dtype: string, bytes: Uint8Array): Numbers {
  const width = WIDTHS[dtype as Dtype] ?? 0; // 0 for one that is not ours
  const aligned = width <= 1 || bytes.byteOffset % width === 0 ? bytes : Uint8Array.from(bytes);
  const [buffer, offset, length] = [aligned.buffer, aligned.byteOffset, aligned.byteLength / width];
  switch (dtype) {
    case 'F64':
      return new Float64Array(buffer, offset, length);
    case 'I32':
      return new Int32Array(buffer, offset, length);
    case 'F32':
      return new Float32Array(buffer, offset, length);
    case 'U8':
      return new Uint8Array(buffer, offset, length);
    default:
      throw new RangeError(`dtype ${dtype} is not written here`);
  }
}

function dtypeOf(data: Numbers): Dtype {
  // By tag, not by `instanceof`: an array may come from another realm (a test's, a worker's).
  const tag = Object.prototype.toString.call(data).slice(8, -1);
  switch (tag) {
    case 'Float64Array':
      return 'F64';
    case 'Int32Array':
      return 'I32';
    case 'Float32Array':
      return 'F32';
    case 'Uint8Array':
      return 'U8';
    default:
      throw new RangeError(`a ${tag} is no tensor`);
  }
}
