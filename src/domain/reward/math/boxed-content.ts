import { pythonStrip } from '../../text/python-strip.ts';

/**
 * Returns the content of the last `\boxed{…}` of a text, its braces balanced, without white space around it; the word `None`
 * where there is none or it never closes, as published (MathRuler): that word is then compared like any answer.
 */
export function boxedContent(text: string): string {
  const opening = '\\boxed{';
  const start = text.lastIndexOf(opening);
  if (start < 0) return 'None';
  const content = text.slice(start + opening.length);
  let depth = 0;
  for (let i = 0; i < content.length; i++) {
    if (content[i] === '{') depth++;
    if (content[i] === '}') depth--;
    if (depth < 0) return pythonStrip(content.slice(0, i));
  }
  return 'None';
}
