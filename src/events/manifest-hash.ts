import { sha256Hex } from '../digest/sha256.ts';
import { canonicalJson } from './canonical-json.ts';
import type { DataOf } from './catalogue.ts';

/**
 * Digests what a batch is: everything that BatchPlanned says but the digest itself and `position`, which is when it was planned.
 * The hash of the batch before is within, so one hash vouches for all batches up to it.
 */
export function manifestHashOf(planned: Omit<DataOf<'BatchPlanned'>, 'manifestHash'>): string {
  const { position: _, ...manifest } = planned;
  return sha256Hex(canonicalJson({ ...manifest, manifestHash: undefined }));
}
