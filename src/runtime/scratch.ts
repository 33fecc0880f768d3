const LEAST = 65_536; // bytes
const MOST = 4 * 1_048_576;
const KEPT = 4; // of each size; of the least, of which a slice is copied in a hundred pieces, as many as the most holds four times
const KEPT_OF_LEAST = (KEPT * MOST) / LEAST;

/**
 * Memory for what is read or written piece by piece and then copied or dropped. It is used again: V8 counts what lies outside its
 * heap against the heap, so that a megabyte or two for each request would have it collect the whole of it many times a second.
 */
const kept = new Map<number, Buffer[]>();

/** Returns memory of at least so many bytes, which hold anything. Who does not give it back leaves it to the collector. */
export function takeScratch(bytes: number): Buffer {
  const size = sizeOf(bytes);
  return kept.get(size)?.pop() ?? Buffer.allocUnsafeSlow(size);
}

/** Takes memory back that nothing refers to any more. */
export function giveScratch(buffer: Buffer): void {
  const size = buffer.length;
  if (size > MOST || size !== sizeOf(size)) return;
  const free = kept.get(size) ?? [];
  if (free.length === 0) kept.set(size, free);
  if (free.length < (size === LEAST ? KEPT_OF_LEAST : KEPT)) free.push(buffer);
}

function sizeOf(bytes: number): number {
  let size = LEAST;
  while (size < bytes) size *= 2;
  return size;
}
