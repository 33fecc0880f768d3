import type { Transition } from './find-transition.ts';
import { type BranchedPair, contentOf } from './pair-paths.ts';
import { drawReflection, REFLECTIONS } from './reflections.ts';
import { type RecordedSignal, type RevisedTurn, recordSignal, type SignalForm, splice } from './splice.ts';

/** A revision trajectory and where it comes from. `reward` is that of the good leaf: what a re-execution should reach. */
export interface Revision {
  readonly goodLeafStepId: string;
  readonly badLeafStepId: string;
  /** How many first steps good and bad share. */
  readonly branch: number;
  /** The last bad step that is kept; at or after the branch. */
  readonly transition: number;
  readonly cause: Transition['cause'];
  /** The judge rejected a step before the branch, and the transition was moved to the first step that differs. */
  readonly clamped: boolean;
  readonly revisionLength: number;
  readonly reflection: number;
  readonly signal: RecordedSignal;
  readonly reward: number;
  readonly turns: readonly RevisedTurn[];
}

/** `no-turn`: the signal was to be a turn of its own, and the replies are of a form that has none to wait by. */
export type DroppedReason = 'not-judged' | 'before-branch' | 'unparsed' | 'no-turn' | 'duplicate';

export interface ComposeOptions {
  readonly treeId: string;
  readonly seed: number;
  readonly signal: SignalForm;
  /** What becomes of a pair whose bad trajectory was rejected at a step that the good one took too (§2.3). */
  readonly beforeBranch: 'clamp' | 'drop';
}

export const COMPOSE_DEFAULTS: Omit<ComposeOptions, 'treeId' | 'seed'> = { signal: 'thought', beforeBranch: 'clamp' };

export interface Composed {
  readonly revisions: readonly Revision[];
  readonly dropped: readonly { readonly pair: BranchedPair; readonly reason: DroppedReason }[];
}

/**
 * Composes the revision trajectories of a tree from its pairs and the transition of each bad trajectory, found once and used for
 * every partner. Every pair becomes a revision or is dropped with the reason. Two bad trajectories that share their prefix up to
 * the transition give one revision per good one, the first: they would differ in nothing but the reflection.
 * @param transitions by the leaf of the bad trajectory.
 */
export function composeRevisions(
  pairs: readonly BranchedPair[],
  transitions: ReadonlyMap<string, Transition>,
  options: ComposeOptions,
): Composed {
  const seen = new Set<string>();
  const revisions: Revision[] = [];
  const dropped: { pair: BranchedPair; reason: DroppedReason }[] = [];
  for (const pair of pairs) {
    const transition = transitions.get(pair.bad.leafStepId);
    const signal = recordSignal(options.signal, pair.good.steps[pair.branch]?.response ?? '');
    const reason = refuse(pair, transition, options);
    if (reason !== null || !transition || !signal) {
      dropped.push({ pair, reason: reason ?? (transition ? 'no-turn' : 'not-judged') });
      continue;
    }
    const index = Math.max(transition.index, pair.branch);
    const content = contentOf(pair.bad.steps.slice(0, index + 1)) + contentOf(pair.good.steps.slice(pair.branch));
    if (seen.has(content)) {
      dropped.push({ pair, reason: 'duplicate' });
      continue;
    }
    seen.add(content);
    revisions.push(revisionOf(pair, { found: transition, transition: index, signal }, options));
  }
  return { revisions, dropped };
}

function refuse(pair: BranchedPair, transition: Transition | undefined, { beforeBranch }: ComposeOptions): DroppedReason | null {
  if (!transition) return 'not-judged';
  if (transition.cause === 'unparsed') return 'unparsed';
  return transition.index < pair.branch && beforeBranch === 'drop' ? 'before-branch' : null;
}

function revisionOf(
  { good, bad, branch }: BranchedPair,
  { found, transition, signal }: { readonly found: Transition; readonly transition: number; readonly signal: RecordedSignal },
  options: ComposeOptions,
): Revision {
  const leaves = { goodLeafStepId: good.leafStepId, badLeafStepId: bad.leafStepId };
  const reflection = drawReflection(options.seed, { treeId: options.treeId, ...leaves });
  const steps = { good: good.steps, bad: bad.steps, branch };
  return {
    ...leaves,
    branch,
    transition,
    cause: found.cause,
    clamped: transition !== found.index,
    revisionLength: found.judged,
    reflection,
    signal,
    reward: good.average,
    turns: splice(steps, transition, REFLECTIONS[reflection] ?? '', signal),
  };
}
