/** Compares a fresh text with a recorded one as it is stored: what cannot be stored was replaced on append. */
export function sameText(fresh: string, recorded: string): boolean {
  return fresh === recorded || fresh.toWellFormed().replaceAll('\0', '\uFFFD') === recorded;
}
