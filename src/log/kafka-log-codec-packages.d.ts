// What we use of two packages that bring no types along.
declare module 'lz4js' {
  export function decompress(frame: Uint8Array): Uint8Array;
  export function decompressBound(frame: Uint8Array): number;
  export function compress(bytes: Uint8Array): Uint8Array;
}
declare module 'snappyjs' {
  export function uncompress(block: Uint8Array, maxLength?: number): Uint8Array;
  export function compress(bytes: Uint8Array): Uint8Array;
}
