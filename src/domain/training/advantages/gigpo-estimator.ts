import { choiceOption, numberOption, refuseOption } from '../method-options.ts';
import { at, rowAt, spreadScalars } from '../rows/rows.ts';
import { mapScores, measureGroups, positionsByKey } from '../statistics/groups.ts';
import { ANY_ROWS, defineEstimator } from './estimator.ts';
import { stepReturns } from './gae.ts';
import { divisor, type GroupInput, groupRelative } from './group-estimators.ts';
import { scoreRows } from './members.ts';

/**
 * GiGPO. `episode` says what `rewards` hold: step rewards, summed per trajectory (`trajectory-sums`), or the episode's score in
 * every row; the latter needs `stepRewards` too. Shaping of the step rewards (verl-agent subtracts coefficient·(1 − valid))
 * happens before.
 */
export const gigpoEstimator = defineEstimator({
  name: 'gigpo',
  revision: '1',
  options: {
    mode: choiceOption('mean_std_norm', 'mean_norm'),
    episode: choiceOption('trajectory-sums', 'rows', 'trajectories'),
    scores: choiceOption('all-tokens', 'trained-tokens'),
    gamma: numberOption(1, 0, 1),
    stepWeight: numberOption(1, 0, 1_000),
    anchors: choiceOption('exact', 'similar'),
    threshold: numberOption(0.95, 0, 1),
  },
  readiness: ({ episode }) => ({
    ...ANY_ROWS,
    waitsFor: 'closed-groups',
    columns: episode === 'trajectory-sums' ? ['anchors'] : ['anchors', 'stepRewards'],
  }),
  reach: () => 'group',
  estimate({ rewards, masks, groups, trajectories, steps, anchors, stepRewards }, options) {
    if (anchors === null) return refuseOption('gigpo needs anchors');
    const scores = scoreRows(rewards, masks, options.scores);
    const returns = stepReturns(stepRewards ?? scores, { trajectories, steps }, options.gamma);
    const { combined } = gigpo(
      { scores, groups, trajectories, anchors, stepReturns: returns },
      {
        episodeOver: options.episode,
        mode: options.mode,
        stepWeight: options.stepWeight,
        sameness: options.anchors === 'exact' ? { kind: 'exact' } : { kind: 'similar', threshold: options.threshold },
      },
    );
    const advantages = spreadScalars(combined, masks);
    return { advantages, returns: advantages };
  },
});

interface GigpoInput extends GroupInput {
  readonly anchors: readonly string[];
  /** The discounted return R_k from each row's step on. */
  readonly stepReturns: ArrayLike<number>;
}

interface GigpoOptions {
  /**
   * The episode part: rows that carry their episode's score (verl-agent), or step scores summed per trajectory (Agent-R1 v0.1).
   */
  readonly episodeOver: 'rows' | 'trajectories' | 'trajectory-sums';
  /** `mean_norm` divides neither part by a deviation. Published defaults disagree, so the mode is recorded with every update. */
  readonly mode: 'mean_std_norm' | 'mean_norm';
  readonly stepWeight: number;
  readonly sameness: Sameness;
}

interface GigpoParts {
  readonly episode: Float64Array;
  readonly step: Float64Array;
  /** episode + w·step: the advantage of each row. */
  readonly combined: Float64Array;
  readonly stepGroups: Int32Array;
}

/**
 * GiGPO (Feng et al. 2025): A = A_E + w·A_S. A_E compares episodes of a prompt group, A_S the returns R_k of steps taken from the
 * same state: (R − μ)/(σ + 1e-6); a step group of one yields 0.
 *
 * A prompt group with a single trajectory shows where the two published programs part: counted over several rows it has their
 * mean and yields 0 (verl-agent); counted as one trajectory it keeps its raw score (v0.1).
 */
export function gigpo({ anchors, stepReturns, ...input }: GigpoInput, options: GigpoOptions): GigpoParts {
  const scale = options.mode === 'mean_std_norm' ? 'std' : 'none';
  const episode = groupRelative(input, { over: options.episodeOver, scale, singleton: 'raw' });
  const stepGroups = groupByAnchor(anchors, input.groups, options.sameness);
  const keys = input.groups.map((group, row) => JSON.stringify([group, at(stepGroups, row)]));
  const measures = measureGroups(stepReturns, keys, 'zero');
  const step = mapScores(stepReturns, keys, measures, (r, { mean, deviation }) => (r - mean) / divisor(scale, deviation));
  return { episode, step, stepGroups, combined: episode.map((a, row) => a + options.stepWeight * at(step, row)) };
}

