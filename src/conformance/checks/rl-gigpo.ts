import { z } from 'zod';
import { groupByAnchor } from '../../domain/training/advantages/anchor-groups.ts';
import { stepReturns } from '../../domain/training/advantages/discounted-returns.ts';
import { gigpo } from '../../domain/training/advantages/gigpo.ts';
import { scoreRows } from '../../domain/training/advantages/row-scores.ts';
import { sequenceRatio } from '../../domain/training/advantages/sequence-ratio.ts';
import { spreadScalars } from '../../domain/training/rows/rows.ts';
import { masksShape, type RlCase, rlCheck, rowsShape } from '../rl-vectors.ts';

const names = z.array(z.string());
const numbers = z.array(z.number());
const returns = z.object({ step_rewards: numbers, trajectory_uids: names, step_indices: numbers, gamma: z.number() });
const anchored = z.object({ anchor_obs: names, index: names, similarity_thresh: z.number() });
const rows = z.object({
  token_level_rewards: rowsShape,
  step_rewards: numbers,
  response_mask: masksShape,
  anchor_obs: names,
  index: names,
  traj_index: names.optional(),
  trajectory_uids: names.optional(),
  step_advantage_w: z.number(),
  epsilon: z.literal(1e-6),
  mode: z.enum(['mean_norm', 'mean_std_norm']),
});

/** Judges `05-gigpo`: discounted step returns, both published forms of GiGPO, and grouping by similar texts. */
export const rlGigpoCheck = rlCheck(/^05-gigpo.*\.json$/, {
  step_discounted_returns({ inputs }) {
    const { step_rewards: rewards, trajectory_uids: trajectories, step_indices: steps, gamma } = returns.parse(inputs);
    return { value: stepReturns(rewards, { trajectories, steps }, gamma) };
  },
  gigpo: (given) => compute(given, 'rows'),
  gigpo_agent_r1: (given) => compute(given, 'trajectory-sums'),
  step_groups({ inputs }) {
    const { anchor_obs: anchors, index: groups, similarity_thresh: threshold } = anchored.parse(inputs);
    return {
      ratios_to_first: anchors.map((anchor) => sequenceRatio(anchor, anchors[0] ?? '')),
      step_group: named(groupByAnchor(anchors, groups, { kind: 'similar', threshold }), groups),
      step_group_exact: named(groupByAnchor(anchors, groups, { kind: 'exact' }), groups),
    };
  },
});

/** Here `step_rewards` are the discounted returns already. */
function compute({ inputs }: RlCase, episodeOver: 'rows' | 'trajectory-sums'): Record<string, unknown> {
  const given = rows.parse(inputs);
  const { episode, step, combined, stepGroups } = gigpo(
    {
      scores: scoreRows(given.token_level_rewards, given.response_mask, 'all-tokens'),
      groups: given.index,
      trajectories: given.traj_index ?? given.trajectory_uids ?? [],
      anchors: given.anchor_obs,
      stepReturns: given.step_rewards,
    },
    { episodeOver, mode: given.mode, stepWeight: given.step_advantage_w, sameness: { kind: 'exact' } },
  );
  return {
    episode_advantage: episode,
    step_group: named(stepGroups, given.index),
    step_advantage: step,
    scalar: combined,
    advantages: spreadScalars(combined, given.response_mask),
  };
}

function named(numbersOfRows: Int32Array, groups: readonly string[]): (readonly [string, number])[] {
  return Array.from(numbersOfRows, (number, row) => [groups[row] ?? '', number] as const);
}
