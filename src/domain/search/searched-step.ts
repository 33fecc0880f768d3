import type { AskedMessage } from '../prompts/asked-prompt.ts';
import type { TreeStep } from '../tree/grow-tree.ts';

/** A step of a searched tree: what was said and seen there, and what the search counted. The root's texts are empty. */
export interface SearchedStep extends TreeStep {
  readonly response: string;
  /** The reply as a message, where it is more than the text `response`. */
  readonly message?: AskedMessage;
  readonly action: string;
  readonly observation: string;
  /** What the environment's score was, normalised; 0 after a disaster. */
  readonly score: number;
  readonly disaster: boolean;
  /** Nothing was left to explore from here. A terminal step without children is the end of a trajectory. */
  readonly terminal: boolean;
  readonly visits: number;
  readonly valueSum: number;
}
