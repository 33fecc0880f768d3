/** How many rows the studio asks for at once in the view of a run: a page without a server holds the answers to exactly these. */
export const LIST_SIZES = { trees: 60, lengths: 300, revisions: 50 };
