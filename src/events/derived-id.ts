import { createHash } from 'node:crypto';
import { formatUuid, parseId } from '../domain/ids.ts';

/**
 * Derives an identifier from its cause (UUIDv8 over SHA-256): the same parts give the same id on every machine, so what is
 * appended a second time after a crash is recognised. Parts are length-prefixed: ('ab','c') and ('a','bc') differ.
 */
export function derivedId<Id extends ReturnType<typeof parseId>>(kind: string, ...parts: readonly (string | number)[]): Id {
  const hash = createHash('sha256');
  for (const part of [kind, ...parts]) {
    const text = String(part);
    hash.update(`${Buffer.byteLength(text)}:${text};`);
  }
  return parseId<Id>(formatUuid(hash.digest(), 8));
}
