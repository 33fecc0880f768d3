/**
 * Finds the candidate that an action is to be cloned as: itself; else one that differs in nothing but amounts, since a perfect
 * player of TextCraft may get or craft more at a time than the candidates offer, and the choice of the item is what can be
 * learned. Null when there is none: the action is then left out.
 */
export function chooseCandidate(candidates: readonly string[], action: string): number | null {
  const exact = candidates.indexOf(action);
  if (exact >= 0) return exact;
  const wanted = withoutAmounts(action);
  const same = candidates.findIndex((candidate) => withoutAmounts(candidate) === wanted);
  return same >= 0 ? same : null;
}

function withoutAmounts(action: string): string {
  return action.replace(/\d+/g, '#');
}
