/**
 * What a terminal acts on instead of showing: control characters (C0, DEL, C1), line and paragraph separators, and the characters
 * that turn the direction of what follows. A run name or a model's reply may hold any of them.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const ACTED_ON = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Writes such characters as `\uXXXX`, which JSON reads back as the same text; `keep` names those that stay, the line feed where
 * the text has lines.
 */
export function escapeControls(text: string, keep = ''): string {
  return text.replace(ACTED_ON, (found) =>
    keep.includes(found) ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Escapes a message that may have several lines, as those of other programs have; the lines behind the first are indented. */
export function escapeMessage(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line, i) => `${i > 0 && !line.startsWith('  ') ? '  ' : ''}${escapeControls(line)}`)
    .join('\n');
}
