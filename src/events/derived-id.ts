import { sha256Hex } from '../digest/sha256.ts';
import { parseId, uuidOfHex } from '../domain/ids.ts';

/**
 * Derives an identifier from its cause (UUIDv8 over SHA-256): the same parts give the same id on every machine, so what is
 * appended a second time after a crash is recognised. Parts are length-prefixed: ('ab','c') and ('a','bc') differ.
 */
export function derivedId<Id extends ReturnType<typeof parseId>>(kind: string, ...parts: readonly (string | number)[]): Id {
  const texts = [kind, ...parts].map(String);
  return parseId<Id>(uuidOfHex(sha256Hex(texts.map((text) => `${Buffer.byteLength(text)}:${text};`).join('')), 8));
}

/** Whether an id has the form of derived ones: no random one has. */
export function isDerived(id: string): boolean {
  return id[14] === '8';
}
