import { sha256Hex } from '../../digest/sha256.ts';
import { FEATURE_BUCKETS, FEATURE_REVISION } from './features.ts';

/** The parameters θ of a linear policy after `version` updates. Version 0 is all zeros: the uniform policy. */
export interface LinearWeights {
  readonly version: number;
  /** One per feature bucket. */
  readonly values: Float64Array;
}

/** Makes the weights before the first update. */
export function zeroWeights(): LinearWeights {
  return { version: 0, values: new Float64Array(FEATURE_BUCKETS) };
}

const MAGIC = 0x57505345; // 'ESPW' in little-endian bytes
const FORMAT = 1;
const HEADER = 16;

/**
 * Writes weights as bytes, little-endian: 'ESPW', uint16 format, uint16 feature revision, uint32 buckets, uint32 version, then
 * one float64 per bucket. Equal weights give equal bytes (−0 is written as 0).
 */
export function encodeWeights(weights: LinearWeights): Uint8Array {
  const { values, version } = weights;
  const bytes = new Uint8Array(HEADER + values.length * 8);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint16(4, FORMAT, true);
  view.setUint16(6, FEATURE_REVISION, true);
  view.setUint32(8, values.length, true);
  view.setUint32(12, version, true);
  for (const [i, value] of values.entries()) view.setFloat64(HEADER + i * 8, value === 0 ? 0 : value, true);
  return bytes;
}

/**
 * Reads weights back. @throws RangeError that names what does not fit: another file, another feature revision, a cut file, a
 * value not finite.
 */
export function decodeWeights(bytes: Uint8Array): LinearWeights {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < HEADER || view.getUint32(0, true) !== MAGIC)
    throw new RangeError('these bytes are no linear weights (they do not begin with ESPW)');
  const [format, revision, buckets] = [view.getUint16(4, true), view.getUint16(6, true), view.getUint32(8, true)];
  if (format !== FORMAT) throw new RangeError(`the weights are in format ${format}; this program reads ${FORMAT}`);
  if (revision !== FEATURE_REVISION || buckets !== FEATURE_BUCKETS) {
    throw new RangeError(
      `the weights belong to feature revision ${revision} with ${buckets} buckets, this program has revision ${FEATURE_REVISION} with ${FEATURE_BUCKETS}; train again`,
    );
  }
  const expected = HEADER + buckets * 8;
  if (bytes.length !== expected) throw new RangeError(`${buckets} weights need ${expected} bytes, got ${bytes.length}`);
  const values = new Float64Array(buckets);
  for (let i = 0; i < buckets; i++) {
    const value = view.getFloat64(HEADER + i * 8, true);
    if (!Number.isFinite(value)) throw new RangeError(`weight ${i} is ${value}, not a finite number`);
    values[i] = value;
  }
  return { version: view.getUint32(12, true), values };
}

/** Returns the SHA-256 (hex) of the weights' bytes: the identity of a checkpoint. */
export function weightsDigest(weights: LinearWeights): string {
  return sha256Hex(encodeWeights(weights));
}
