import { isEventType } from '../../events/catalogue.ts';
import type { Projection } from '../projection.ts';

const KEY = '"type"';
const LONGEST = 64; // bytes behind the key; no name of a type is longer
/** They say from where on others of their stream have no effect, whoever folds them. */
const FENCES = new Set(['RunResumed', 'TreeResumed']);

/**
 * Returns whether a record is surely of a type that a projection does not fold, by its bytes: to decode it takes forty times as
 * long. It holds the key once and no escape hides another, so that it is the event's own, and what JSON.parse would find.
 */
export function isUnhandledRecord({ handles }: Projection, value: Uint8Array): boolean {
  if (handles === 'all') return false;
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  const at = bytes.indexOf(KEY);
  if (at < 0) return false;
  const [, name] = /^:"([A-Za-z]+)"/.exec(bytes.toString('latin1', at + KEY.length, at + KEY.length + LONGEST)) ?? [];
  if (name === undefined || !isEventType(name) || FENCES.has(name) || handles.includes(name)) return false;
  return bytes.indexOf(KEY, at + KEY.length) < 0 && !bytes.includes('\\u');
}
