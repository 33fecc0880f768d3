import { visible } from './plain-text.tsx';

/** A token's text with its spaces and ends of lines to be seen. */
export function showWhitespace(text: string): string {
  return text === '' ? '∅' : visible(text).replaceAll(' ', '␣').replaceAll('\n', '↵').replaceAll('\t', '⇥');
}
