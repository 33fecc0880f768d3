/**
 * Cuts a text behind its first `limit` code points and says so by `...`, as the published tool environments do; a text that is no
 * longer stays as it is. A half surrogate counts as one, as in Python. Reads no further than the cut, however long the text is.
 */
export function truncateCodePoints(text: string, limit: number): string {
  if (text.length <= limit) return text; // no more units, so no more code points
  let at = 0;
  for (let count = 0; count < limit && at < text.length; count++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return at < text.length ? `${text.slice(0, at)}...` : text;
}
