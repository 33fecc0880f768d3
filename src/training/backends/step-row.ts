import type { ServedMessage } from '../../domain/prompts/served-message.ts';
import type { Situation } from '../../policies/linear/situation.ts';

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
