import { randomBytes } from 'node:crypto';
import { type parseId, uuidV7 } from '../domain/ids.ts';

/** Makes a fresh time-ordered identifier (UUIDv7) from the machine's clock and random source. */
export function newId<Id extends ReturnType<typeof parseId>>(): Id {
  return uuidV7<Id>(Date.now(), randomBytes(10));
}
