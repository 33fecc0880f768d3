import { createRandom } from '../random/random.ts';
import { seedFrom } from '../random/seed-from.ts';
import type { Transition } from './find-transition.ts';
import { type BranchedPair, contentOf } from './pair-paths.ts';
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
type DroppedReason = 'not-judged' | 'before-branch' | 'unparsed' | 'no-turn' | 'duplicate';

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

/** What the agent says when it turns back: our words on the twenty themes of Agent-R, in their order (specification, §2.6). */
export const REFLECTIONS: readonly string[] = [
  'The way I went about this does not work. I have to revise my plan.',
  'These steps were the wrong ones. I should look for the path that leads to the goal.',
  'My actions were not correct. I will change my strategy.',
  'I see an error in what I did. Let me put it right.',
  'I misunderstood the situation. I had better look at it again.',
  'That decision was wrong. I need to weigh my options once more.',
  'I have come off course. It is time to steer back.',
  'I recognise my mistake. There must be a better solution.',
  'My judgement was incorrect. I should think this over again.',
  'I did something wrong here. I have to work out how to correct it.',
  'I was too hasty. I will consider this with more care.',
  'I misjudged this. Let me reflect on it and adjust what I do.',
  'My first steps were wrong. I need a new approach.',
  'I made a poor choice. I should change direction.',
  'There is something I overlooked. I have to attend to it now.',
  'I miscalculated. I must reckon again before I go on.',
  'It was a bad decision to do this. I will set it right.',
  'This attempt has failed, and I see why. I can learn from it.',
  'I did not think this through. A clearer plan is needed.',
  'I have strayed from the goal. I must get back to it.',
];

/** Draws the reflection of a pair: an index fixed by seed, tree and leaves, whatever else is mined (§6 item 8). */
export function drawReflection(
  seed: number,
  pair: { readonly treeId: string; readonly goodLeafStepId: string; readonly badLeafStepId: string },
): number {
  return createRandom(seedFrom('reflection', seed, pair.treeId, pair.goodLeafStepId, pair.badLeafStepId)).int(REFLECTIONS.length);
}

interface RevisionMetrics {
  readonly revisions: number;
  /**
   * The mean number of steps that the judge looked at until it rejected one (§2.4, the paper's figure); null without a judged
   * revision.
   */
  readonly meanRevisionLength: number | null;
  /** How many revisions have each revision length, by length. */
  readonly revisionLengths: ReadonlyMap<number, number>;
  readonly meanBadSteps: number | null;
  readonly causes: Readonly<Record<Transition['cause'], number>>;
  readonly clamped: number;
}

/** Measures revisions of any number of trees. Direct revisions, which nobody judged, have no revision length. */
export function measureRevisions(revisions: readonly Revision[]): RevisionMetrics {
  const judged = revisions.filter(({ cause }) => cause !== 'direct').map(({ revisionLength }) => revisionLength);
  const revisionLengths = new Map<number, number>();
  for (const length of [...judged].sort((a, b) => a - b)) revisionLengths.set(length, (revisionLengths.get(length) ?? 0) + 1);
  const causes = { bad: 0, 'none-bad': 0, unparsed: 0, direct: 0 };
  for (const { cause } of revisions) causes[cause]++;
  return {
    revisions: revisions.length,
    meanRevisionLength: mean(judged),
    revisionLengths,
    meanBadSteps: mean(revisions.map(({ transition }) => transition + 1)),
    causes,
    clamped: revisions.filter(({ clamped }) => clamped).length,
  };
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
