/**
 * Returns a path or address without the slashes at its end; as a pattern (`/\/+$/`) it takes quadratic time on slashes in the
 * middle.
 */
export function withoutSlashes(text: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === '/') end--;
  return text.slice(0, end);
}
