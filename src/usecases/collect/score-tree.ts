import type { Draft } from '../../append/appender.ts';
import { sumAmounts } from '../../domain/reward/amount.ts';
import { lastAnswer } from '../../domain/reward/exact-match.ts';
import { goldsOf, type ScoredEpisode } from '../../domain/reward/scored-episode.ts';
import type { ToolProfile } from '../../domain/tools/plan-turn.ts';
import { writeChat } from '../../domain/tools/profile-chat.ts';
import type { Json } from '../../domain/tools/read-python-json.ts';
import type { ScorerName } from '../../environments/environment.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { CurrentReward, ScorableStep, ScorableTree } from '../../projections/rewards/read-scorable.ts';

/** What is known of the tasks of a run besides the record. */
export interface ScoringContext {
  readonly profile: ToolProfile | null;
  readonly truth: { readonly groundTruth: Json; readonly dataSource: string } | null;
}

export interface Scoring extends ScoringContext {
  readonly runId: string;
  readonly scorer: ScorerName;
  /**
   * The component that is written: where a rollout has a reward of it, that is revised; else one is assigned to the rollout,
   * late.
   */
  readonly component: string;
  /** Whether the scorer may give another value than before, as annotations do. */
  readonly mayChange: boolean;
  /** Returns the value of a rollout; null for one that is left as it is. */
  valueOf(episode: ScoredEpisode, rolloutId: string, path: readonly ScorableStep[]): Promise<number | null>;
}

export interface ScoredTree {
  readonly drafts: readonly Draft[];
  readonly assigned: number;
  readonly revised: number;
  /** Rollouts whose reward this scorer gave before. */
  readonly standing: number;
}

/**
 * Scores the finished rollouts of a recorded tree again. What the record already holds leaves nothing to append, and ids are
 * derived from what is judged and by which scorer, so scoring twice, or going on after a kill, changes nothing.
 */
export async function scoreTree(tree: ScorableTree, scoring: Scoring): Promise<ScoredTree> {
  const { runId, scorer: by, component } = scoring;
  const drafts: Draft[] = [];
  let [assigned, revised, standing] = [0, 0, 0];
  for (const rollout of tree.rollouts) {
    const path = pathOf(tree, rollout.leafStepId);
    const value = await scoring.valueOf(episodeOf(tree, path, rollout.success, scoring), rollout.rolloutId, path);
    if (value === null) continue;
    const before = rewardOf(tree.rewards, rollout, component);
    const same = !scoring.mayChange || before?.value === value;
    if (before === undefined) {
      const rewardId = derivedId('reward', rollout.rolloutId, component);
      const data = {
        rewardId,
        treeId: tree.treeId,
        stepId: null,
        rolloutId: rollout.rolloutId,
        component,
        value,
        scorer: by,
        raw: null,
      };
      drafts.push({ type: 'RewardAssigned', id: derivedId('RewardAssigned', rewardId), correlationId: runId, data });
      assigned++;
    } else if (before.scorer === by.name && before.revision === by.revision && same) standing++;
    else {
      const id = derivedId('RewardRevised', before.rewardId, by.name, by.revision, before.revisions);
      const reason = `scored anew by ${by.name}@${by.revision}`;
      drafts.push({
        type: 'RewardRevised',
        id,
        correlationId: runId,
        data: { rewardId: before.rewardId, treeId: tree.treeId, value, scorer: by, reason },
      });
      revised++;
    }
  }
  return { drafts, assigned, revised, standing };
}

/** What a scorer sees of a reward. */
export type RewardOfTree = Pick<CurrentReward, 'component' | 'stepId' | 'value'>;

/**
 * Puts a rollout before a scorer: what was asked, what was said on its path, what would have been right, and how the environment
 * rewarded it.
 */
export function episodeOf(
  tree: Pick<ScorableTree, 'goal'> & { readonly rewards: readonly RewardOfTree[] },
  path: readonly ScorableStep[],
  success: boolean | null,
  scoring: ScoringContext,
): ScoredEpisode {
  const { profile, truth } = scoring;
  // In tasks with tools the action is the whole response without what a picking policy writes around it.
  const turns = path.map(({ response, action, observation }) => ({
    response: profile === null ? response : action,
    observation,
  }));
  const responses = turns.map(({ response }) => response);
  const onPath = new Set(path.map(({ stepId }) => stepId));
  const own = tree.rewards.filter(
    ({ component, stepId }) => component === 'environment' && stepId !== null && onPath.has(stepId),
  );
  return {
    question: tree.goal,
    dataSource: truth?.dataSource ?? 'unknown',
    chat: writeChat(profile, turns),
    responses,
    answer: lastAnswer(responses.at(-1) ?? ''),
    groundTruth: truth?.groundTruth ?? null,
    golds: goldsOf(truth?.groundTruth ?? null),
    invalidActions: path.filter(({ executable }) => !executable).length,
    environmentScore: own.length === 0 ? null : sumAmounts(own.map(({ value }) => value)),
    success,
  };
}

/** The steps from the first to a leaf; the root is no step that was taken. */
export function pathOf(tree: ScorableTree, leafStepId: string): ScorableStep[] {
  const path: ScorableStep[] = [];
  for (let id: string | null = leafStepId; id !== null; ) {
    const step = tree.steps.get(id);
    if (step === undefined) throw new RangeError(`tree ${tree.treeId} has no step ${id}`);
    if (step.parentStepId !== null) path.push(step);
    id = step.parentStepId;
  }
  return path.reverse();
}

/** A rollout's reward of a component: on the rollout itself, or on its last step. */
function rewardOf(
  rewards: readonly CurrentReward[],
  { rolloutId, leafStepId }: { readonly rolloutId: string; readonly leafStepId: string },
  component: string,
): CurrentReward | undefined {
  return rewards.find(
    (reward) =>
      reward.component === component && (reward.stepId === null ? reward.rolloutId === rolloutId : reward.stepId === leafStepId),
  );
}
