import { promptMessages } from '../../domain/history/prompt.ts';
import { textMessage } from '../../domain/prompts/same-message.ts';
import { chatTools, type ServedMessage, servedMessage } from '../../domain/prompts/served-message.ts';
import type { Situation } from '../../policies/linear/situation.ts';
import { keyInTree } from '../../projections/of-tree.ts';
import type { StoredPrompt } from '../../projections/prompts/read-prompts.ts';
import type { BatchReward, BatchRows, BatchStep, BatchTokens, BatchTrajectory } from '../rows/batch-rows.ts';
import { ownSteps, totalOf } from '../rows/jagged.ts';

/**
 * One step of a rollout as a trainer sees it: the policy's state, what it could do and did, what that earned, how it went on.
 * Texts are what candidate policies score; tokens are the sampled ids, never re-tokenised. Rows of a batch come in no particular
 * order: a backend sorts them.
 */
export interface StepRow {
  /** The group: the id of the tree. */
  readonly groupId: string;
  readonly rolloutId: string;
  /** Its place in its rollout, from 0. */
  readonly step: number;
  readonly situation: Situation;
  /** Null where the environment lists none. */
  readonly candidates: readonly string[] | null;
  /**
   * The chat that asked for the step, rebuilt, and its reply: what models read. Left out where nobody needs it.
   */
  readonly chat?: {
    readonly messages: readonly ServedMessage[];
    readonly reply: ServedMessage;
    /** Schemas of the tools that the model was offered, as JSON; left out where it was offered none. */
    readonly tools?: string;
    /** Token ids of the messages as the server that sampled the step returned them; left out where it returned none. */
    readonly promptIds?: readonly number[];
    /** The pictures that the messages show, in order; left out where they are text alone. */
    readonly pictures?: readonly RowPicture[];
  };
  readonly tokens: { readonly ids: readonly number[]; readonly logProbs: readonly number[] | null } | null;
  readonly temperature: number;
  /** All reward components of the step together; rewards of the whole rollout stand on its last step. */
  readonly reward: number;
  /** What `reward` is made of, in its order; left out where nobody needs it. */
  readonly parts?: readonly RewardPart[];
  /** The score of the greedy rollout of the same task by the same version (ReMax); left out where there is none. */
  readonly greedyScore?: number;
  /** Hash of the hidden state before the action; null where it cannot be seen. */
  readonly stateHash: string | null;
  readonly action: string;
  readonly observation: string;
  /**
   * How the rollout ended here, if it did: after a limit something would have followed, after the environment's own end nothing.
   */
  readonly end: 'none' | 'terminated' | 'truncated';
  /** What could be done in the state after a rollout's last step; left out where none is recorded. */
  readonly after?: readonly string[];
  /** The oldest version that sampled a part of it. */
  readonly version: number;
}

/** Names the trajectory of a row: the rollout, which is one of its tree. */
export function trajectoryOf({ groupId, rolloutId }: Pick<StepRow, 'groupId' | 'rolloutId'>): string {
  return `${groupId} ${rolloutId}`;
}

/** A picture of a prompt, drawn from the record when somebody asks for it. */
export interface RowPicture {
  /** SHA-256 of size and pixels. */
  readonly imageId: string;
  /** @throws PictureUndrawable. */
  readonly png: () => Promise<Uint8Array>;
}

/** A reward of a component on a step itself, or of its whole rollout; it counts `weight` times its value. */
export interface RewardPart {
  readonly component: string;
  readonly value: number;
  readonly weight: number;
  readonly of: 'step' | 'rollout';
}

/** Puts rows into the one order in which sums are taken, so that the order in which groups closed moves no bit. */
export function sortRows(rows: readonly StepRow[]): readonly StepRow[] {
  const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return [...rows].sort((a, b) => byText(a.groupId, b.groupId) || byText(a.rolloutId, b.rolloutId) || a.step - b.step);
}

/** Returns a picture that a step was shown. */
export type PictureOf = (shown: { readonly treeId: string; readonly stepId: string; readonly imageId: string }) => RowPicture;

/**
 * Lays a batch out as our backends read it: a row per step that its rollouts took, in the order of the manifest. Steps before the
 * node where a rollout began are its history and no rows; of recorded tokens only those that a policy sampled are taken.
 * @param prompts what steps were asked with, by `keyInTree`, for models that read chats; steps without one are read as the chat of
 * the environment, where their run asked by it.
 * @param pictureOf for models that read pictures too; without it a prompt that shows one is no chat.
 */
