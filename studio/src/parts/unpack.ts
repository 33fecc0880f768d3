/** An array of numbers as GraphQL has it. */
export interface Packed {
  readonly dtype: string;
  readonly length: number;
  readonly base64: string;
}

/** Returns the numbers of a packed array. @throws Error for a type that the record does not have. */
export function unpack({ dtype, base64 }: Packed): readonly number[] {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  if (dtype === 'int32') return [...new Int32Array(bytes.buffer)];
  if (dtype === 'float32') return [...new Float32Array(bytes.buffer)];
  if (dtype === 'uint8') return [...bytes];
  throw new Error(`an array of ${dtype} is not known`);
}
