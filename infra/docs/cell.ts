/** Returns text as one cell of a Markdown table: one line, bars escaped, nothing that a page would read as markup. */
export function cell(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/[|\\]/g, '\\$&').replace(/</g, '&lt;').replace(/\{\{/g, '{ {').trim();
}

/** Returns text as inline code in a cell. */
export function codeCell(text: string): string {
  return `\`${text.replace(/\s+/g, ' ').replace(/\|/g, '\\|')}\``;
}
