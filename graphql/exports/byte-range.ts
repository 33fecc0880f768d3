/** Bytes of a file, the last one left out; `beyond` where none of what is asked for is there. */
export type ByteRange = { readonly kind: 'whole' } | { readonly kind: 'beyond' } | Part;
export interface Part {
  readonly kind: 'part';
  readonly from: number;
  readonly until: number;
}

/**
 * Reads a Range header (RFC 9110 §14.2): one range of bytes. What it does not read, several ranges or another unit, is answered by
 * the whole file, as that allows.
 */
export function byteRange(header: string | null, bytes: number): ByteRange {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return { kind: 'whole' };
  if (first === '') {
    const from = Math.max(0, bytes - Number(last));
    return from < bytes ? { kind: 'part', from, until: bytes } : { kind: 'beyond' };
  }
  const [from, until] = [Number(first), last === '' ? bytes : Math.min(bytes, Number(last) + 1)];
  if (last !== '' && Number(last) < from) return { kind: 'whole' };
  return from < bytes ? { kind: 'part', from, until } : { kind: 'beyond' };
}

/** Reads an entity tag of If-Range; undefined for a date or a weak one, which stand for no bytes. */
export function strongTag(header: string | null): string | undefined {
  return /^"([0-9a-f]{64})"$/.exec(header?.trim() ?? '')?.[1];
}
