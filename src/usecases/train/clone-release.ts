import type { EnvironmentKind } from '../../environments/environment.ts';
import type { LinearWeights } from '../../policies/linear/weights.ts';
import { type ClonedAction, type CloneOptions, cloneBehaviour } from './clone-behaviour.ts';
import { readReleasedChats } from './released-chats.ts';
import { type SpelledAction, spellActions } from './spell-actions.ts';

export interface CloneRelease extends CloneOptions {
  readonly kind: EnvironmentKind;
  /** Where the training goes on from. */
  readonly weights: LinearWeights;
  /** The released file, in the format `openai`, and its SHA-256. */
  readonly path: string;
  readonly sha256: string;
  /** What its tasks are reset with. */
  readonly taskSeed: number;
}

/**
 * Trains the linear policy on a released file, and on nothing else, by behaviour cloning. A file of which no action can be cloned
 * leaves the weights as they are. @throws ReleaseUnreadable.
 */
export async function cloneRelease({ kind, weights, path, sha256, taskSeed, ...options }: CloneRelease): Promise<{
  readonly weights: LinearWeights;
  readonly actions: number;
  readonly losses: readonly number[];
}> {
  const good: SpelledAction[] = [];
  const revised: SpelledAction[] = [];
  for (const chat of await readReleasedChats(path, sha256))
    (chat.kind === 'good' ? good : revised).push(...(await spellActions(kind, chat, taskSeed)));
  const actions = weigh(good, revised);
  if (actions.length === 0) return { weights, actions: 0, losses: [] };
  return { ...cloneBehaviour(weights, actions, options), actions: actions.length };
}

/**
 * Weighs good and revision actions as Eq. 6 of the paper does, whose two expectations count alike however many rows either has: a
 * good action counts 1, a revision action so much that both sets amount to the same.
 */
function weigh(good: readonly SpelledAction[], revised: readonly SpelledAction[]): readonly ClonedAction[] {
  const share = good.length === 0 ? 1 : good.length / revised.length;
  return [...good.map((action) => ({ ...action, weight: 1 })), ...revised.map((action) => ({ ...action, weight: share }))];
}