/**
 * How two states before an action count as the same: equal text or hash, or texts whose difflib ratio reaches the threshold (0.95
 * upstream).
 */
type Sameness = { readonly kind: 'exact' } | { readonly kind: 'similar'; readonly threshold: number };

/**
 * Numbers the step groups of GiGPO: rows of one prompt group that acted from the same state. A row joins the first cluster whose
 * *first* member it resembles, in row order, so clusters depend on that order, as published. Numbers count from 0 within each
 * prompt group.
 */
export function groupByAnchor(anchors: readonly string[], groups: readonly string[], sameness: Sameness): Int32Array {
  const clusters = new Map<string, string[]>(); // by prompt group: the first anchor of each cluster
  const numbers = new Int32Array(anchors.length);
  for (const [row, anchor] of anchors.entries()) {
    const group = rowAt(groups, row);
    const firsts = clusters.get(group) ?? [];
    clusters.set(group, firsts);
    const index = firsts.findIndex((first) => isSame(anchor, first, sameness));
    numbers[row] = index === -1 ? firsts.push(anchor) - 1 : index;
  }
  return numbers;
}

function isSame(anchor: string, first: string, sameness: Sameness): boolean {
  if (anchor === first) return true;
  return sameness.kind === 'similar' && sequenceRatio(anchor, first) >= sameness.threshold;
}

/** Python's difflib treats a character as junk when a text of this length holds it in more than 1 % of its places, plus one. */
const AUTOJUNK_LENGTH = 200;

/**
 * Measures how alike two texts are as Python's `difflib.SequenceMatcher(None, a, b).ratio()` does, to the last bit: 2·M/T, where
 * M counts the characters of the blocks that Ratcliff and Obershelp's method matches and T those of both texts. Characters are
 * code points; the autojunk heuristic is on, so the ratio of long texts depends on their order.
 */
export function sequenceRatio(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)];
  const total = left.length + right.length;
  return total === 0 ? 1 : (2 * countMatching(left, right)) / total;
}

interface Span {
  readonly leftFrom: number;
  readonly leftTo: number;
  readonly rightFrom: number;
  readonly rightTo: number;
}

interface Block {
  readonly left: number;
  readonly right: number;
  readonly size: number;
}

function countMatching(left: readonly string[], right: readonly string[]): number {
  const places = indexPlaces(right);
  const open: Span[] = [{ leftFrom: 0, leftTo: left.length, rightFrom: 0, rightTo: right.length }];
  let matching = 0;
  for (let span = open.pop(); span !== undefined; span = open.pop()) {
    const block = longestBlock(left, right, places, span);
    if (block.size === 0) continue;
    matching += block.size;
    open.push(
      { ...span, leftTo: block.left, rightTo: block.right },
      { ...span, leftFrom: block.left + block.size, rightFrom: block.right + block.size },
    );
  }
  return matching;
}

function indexPlaces(right: readonly string[]): Map<string, number[]> {
  const places = positionsByKey(right);
  if (right.length < AUTOJUNK_LENGTH) return places;
  const popular = Math.floor(right.length / 100) + 1;
  return new Map([...places].filter(([, found]) => found.length <= popular));
}

/**
 * Finds the longest block, of those the first in `left`, of those the first in `right`; then lets it grow over characters that
 * were left out as too frequent.
 */
function longestBlock(
  left: readonly string[],
  right: readonly string[],
  places: ReadonlyMap<string, readonly number[]>,
  { leftFrom, leftTo, rightFrom, rightTo }: Span,
): Block {
  let [bestLeft, bestRight, size] = [leftFrom, rightFrom, 0];
  // by place in `right`: the length of the match that ends there and at the last left character
  let lengths = new Map<number, number>();
  for (let i = leftFrom; i < leftTo; i++) {
    const grown = new Map<number, number>();
    for (const j of places.get(left[i] ?? '') ?? []) {
      if (j < rightFrom) continue;
      if (j >= rightTo) break;
      const length = (lengths.get(j - 1) ?? 0) + 1;
      grown.set(j, length);
      if (length > size) [bestLeft, bestRight, size] = [i - length + 1, j - length + 1, length];
    }
    lengths = grown;
  }
  while (bestLeft > leftFrom && bestRight > rightFrom && left[bestLeft - 1] === right[bestRight - 1]) {
    [bestLeft, bestRight, size] = [bestLeft - 1, bestRight - 1, size + 1];
  }
  while (bestLeft + size < leftTo && bestRight + size < rightTo && left[bestLeft + size] === right[bestRight + size]) size++;
  return { left: bestLeft, right: bestRight, size };
}
