import type { Question } from './question.ts';

/**
 * Returns the next action of a player who knows the way and acts on evidence: the first search of the way whose document was not
 * seen yet, or, when all were, the answer. Null where the way is not known, or too long for the turns that are left.
 */
export function planSearch(question: Question, seen: ReadonlySet<string>, turnsLeft: number): readonly string[] | null {
  if (question.hops === null) return null;
  const missing = question.hops.filter(({ documentId }) => !seen.has(documentId));
  const plan = [...missing.map(({ query }) => `<search>${query}</search>`), `<answer>${question.targets[0]}</answer>`];
  return plan.length <= turnsLeft ? plan : null;
}
