import { findArrayFault } from '../../domain/training/planning/record-fault.ts';
import { findTokenValueFault } from '../../domain/training/planning/token-fault.ts';
import type { Packed } from '../../events/schemas/values.ts';
import { onesOf, type TokenViews } from '../../projections/step-tree/token-bytes.ts';
import { type BatchTokens, RowsError } from './batch-rows.ts';
import { type BlobReader, readBlob } from './read-blob.ts';

/** The token arrays of a step as the read model keeps them. */
export interface PackedTokens {
  readonly ids: Packed;
  readonly logProbs: Packed | null;
  readonly mask: Packed | null;
}

/**
 * Reads packed token arrays into typed ones. The bytes are little-endian, as are all
 * machines that Node runs on but one (s390x), so they are taken as they lie: a copy per array.
 * @throws RowsError `tokens` when arrays do not fit each other or their length, or hold values that no trainer can use; `blob`
 * when one cannot be read.
 */
export async function recordedTokens(packed: PackedTokens, blobs: BlobReader, stepId: string): Promise<BatchTokens> {
  const { length } = packed.ids;
  const ids = await bytesOf(packed.ids, 'int32', length, blobs, stepId);
  const logProbs = packed.logProbs && (await bytesOf(packed.logProbs, 'float32', length, blobs, stepId));
  const mask = packed.mask && (await bytesOf(packed.mask, 'uint8', length, blobs, stepId));
  const tokens = {
    ids: new Int32Array(ids),
    logProbs: logProbs && new Float32Array(logProbs),
    mask: mask ? new Uint8Array(mask) : null,
  };
  return checkedTokens(tokens, stepId);
}

/** Without a mask all are the policy's own. @throws RowsError `tokens` when they hold values that no trainer can use. */
export function checkedTokens({ ids, logProbs, mask }: TokenViews, stepId: string): BatchTokens {
  const tokens = { ids, logProbs, mask: mask ?? onesOf(ids.length) };
  const fault = findTokenValueFault(`step ${stepId}`, tokens);
  if (fault !== null) throw new RowsError('tokens', fault);
  return tokens;
}

async function bytesOf(
  { dtype, length, bytes }: Packed,
  wanted: Packed['dtype'],
  wantedLength: number,
  blobs: BlobReader,
  stepId: string,
): Promise<ArrayBuffer> {
  const size = wantedLength * (wanted === 'uint8' ? 1 : 4);
  const given = typeof bytes === 'string' ? bytes : await readBlob(blobs, bytes.blob, `tokens of step ${stepId}`);
  const found = typeof given === 'string' ? Buffer.byteLength(given, 'base64') : given.byteLength;
  const fault = findArrayFault(stepId, { dtype, length, bytes: found }, wanted, wantedLength);
  if (fault !== null) throw new RowsError('tokens', fault);
  // A buffer of its own: small ones share a pool, in which 4-byte numbers need not be aligned.
  const own = Buffer.from(new ArrayBuffer(size));
  if (typeof given !== 'string') own.set(given);
  else own.write(given, 'base64');
  return own.buffer as ArrayBuffer; // the one made above
}
