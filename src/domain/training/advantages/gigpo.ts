import { at } from '../rows/rows.ts';
import { mapScores, measureGroups } from '../statistics/groups.ts';
import { groupByAnchor, type Sameness } from './anchor-groups.ts';
import { divisor, type GroupInput, groupRelative } from './group-relative.ts';

export interface GigpoInput extends GroupInput {
  readonly anchors: readonly string[];
  /** The discounted return R_k from each row's step on. */
  readonly stepReturns: ArrayLike<number>;
}

export interface GigpoOptions {
  /**
   * The episode part: rows that carry their episode's score (verl-agent), or step scores summed per trajectory (Agent-R1 v0.1).
   */
  readonly episodeOver: 'rows' | 'trajectories' | 'trajectory-sums';
  /** `mean_norm` divides neither part by a deviation. Published defaults disagree, so the mode is recorded with every update. */
  readonly mode: 'mean_std_norm' | 'mean_norm';
  readonly stepWeight: number;
  readonly sameness: Sameness;
}

export interface GigpoParts {
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
