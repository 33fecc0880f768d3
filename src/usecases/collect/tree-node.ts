import type { RememberedPrompt } from '../../append/shown-prompt.ts';
import type { Picture } from '../../images/picture.ts';

/** A node of a growing tree: what the prompt of a step below it is made of. */
export interface TreeNode {
  readonly stepId: string;
  readonly parentStepId: string | null;
  readonly depth: number;
  readonly response: string;
  readonly action: string;
  readonly observation: string;
  /** Pictures of the observation, in order. */
  readonly pictures?: readonly Picture[];
  readonly admissibleActions: readonly string[] | null;
  /** Null where the environment does not show its state. */
  readonly stateHash: string | null;
  /** Nothing can follow: the environment ended, or a limit was reached. */
  readonly ended: boolean;
  /** Version of the policy that answered with its action; 0 at the root. */
  readonly policyVersion: number;
  /** The prompt that led to it; null where none was shown, or none is recorded. */
  readonly prompt: RememberedPrompt | null;
}
