import { type ChatMessage, promptMessages } from '../../domain/history/prompt.ts';
import type { RecordedPrompt } from '../../projections/prompts/read-prompts.ts';
import type { BatchReward, BatchRows, BatchStep, BatchTokens, BatchTrajectory } from '../rows/batch-rows.ts';
import { ownSteps } from '../rows/jagged.ts';
import { totalOf } from '../rows/reward-columns.ts';
import type { RewardPart, StepRow } from './step-row.ts';

/**
 * Lays a batch out as our backends read it: a row per step that its rollouts took, in the order of the manifest. Steps before the
 * node where a rollout began are its history and no rows; of recorded tokens only those that a policy sampled are taken.
 * @param prompts what steps were asked with, by their ids, for models that read chats; steps without one are read as the chat of
 * the environment, where their run asked by it.
 */
export function stepRowsOf(
  { trajectories }: BatchRows,
  prompts: ReadonlyMap<string, RecordedPrompt> | null = null,
): readonly StepRow[] {
  return trajectories.flatMap((trajectory) => rowsOf(trajectory, prompts));
}

function rowsOf(trajectory: BatchTrajectory, prompts: ReadonlyMap<string, RecordedPrompt> | null): readonly StepRow[] {
  const { goal, firstObservation, steps, from, outcome } = trajectory;
  const own = ownSteps(trajectory);
  const history = steps.map(({ action, observation }) => ({ action, observation }));
  return own.map((step, i): StepRow => {
    const chat = prompts ? chatOf(trajectory, step, from + i, prompts.get(step.stepId)) : undefined;
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
 * Returns the chat that asked for the step at a place of the path. Without a recorded prompt it is composed again; none where the
 * run words its prompts otherwise, or turns were left out to fit. None for a prompt with an image: no backend reads it.
 */
function chatOf(
  trajectory: BatchTrajectory,
  { response, trimmed }: BatchStep,
  place: number,
  prompt: RecordedPrompt | undefined,
): StepRow['chat'] {
  if (prompt) {
    const messages = chatMessages(prompt.messages);
    const ids = prompt.tokenIds ? { promptIds: Array.from(prompt.tokenIds) } : {};
    return messages ? { messages, response, ...ids } : undefined;
  }
  if (trajectory.prompting !== 'plain-chat' || trimmed) return undefined;
  const { instruction, firstObservation, steps } = trajectory;
  return { messages: promptMessages({ instruction, firstObservation, history: steps.slice(0, place) }), response };
}

function chatMessages(messages: RecordedPrompt['messages']): readonly ChatMessage[] | null {
  const chat: ChatMessage[] = [];
  for (const { role, parts } of messages) {
    if (role === 'tool' || parts.some(({ kind }) => kind === 'image')) return null;
    chat.push({ role, content: parts.map((part) => (part.kind === 'text' ? part.text : '')).join('') });
  }
  return chat;
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