export function stepRowsOf(
  { trajectories }: BatchRows,
  prompts: ReadonlyMap<string, StoredPrompt> | null = null,
  pictureOf: PictureOf | null = null,
): readonly StepRow[] {
  return trajectories.flatMap((trajectory) => rowsOf(trajectory, prompts, pictureOf));
}

function rowsOf(
  trajectory: BatchTrajectory,
  prompts: ReadonlyMap<string, StoredPrompt> | null,
  pictureOf: PictureOf | null,
): readonly StepRow[] {
  const { goal, firstObservation, steps, from, outcome } = trajectory;
  const own = ownSteps(trajectory);
  const history = steps.map(({ action, observation }) => ({ action, observation }));
  return own.map((step, i): StepRow => {
    const chat = prompts
      ? chatOf(trajectory, step, from + i, prompts.get(keyInTree(trajectory.treeId, step.stepId)), pictureOf)
      : undefined;
    const isLast = i === own.length - 1;
    // field by field: objects put together of others were most of what a batch cost to lay out
    const row: Laid = {
      groupId: trajectory.treeId,
      rolloutId: trajectory.rolloutId,
      step: i,
      situation: { goal, firstObservation, history: history.slice(0, from + i) },
      candidates: step.candidates,
      tokens: sampledTokens(step.tokens),
      temperature: step.temperature ?? trajectory.temperature ?? 1,
      reward: totalOf(step.rewards) + (isLast ? totalOf(trajectory.rewards) : 0),
      parts: isLast
        ? [...step.rewards.map(partOf('step')), ...trajectory.rewards.map(partOf('rollout'))]
        : step.rewards.map(partOf('step')),
      stateHash: step.anchor,
      action: step.action,
      observation: step.observation,
      end: !isLast ? 'none' : outcome === 'terminated' ? 'terminated' : 'truncated',
      version: oldestOf(step.spans),
    };
    if (isLast && trajectory.after !== null) row.after = trajectory.after;
    if (chat) row.chat = chat;
    if (trajectory.greedyScore !== undefined) row.greedyScore = trajectory.greedyScore;
    return row;
  });
}

type Laid = { -readonly [Name in keyof StepRow]: StepRow[Name] };

/** The oldest version of spans; Infinity where there are none. */
function oldestOf(spans: BatchStep['spans']): number {
  let oldest = Number.POSITIVE_INFINITY;
  for (const { version } of spans) oldest = Math.min(oldest, version);
  return oldest;
}

function partOf(of: RewardPart['of']): (reward: BatchReward) => RewardPart {
  return ({ component, value, weight }) => ({ component, value, weight, of });
}

/**
 * Returns the chat that asked for the step at a place of the path. Without a recorded prompt it is composed again; none where the
 * run words its prompts otherwise, turns were left out to fit, it was offered tools or a reply before is more than text: the planner
 * refuses these (`findLostPrompt`). None for a prompt with an image of which no token ids are on
 * record: how many tokens an image takes is known to the server's processor alone.
 */
function chatOf(
  trajectory: BatchTrajectory,
  { message, response, trimmed }: BatchStep,
  place: number,
  prompt: StoredPrompt | undefined,
  pictureOf: PictureOf | null,
): StepRow['chat'] {
  const reply = servedMessage(message ?? textMessage('assistant', response));
  if (prompt) {
    const { treeId, stepId, tokenIds, tools } = prompt;
    const images = prompt.messages.flatMap(({ parts }) => parts.flatMap((part) => (part.kind === 'image' ? [part.imageId] : [])));
    if (images.length > 0 && !(tokenIds && pictureOf)) return undefined;
    const pictures = pictureOf ? images.map((imageId) => pictureOf({ treeId, stepId, imageId })) : [];
    return {
      messages: prompt.messages.map(servedMessage),
      reply,
      ...(tools ? { tools: chatTools(tools) } : {}),
      ...(tokenIds ? { promptIds: Array.from(tokenIds) } : {}),
      ...(pictures.length > 0 ? { pictures } : {}),
    };
  }
  if (trajectory.prompting !== 'plain-chat' || trimmed) return undefined;
  const { instruction, firstObservation, steps } = trajectory;
  const history = steps.slice(0, place);
  if (message?.parts.some(({ kind }) => kind === 'tool-call') || history.some((before) => before.message !== null))
    return undefined;
  return { messages: promptMessages({ instruction, firstObservation, history }), reply };
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
