import { RESIZE_WASM } from './resize-wasm.ts';

/** The loops of `resize.wat`, which describes them, and their memory. All places are bytes of it. */
export interface VectorLoops {
  /** Returns the memory, at least so many bytes: what an earlier call returned may be detached. */
  reserve(bytes: number): Uint8Array;
  mixRows(rows: number, left: number, weights: number, pairs: number, to: number, count: number): void;
  mixColumns(from: number, first: number, weights: number, groups: number, to: number, count: number): void;
  spreadGrey(grey: number, to: number, count: number): void;
  weave(red: number, green: number, blue: number, to: number, count: number): void;
}

type Exports = Omit<VectorLoops, 'reserve'> & { readonly memory: WebAssembly.Memory };

/** Bytes of a vector. */
export const VECTOR = 16;
const PAGE = 65_536;
/** The memory never shrinks. A picture that needs more is one that no model takes. */
export const MOST_BYTES = 64 << 20;

let loops: VectorLoops | null | undefined;

/** Returns the loops; null where the engine has no WebAssembly with vectors. */
export function vectorLoops(): VectorLoops | null {
  if (loops === undefined) loops = open();
  return loops;
}

function open(): VectorLoops | null {
  const bytes = Buffer.from(RESIZE_WASM, 'base64');
  if (typeof WebAssembly === 'undefined' || !WebAssembly.validate(bytes)) return null;
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes));
  const { memory, ...functions } = exports as unknown as Exports; // resize.wat exports these
  let view = new Uint8Array(memory.buffer);
  const reserve = (size: number): Uint8Array => {
    if (size > view.length) {
      memory.grow(Math.ceil((size - view.length) / PAGE));
      view = new Uint8Array(memory.buffer);
    }
    return view;
  };
  return { reserve, ...functions };
}
