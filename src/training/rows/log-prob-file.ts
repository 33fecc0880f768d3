import { RowsError } from './batch-rows.ts';
import { bordersOf } from './jagged.ts';
import { readSafetensors, writeSafetensors } from './safetensors.ts';

export const LOG_PROBS_MEDIA = 'application/x-safetensors';

/** The log-prob of every sampled token of a batch, sample after sample as its manifest has them, step after step. */
export interface LogProbs {
  readonly values: Float32Array;
  /** Where each sample begins, and where the last ends. */
  readonly borders: Int32Array;
}

/** Writes log-probs as safetensors: `log_probs`, and `cu_seqlens` with the borders of the samples. */
export function encodeLogProbs(values: Float32Array, lengths: readonly number[]): Uint8Array {
  const borders = bordersOf(lengths);
  const tensors = [
    { name: 'log_probs', shape: [values.length], data: values },
    { name: 'cu_seqlens', shape: [borders.length], data: borders },
  ];
  return Buffer.concat(writeSafetensors(tensors, {}));
}

/** Reads what `encodeLogProbs` wrote. @throws RowsError `blob` where it is something else. */
export function decodeLogProbs(bytes: Uint8Array, what: string): LogProbs {
  try {
    const { tensors } = readSafetensors(bytes);
    const values = tensors.get('log_probs');
    const borders = tensors.get('cu_seqlens');
    if (values?.dtype === 'F32' && borders?.dtype === 'I32' && borders.data.at(-1) === values.data.length)
      return { values: Float32Array.from(values.data), borders: Int32Array.from(borders.data) };
  } catch (cause) {
    throw new RowsError('blob', `${what} cannot be read; restore the blob folder`, { cause });
  }
  throw new RowsError('blob', `${what} are no log-probs of samples; restore the blob folder`);
}
