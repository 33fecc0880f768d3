/**
 * Cuts a text at ends that are counted in code points, from left to right. @returns as many texts as ends; one that ends where
 * the text before it does is empty.
 */
export function textsByEnds(text: string, ends: ArrayLike<number>): readonly string[] {
  const points = Array.from(text);
  let from = 0;
  return Array.from(ends, (end) => {
    const part = points.slice(from, end).join('');
    from = Math.max(from, end);
    return part;
  });
}
