import { SPACES, strip } from './prepare-text.ts';

/**
 * Breaks a line of cells into lines of at most `limit` cells (specification §1.4). A line that fits stays as it is; otherwise
 * words are filled greedily with single spaces, and a longer word is cut into pieces that each stand alone.
 */
export function wrapText(text: string, limit: number): string[] {
  const line = strip(text);
  if (line.length <= limit) return [line];
  const lines: string[] = [];
  let current = '';
  for (const word of line.split(SPACES)) {
    if (current !== '' && current.length + 1 + word.length <= limit) {
      current += ` ${word}`;
      continue;
    }
    if (current !== '') lines.push(current);
    current = '';
    if (word.length <= limit) current = word;
    else for (let at = 0; at < word.length; at += limit) lines.push(word.slice(at, at + limit));
  }
  if (current !== '') lines.push(current);
  return lines;
}
