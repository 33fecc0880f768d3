const HEADER = '<|im_start|>assistant\n';
const END = '<|im_end|>';

/**
 * Finds what the assistant said in a chat written as ChatML: the texts between its header and the next `<|im_end|>`. An open last
 * block is none.
 */
export function assistantBlocks(chat: string): string[] {
  const blocks: string[] = [];
  for (let from = 0; ; ) {
    const start = chat.indexOf(HEADER, from);
    const end = start < 0 ? -1 : chat.indexOf(END, start + HEADER.length);
    if (end < 0) return blocks;
    blocks.push(chat.slice(start + HEADER.length, end));
    from = end + END.length;
  }
}

/**
 * Takes what is between `<think>…</think>` at the beginning of a block and `<tag>…</tag>` at its end; null where the block is
 * not made so.
 */
export function gapBefore(block: string, tag: string): string | null {
  const thoughtEnd = block.startsWith('<think>') ? block.indexOf('</think>', '<think>'.length) : -1;
  const opening = thoughtEnd < 0 ? -1 : block.indexOf(`<${tag}>`, thoughtEnd + '</think>'.length);
  if (opening < 0 || !endsWithin(block, `</${tag}>`, opening + tag.length + 2)) return null;
  return block.slice(thoughtEnd + '</think>'.length, opening);
}

/** Returns whether a text ends with a tag that begins at `from` or later. Python's `$` also matches before one last newline. */
export function endsWithin(text: string, tag: string, from: number): boolean {
  return [tag, `${tag}\n`].some((end) => text.endsWith(end) && text.length - end.length >= from);
}

/** Counts a tag in a text. */
export function countOf(text: string, tag: string): number {
  return text.split(tag).length - 1;
}
