import { z } from 'zod';
import {
  carryGae,
  compactGae,
  denseGae,
  findUntrainedSpan,
  type RawGae,
  type ReturnsVariant,
  stepGae,
  stepReturns,
  tokenGaeAcrossSteps,
} from '../../domain/training/advantages/gae.ts';
import { gigpo, groupByAnchor, sequenceRatio } from '../../domain/training/advantages/gigpo-estimator.ts';
import {
  centreOnGroup,
  groupPolicyGradient,
  leaveOneOut,
  lengthWeighted,
} from '../../domain/training/advantages/group-baselines.ts';
import { groupRelative, passAtK } from '../../domain/training/advantages/group-estimators.ts';
import { gatherMembers, scoreRows, spreadMembers, sumTrajectories } from '../../domain/training/advantages/members.ts';
import { countTrained, type Masks, spreadScalars } from '../../domain/training/rows/rows.ts';
import { maskedWhiten, standardise } from '../../domain/training/statistics/masked.ts';
import { beyond } from '../declared-defaults.ts';
import { byVariant, estimateCase, masksShape, type RlCase, rlCheck, rowsShape } from '../rl-vectors.ts';

const tokens = z.object({
  token_level_rewards: rowsShape,
  values: rowsShape,
  response_mask: masksShape,
  gamma: z.number(),
  lam: z.number(),
});
const steps = tokens.extend({ trajectory_uids: z.array(z.string()), step_indices: z.array(z.int()) });

/**
 * Judges `02-gae`: raw advantages, returns and whitened advantages of every treatment of untrained tokens, by function and by the
 * estimator.
 */
export const rlGaeCheck = rlCheck(/^02-gae.*\.json$/, {
  gae: byVariant({
    'verl<=0.4.1 (dense)'(given) {
      const { masks, input, decay } = read(tokens.parse(given.inputs));
      // The estimator must refuse what the function shows to be wrong.
      const refusal = estimateCase(given, 'gae', { variant: 'dense', ...beyond(UNDISCOUNTED, decay) });
      if (findUntrainedSpan(masks) !== null && refusal.kind !== 'refused') throw new Error('dense GAE was not refused');
      return whiten(denseGae(input, decay), masks);
    },
    'verl>=0.5 (carry over mask 0)': (given) => judgeRows(given, 'carry', carryGae),
    'Agent-R1 legacy (compact action tokens)': (given) => judgeRows(given, 'compact', compactGae),
    'Agent-R1 v0.1 step level': judgeSteps,
  }),
  token_gae(given) {
    const parsed = steps.parse(given.inputs);
    const { masks, input, decay } = read(parsed);
    const order = { trajectories: parsed.trajectory_uids, steps: parsed.step_indices };
    return {
      ...whiten(tokenGaeAcrossSteps(input, order, decay), masks),
      ...advantagesOf(given, beyond(UNDISCOUNTED, decay)), // the variant of a declaration that names none
    };
  },
});

function judgeRows(given: RlCase, variant: 'carry' | 'compact', compute: typeof carryGae): Record<string, unknown> {
  const { masks, input, decay } = read(tokens.parse(given.inputs));
  return { ...whiten(compute(input, decay), masks), ...advantagesOf(given, { variant, ...beyond(UNDISCOUNTED, decay) }) };
}

function judgeSteps(given: RlCase): Record<string, unknown> {
  const parsed = steps.parse(given.inputs);
  const { masks, input, decay } = read(parsed);
  const { rewards, raw, returns } = stepGae(input, { trajectories: parsed.trajectory_uids, steps: parsed.step_indices }, decay);
  return {
    step_rewards: rewards,
    step_advantages_raw: raw,
    step_returns: returns,
    step_advantages: standardise(raw),
    returns: spreadScalars(returns, masks),
    ...advantagesOf(given, { variant: 'step', ...beyond(UNDISCOUNTED, decay) }),
  };
}

function read(parsed: z.infer<typeof tokens>) {
  const masks = parsed.response_mask;
  const input = { rewards: parsed.token_level_rewards, values: parsed.values, masks, bootstraps: null };
  return { masks, input, decay: { gamma: parsed.gamma, lambda: parsed.lam } };
}

function whiten({ raw, returns }: RawGae, masks: Masks) {
  return { advantages_raw: raw, returns, advantages: maskedWhiten(raw, masks) };
}

function advantagesOf(given: RlCase, options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const found = estimateCase(given, 'gae', options);
  return found.kind === 'refused' ? { refused: found.reason } : { advantages: found.advantages, returns: found.returns };
}

/** What verl and Agent-R1 declare by default. */
const UNDISCOUNTED = { gamma: 1, lambda: 1 };

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

const gamma = z.object({ gamma: z.number() });
const reinforceSteps = gamma.extend({
  token_level_rewards: rowsShape,
  response_mask: masksShape,
  trajectory_uids: z.array(z.string()),
  step_indices: z.array(z.int()),
});

/** Judges `04-reinforce`: REINFORCE++ as shipped, repaired and on packed rows, and REINFORCE over steps. */
export const rlReinforceCheck = rlCheck(/^04-reinforce.*\.json$/, {
  reinforce_plus_plus: byVariant({
    'verl 0.2 - 0.8 (reset at mask 0)': (given) => plusPlus(given, 'shipped'),
    'repaired, verl PR 7300 (carry over mask 0)': (given) => plusPlus(given, 'repaired'),
    'Agent-R1 legacy (compact action tokens)': (given) => plusPlus(given, 'compact'),
  }),
  reinforce_step(given) {
    const parsed = reinforceSteps.parse(given.inputs);
    const rewards = scoreRows(parsed.token_level_rewards, parsed.response_mask, 'trained-tokens');
    const returns = stepReturns(rewards, { trajectories: parsed.trajectory_uids, steps: parsed.step_indices }, parsed.gamma);
    return {
      step_returns: returns,
      step_advantages: standardise(returns),
      ...estimated(given, 'reinforce_step', beyond({ gamma: 1 }, { gamma: parsed.gamma })),
    };
  },
});

