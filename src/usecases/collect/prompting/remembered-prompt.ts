import type { AskedMessage } from '../../../domain/prompts/asked-prompt.ts';

/** What is remembered of the prompt of a step, for the prompts of the steps below it. */
export interface RememberedPrompt {
  readonly messages: readonly AskedMessage[];
  /** Token ids of the prompt, then of the reply; null where the server returned none of either. */
  readonly tokenIds: Int32Array | null;
  /** SHA-256 of the blocks that it and the prompts before it put on record: whoever keeps the path keeps them. */
  readonly blocks: ReadonlySet<string>;
}
