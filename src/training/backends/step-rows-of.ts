import { promptMessages } from '../../domain/history/prompt.ts';
import type { BatchReward, BatchRows, BatchStep, BatchTokens, BatchTrajectory } from '../rows/batch-rows.ts';
import { ownSteps } from '../rows/jagged.ts';
import { totalOf } from '../rows/reward-columns.ts';
import type { RewardPart, StepRow } from './step-row.ts';

/**
 * Lays a batch out as our backends read it: a row per step that its rollouts took, in the order of the manifest. Steps before the
 * node where a rollout began are its history and no rows; of recorded tokens only those that a policy sampled are taken.
 */
export function stepRowsOf(
  { trajectories }: BatchRows,
  chats: 'with-chats' | 'without-chats' = 'without-chats',
): readonly StepRow[] {
  return trajectories.flatMap((trajectory) => rowsOf(trajectory, chats));
}

function rowsOf(trajectory: BatchTrajectory, chats: 'with-chats' | 'without-chats'): readonly StepRow[] {
  const { goal, firstObservation, steps, from, outcome } = trajectory;
  const own = ownSteps(trajectory);
  const history = steps.map(({ action, observation }) => ({ action, observation }));
  return own.map((step, i): StepRow => {
    const chat = chats === 'with-chats' ? chatOf(trajectory, step, from + i) : undefined;
    const isLast = i === own.length - 1;
    return {
      ...{ groupId: trajectory.treeId, rolloutId: trajectory.rolloutId, step: i },
      situation: { goal, firstObservation, history: history.slice(0, from + i) },
      ...{ candidates: step.candidates, tokens: sampledTokens(step.tokens), temperature: trajectory.temperature ?? 1 },
      reward: totalOf(step.rewards) + (isLast ? totalOf(trajectory.rewards) : 0),
      parts: [...step.rewards.map(partOf('step')), ...(isLast ? trajectory.rewards.map(partOf('rollout')) : [])],
      ...{ stateHash: step.anchor, action: step.action, observation: step.observation },
      end: !isLast ? 'none' : outcome === 'terminated' ? 'terminated' : 'truncated',
      version: Math.min(...step.spans.map(({ version }) => version)),
      ...(isLast && trajectory.after !== null ? { after: trajectory.after } : {}),
      ...(chat ? { chat } : {}),
      ...(trajectory.greedyScore === undefined ? {} : { greedyScore: trajectory.greedyScore }),
    };
  });
}

function partOf(of: RewardPart['of']): (reward: BatchReward) => RewardPart {
  return ({ component, value, weight }) => ({ component, value, weight, of });
}

/**
 * Rebuilds the chat that asked for the step at a place of the path; none where the run words its prompts otherwise, or turns were
 * left out to fit.
 */
function chatOf(trajectory: BatchTrajectory, { response, trimmed }: BatchStep, place: number): StepRow['chat'] {
  if (trajectory.prompting !== 'plain-chat' || trimmed) return undefined;
  const { instruction, firstObservation, steps } = trajectory;
  return { messages: promptMessages({ instruction, firstObservation, history: steps.slice(0, place) }), response };
}

/** Takes the tokens of a step that a policy sampled. */
export function sampledTokens(tokens: BatchTokens | null): StepRow['tokens'] {
  if (tokens === null) return null;
  const sampled = (_: number, place: number) => tokens.mask[place] === 1;
  return {
    ids: Array.from(tokens.ids.filter(sampled)),
    logProbs: tokens.logProbs && Array.from(tokens.logProbs.filter(sampled)),
  };
}
