import type { NodeEnd } from './search-tree.ts';

/** What an environment answered to the action that leads to a new node. */
export interface ActionOutcome {
  /**
   * The score of the episode so far on a scale of 1: the last reward where rewards are final or cumulative, their sum where they
   * are deltas.
   */
  readonly score: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
}

/**
 * Judges a new node (specification of Agent-R, §1.5): below 0 the score becomes 0 and the node a disaster; else it ends where the
 * environment ended; else at the depth limit, when `parentDepth + 1 > maxDepth`. So a path has at most maxDepth + 1 actions, and
 * a node that was cut off keeps its score.
 */
export function gradeOutcome(
  outcome: ActionOutcome,
  parentDepth: number,
  maxDepth: number,
): { readonly score: number; readonly end: NodeEnd } {
  if (outcome.score < 0) return { score: 0, end: 'disaster' };
  if (outcome.terminated) return { score: outcome.score, end: 'terminated' };
  if (outcome.truncated) return { score: outcome.score, end: 'truncated' };
  return { score: outcome.score, end: parentDepth + 1 > maxDepth ? 'depth' : 'none' };
}

/** A reply that the model gave at a node. */
export interface Candidate {
  readonly ordinal: number;
  readonly response: string;
  readonly action: string;
}

export interface ChosenCandidates<C extends Candidate> {
  /**
   * Those that become children. `equivalentTo` is the ordinal of an earlier one with the same action, null for the first of its
   * action.
   */
  readonly kept: readonly { readonly candidate: C; readonly equivalentTo: number | null }[];
  /** Those that do not: the same reply, to the letter, as the candidate `sameAs`. */
  readonly dropped: readonly { readonly candidate: C; readonly sameAs: number }[];
}

/**
 * Chooses the children among the candidates of one node. The same reply twice is one child, the first (§1.5). The same action
 * after another thought is a child of its own, as in Agent-R, but marked, so that a dataset need not count it twice (§6 item 7).
 * Only the replies decide: whoever asks before acting saves the environment steps of duplicates.
 */
export function chooseCandidates<C extends Candidate>(candidates: readonly C[]): ChosenCandidates<C> {
  const byResponse = new Map<string, number>();
  const byAction = new Map<string, number>();
  const kept: { candidate: C; equivalentTo: number | null }[] = [];
  const dropped: { candidate: C; sameAs: number }[] = [];
  for (const candidate of candidates) {
    const { ordinal, response, action } = candidate;
    const same = byResponse.get(response);
    if (same !== undefined) {
      dropped.push({ candidate, sameAs: same });
      continue;
    }
    byResponse.set(response, ordinal);
    const first = byAction.get(action);
    if (first === undefined) byAction.set(action, ordinal);
    kept.push({ candidate, equivalentTo: first ?? null });
  }
  return { kept, dropped };
}
