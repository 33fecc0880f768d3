import { factorReward } from '../../domain/compression/factor-reward.ts';
import { readFactor } from '../../domain/compression/read-factor.ts';
import { isRewarded } from '../../domain/compression/reward-schedule.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { Db } from '../../postgres/database.ts';
import type { ScorableTree } from '../../projections/rewards/read-scorable.ts';
import { readStepTakers } from '../../projections/step-tree/read-steps.ts';
import type { collectPlan } from '../collect/plan.ts';
import { iterationOf } from '../collect/prompting/prompt-plan.ts';
import type { RewardPair } from './replay-scores-groups.ts';

/** What compression is to pay in place of what the plan says; null keeps that. */
export interface CompressionAsked {
  readonly lambda: number | null;
  readonly mu: number | null;
  /** K of the schedule. */
  readonly every: number | null;
}

const COMPONENT = 'compression';

/**
 * Pays every rollout of a tree for the factors of its answers by other coefficients: a step is paid by the outcome of the rollout
 * that took it, its last step by nothing. The iteration is the plan's; a run without a compression plan is paid as if the
 * schedule were on.
 */
export async function payCompression(
  db: Db,
  tree: ScorableTree,
  plan: ReturnType<typeof collectPlan.parse> | null,
  asked: CompressionAsked,
): Promise<RewardPair[]> {
  const recorded = plan?.prompt?.compression ?? null;
  const [lambda, mu] = [asked.lambda ?? recorded?.lambda ?? 0.01, asked.mu ?? recorded?.mu ?? 0]; // 0.01 and 0: as published
  const every = asked.every ?? recorded?.every ?? 1;
  const pairs: RewardPair[] = tree.rewards.map(({ value, ...reward }) => ({
    ...reward,
    before: value,
    after: reward.component === COMPONENT ? null : value,
  }));
  const places = new Map(
    pairs.flatMap((pair, i) => (pair.component === COMPONENT && pair.stepId !== null ? [[pair.stepId, i]] : [])),
  );
  for (const { rolloutId, stepId, policyVersion } of await readStepTakers(db, tree.treeId)) {
    const rollout = tree.rollouts.find((each) => each.rolloutId === rolloutId);
    const step = tree.steps.get(stepId);
    if (!rollout || !step) continue; // of a rollout that failed: nobody is paid
    const { factor } = readFactor(step.response);
    const active = recorded === null || isRewarded(every, iterationOf(recorded, policyVersion));
    const given = { factor, success: rollout.success === true, active, endsEpisode: stepId === rollout.leafStepId };
    const after = factorReward(given, { lambda, mu });
    const i = places.get(stepId);
    const pair = i === undefined ? undefined : pairs[i];
    if (i !== undefined && pair) pairs[i] = { ...pair, after };
    else if (after !== 0) {
      const rewardId = derivedId<never>('reward', stepId, COMPONENT); // the id that the collector would give it
      pairs.push({ rewardId, stepId, rolloutId, component: COMPONENT, before: null, after });
    }
  }
  return pairs;
}
