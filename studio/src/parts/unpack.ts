/** An array of numbers as GraphQL has it. */
export interface Packed {
  readonly dtype: string;
  readonly length: number;
  readonly base64: string;
}
export type Numbers = Int32Array | Float32Array | Uint8Array;

/** Returns the numbers of a packed array. @throws Error for a type that the record does not have. */
export function unpack({ dtype, base64 }: Packed): Numbers {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  if (dtype === 'int32') return new Int32Array(bytes.buffer);
  if (dtype === 'float32') return new Float32Array(bytes.buffer);
  if (dtype === 'uint8') return bytes;
  throw new Error(`an array of ${dtype} is not known`);
}
