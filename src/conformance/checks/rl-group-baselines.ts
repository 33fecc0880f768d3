import { z } from 'zod';
import {
  centreOnGroup,
  groupPolicyGradient,
  leaveOneOut,
  lengthWeighted,
} from '../../domain/training/advantages/group-baselines.ts';
import { groupRelative } from '../../domain/training/advantages/group-relative.ts';
import { gatherMembers, spreadMembers } from '../../domain/training/advantages/members.ts';
import { passAtK } from '../../domain/training/advantages/pass-at-k.ts';
import { scoreRows, sumTrajectories } from '../../domain/training/advantages/row-scores.ts';
import { countTrained } from '../../domain/training/rows/rows.ts';
import { estimateCase } from '../rl-estimate.ts';
import { byVariant, masksShape, type RlCase, rlCheck, rowsShape } from '../rl-vectors.ts';

const names = z.array(z.string());
const shape = z.object({
  token_level_rewards: rowsShape,
  response_mask: masksShape,
  index: names,
  traj_index: names.optional(),
  trajectory_uids: names.optional(),
});

/**
 * Judges `03-group-baselines`: the scalar of each row by the function, and the advantages by the estimator that a run would name.
 */
export const rlGroupBaselinesCheck = rlCheck(/^03-group-baselines.*\.json$/, {
  grpo: byVariant({
    'norm_adv_by_std=true': (given) => grpo(given, { over: 'rows', scale: 'std', scores: 'all-tokens' }),
    'norm_adv_by_std=false': (given) => grpo(given, { over: 'rows', scale: 'none', scores: 'all-tokens' }),
    'Agent-R1 legacy, norm_adv_by_std=true': (given) => grpo(given, { over: 'rows', scale: 'std', scores: 'trained-tokens' }),
    'Agent-R1 legacy, norm_adv_by_std=false': (given) => grpo(given, { over: 'rows', scale: 'none', scores: 'trained-tokens' }),
  }),
  grpo_vectorized: (given) => grpo(given, { over: 'rows', scale: 'floored-std', scores: 'all-tokens' }),
  grpo_rows: byVariant({
    'compute_mean_std_cross_steps=true': (given) => grpo(given, { over: 'rows', scale: 'std', scores: 'all-tokens' }),
    'compute_mean_std_cross_steps=false': (given) => grpo(given, { over: 'trajectories', scale: 'std', scores: 'all-tokens' }),
  }),
  grpo_trajectory(given) {
    const { token_level_rewards: rewards, response_mask: masks, trajectory_uids: trajectories = [] } = shape.parse(given.inputs);
    const totals = sumTrajectories(scoreRows(rewards, masks, 'all-tokens'), trajectories);
    return {
      trajectory_totals: Object.fromEntries(totals),
      ...grpo(given, { over: 'trajectory-sums', scale: scaleOf(given), scores: 'all-tokens' }),
    };
  },
  grpo_passk(given) {
    const { scores, groups } = read(given);
    const scale = scaleOf(given);
    return { scalar: passAtK(scores, groups, scale), ...advantagesOf(given, 'pass_at_k', { scale }) };
  },
  reinforce_plus_plus_baseline: byVariant({
    'masked output': (given) => plusPlusBaseline(given, 'masked'),
    'verl < 0.4 / Agent-R1 legacy (no final mask)': (given) => plusPlusBaseline(given, 'unmasked'),
  }),
  remax(given) {
    const found = estimateCase(given, 'remax', {});
    return found.kind === 'refused' ? { refused: found.reason } : { advantages: found.advantages, returns: found.returns };
  },
  rloo_trajectory(given) {
    const { scores, groups, masks, trajectories } = read(given);
    const members = gatherMembers('trajectory-sums', scores, { masks, groups, trajectories });
    const scalar = spreadMembers(leaveOneOut(members.scores, members.groups, 'raw'), members);
    return { scalar, ...advantagesOf(given, 'rloo', { over: 'trajectory-sums', singleton: 'raw' }) };
  },
  rloo: (given) => rloo(given, 'raw'),
  rloo_vectorized: (given) => rloo(given, 'zero'),
  opo(given) {
    const { scores, groups, lengths } = read(given);
    return { scalar: lengthWeighted(scores, groups, lengths, 'raw'), ...advantagesOf(given, 'opo', {}) };
  },
  gpg(given) {
    const { scores, groups } = read(given);
    const fNorm = Number(/^f_norm=(\S+)$/.exec(given.variant)?.[1]);
    const scalar = groupPolicyGradient(scores, groups, { fNorm, singleton: 'raw' });
    return { scalar, ...advantagesOf(given, 'gpg', { fNorm }) };
  },
});

function plusPlusBaseline(given: RlCase, output: 'masked' | 'unmasked'): Record<string, unknown> {
  const { scores, groups } = read(given);
  return { centred: centreOnGroup(scores, groups, 'raw'), ...advantagesOf(given, 'reinforce_plus_plus_baseline', { output }) };
}

interface GrpoCase {
  readonly over: 'rows' | 'trajectories' | 'trajectory-sums';
  readonly scale: 'std' | 'none' | 'floored-std';
  readonly scores: 'all-tokens' | 'trained-tokens';
}

function grpo(given: RlCase, options: GrpoCase): Record<string, unknown> {
  const parsed = shape.parse(given.inputs);
  const trajectories = parsed.trajectory_uids ?? parsed.traj_index ?? parsed.index.map((_, row) => `row ${row}`);
  const scores = scoreRows(parsed.token_level_rewards, parsed.response_mask, options.scores);
  const scalar = groupRelative({ scores, groups: parsed.index, trajectories }, { ...options, singleton: 'raw' });
  return { scalar, ...advantagesOf(given, 'grpo', { ...options }) };
}

function rloo(given: RlCase, singleton: 'raw' | 'zero'): Record<string, unknown> {
  const { scores, groups } = read(given);
  return { scalar: leaveOneOut(scores, groups, singleton), ...advantagesOf(given, 'rloo', { singleton }) };
}

function read({ inputs }: RlCase) {
  const { token_level_rewards: rewards, response_mask: masks, index: groups, ...columns } = shape.parse(inputs);
  const trajectories = columns.trajectory_uids ?? columns.traj_index ?? groups.map((_, row) => `row ${row}`);
  const scores = scoreRows(rewards, masks, 'all-tokens');
  return { scores, groups, masks, trajectories, lengths: masks.map(countTrained) };
}

function scaleOf({ variant }: RlCase): 'std' | 'none' {
  const found = /norm_adv_by_std=(true|false)/.exec(variant);
  if (found === null) throw new Error(`${JSON.stringify(variant)} does not say whether deviations divide`);
  return found[1] === 'true' ? 'std' : 'none';
}

function advantagesOf(given: RlCase, estimator: string, options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const found = estimateCase(given, estimator, options);
  return found.kind === 'refused' ? { refused: found.reason } : { advantages: found.advantages };
}
