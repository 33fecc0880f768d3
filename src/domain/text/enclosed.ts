/** The content between a pair of tags, and where the pair ends in the text. */
export interface Enclosed {
  readonly content: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Finds all texts between `<tag>` and the next `</tag>`, one after another, as the pattern `<tag>(.*?)</tag>` would over all
 * lines, but in one pass: where many tags are opened and none is closed that pattern looks through the whole rest from each of
 * them.
 */
export function findEnclosed(text: string, tag: string, letters: 'as-written' | 'any-case'): Enclosed[] {
  const searched = letters === 'any-case' ? asciiLower(text) : text;
  const [opening, closing] = [`<${tag}>`, `</${tag}>`];
  const found: Enclosed[] = [];
  for (let from = 0; ; ) {
    const start = searched.indexOf(opening, from);
    const close = start < 0 ? -1 : searched.indexOf(closing, start + opening.length);
    if (close < 0) return found;
    from = close + closing.length;
    found.push({ content: text.slice(start + opening.length, close), start, end: from });
  }
}

/** Unlike `toLowerCase`, this keeps every place: İ would become two characters. */
function asciiLower(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