function plusPlus(given: RlCase, variant: ReturnsVariant): Record<string, unknown> {
  const asked = { variant, ...gamma.parse({ gamma: given.inputs.gamma }) };
  return estimated(given, 'reinforce_plus_plus', beyond({ variant: 'repaired', gamma: 1 }, asked));
}

function estimated(given: RlCase, estimator: string, options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const found = estimateCase(given, estimator, options);
  return found.kind === 'refused' ? { refused: found.reason } : { advantages: found.advantages, returns: found.returns };
}

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
    'norm_adv_by_std=true': (given) => grpo(given, {}),
    'norm_adv_by_std=false': (given) => grpo(given, { scale: 'none' }),
    'Agent-R1 legacy, norm_adv_by_std=true': (given) => grpo(given, { scores: 'trained-tokens' }),
    'Agent-R1 legacy, norm_adv_by_std=false': (given) => grpo(given, { scale: 'none', scores: 'trained-tokens' }),
  }),
  grpo_vectorized: (given) => grpo(given, { scale: 'floored-std' }),
  grpo_rows: byVariant({
    'compute_mean_std_cross_steps=true': (given) => grpo(given, { over: 'rows' }),
    'compute_mean_std_cross_steps=false': (given) => grpo(given, { over: 'trajectories' }),
  }),
  grpo_trajectory(given) {
    const { token_level_rewards: rewards, response_mask: masks, trajectory_uids: trajectories = [] } = shape.parse(given.inputs);
    const totals = sumTrajectories(scoreRows(rewards, masks, 'all-tokens'), trajectories);
    return {
      trajectory_totals: Object.fromEntries(totals),
      ...grpo(given, beyond(GRPO, { ...GRPO, scale: scaleOf(given) })),
    };
  },
  grpo_passk(given) {
    const { scores, groups } = readBaselines(given);
    const scale = scaleOf(given);
    return {
      scalar: passAtK(scores, groups, scale),
      ...baselineAdvantagesOf(given, 'pass_at_k', beyond({ scale: 'std' }, { scale })),
    };
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
    const { scores, groups, masks, trajectories } = readBaselines(given);
    const members = gatherMembers('trajectory-sums', scores, { masks, groups, trajectories });
    const scalar = spreadMembers(leaveOneOut(members.scores, members.groups, 'raw'), members);
    return { scalar, ...baselineAdvantagesOf(given, 'rloo', { singleton: 'raw' }) };
  },
  rloo: (given) => rloo(given, 'raw'),
  rloo_vectorized: (given) => rloo(given, 'zero'),
  opo(given) {
    const { scores, groups, lengths } = readBaselines(given);
    return { scalar: lengthWeighted(scores, groups, lengths, 'raw'), ...baselineAdvantagesOf(given, 'opo', {}) };
  },
  gpg(given) {
    const { scores, groups } = readBaselines(given);
    const fNorm = Number(/^f_norm=(\S+)$/.exec(given.variant)?.[1]);
    const scalar = groupPolicyGradient(scores, groups, { fNorm, singleton: 'raw' });
    return { scalar, ...baselineAdvantagesOf(given, 'gpg', beyond({ fNorm: 1 }, { fNorm })) };
  },
});

function plusPlusBaseline(given: RlCase, output: 'masked' | 'unmasked'): Record<string, unknown> {
  const { scores, groups } = readBaselines(given);
  return {
    centred: centreOnGroup(scores, groups, 'raw'),
    ...baselineAdvantagesOf(given, 'reinforce_plus_plus_baseline', beyond({ output: 'masked' }, { output })),
  };
}

interface GrpoCase {
  readonly over: 'rows' | 'trajectories' | 'trajectory-sums';
  readonly scale: 'std' | 'none' | 'floored-std';
  readonly scores: 'all-tokens' | 'trained-tokens';
}

/** As published for one row per rollout; several rows of one are one member by their sum (Agent-R1 v0.1). */
const GRPO: GrpoCase = { over: 'trajectory-sums', scale: 'std', scores: 'all-tokens' };

function grpo(given: RlCase, asked: Partial<GrpoCase>): Record<string, unknown> {
  const options = { ...GRPO, ...asked };
  const parsed = shape.parse(given.inputs);
  const trajectories = parsed.trajectory_uids ?? parsed.traj_index ?? parsed.index.map((_, row) => `row ${row}`);
  const scores = scoreRows(parsed.token_level_rewards, parsed.response_mask, options.scores);
  const scalar = groupRelative({ scores, groups: parsed.index, trajectories }, { ...options, singleton: 'raw' });
  return { scalar, ...baselineAdvantagesOf(given, 'grpo', asked) };
}

function rloo(given: RlCase, singleton: 'raw' | 'zero'): Record<string, unknown> {
  const { scores, groups } = readBaselines(given);
  return { scalar: leaveOneOut(scores, groups, singleton), ...baselineAdvantagesOf(given, 'rloo', { singleton }) };
}

function readBaselines({ inputs }: RlCase) {
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

function baselineAdvantagesOf(
  given: RlCase,
  estimator: string,
  options: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const found = estimateCase(given, estimator, options);
  return found.kind === 'refused' ? { refused: found.reason } : { advantages: found.advantages };
}
