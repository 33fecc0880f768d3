const SHORTEST = 160; // characters: a reference takes 67, so a shorter block costs more to name than to repeat
const MOST = 64; // blocks of one text: a long text is cut coarser

/**
 * Cuts a text into blocks that are joined without a separator, each ending at a line end. Where a text repeats lines of an
 * earlier one, most blocks come out equal: a block ends behind the first line end at which it has the shortest length, whatever
 * follows. An empty text has no blocks.
 */
export function cutBlocks(text: string): readonly string[] {
  const shortest = Math.max(SHORTEST, Math.ceil(text.length / MOST));
  const blocks: string[] = [];
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf('\n', from + shortest - 1);
    const to = end === -1 ? text.length : end + 1;
    blocks.push(text.slice(from, to));
    from = to;
  }
  return blocks;
}
