import type { WeightRule } from '../../../domain/dataset/turn-weights.ts';
import type { ContextRule } from './without-context.ts';

/** What a file of trajectories looks like. Everything that changes its bytes is here, and so in its manifest. */
export type ExportFormat =
  /** One chat per line, for fine-tuning: messages with a weight per assistant turn, and where it came from unless left out. */
  | {
      readonly kind: 'openai';
      readonly weights: WeightRule;
      readonly metadata: 'include' | 'omit';
      /** What becomes of replies that are context; left out, they stay with `weight` 0. */
      readonly context?: Exclude<ContextRule, 'keep'>;
    }
  /** One conversation of xtuner per line, `output_with_loss` says of each reply whether it is trained on. */
  | { readonly kind: 'xtuner'; readonly weights: WeightRule; readonly metadata: 'include' | 'omit' }
  /** Prompt and completion for TRL, one line per reply that is trained on: its loss flags have no other form there. */
  | {
      readonly kind: 'trl';
      readonly weights: WeightRule;
      readonly metadata: 'include' | 'omit';
      /** SHA-256 of the tokenizer of a file of token ids, a line per trajectory; left out, it is one of texts. */
      readonly tokenizer?: string;
      /** Of a file of token ids; left out, it has a line of JSON for each row. */
      readonly container?: 'parquet';
    }
  /** One scored completion per line for TRL: prompt, completion, reward, and the group that it is compared in. */
  | { readonly kind: 'trl-grpo'; readonly metadata: 'include' | 'omit' }
  /** One AgentTraj item per line: `item_id`, `conversations` with loss flags, `reward`. */
  | {
      readonly kind: 'sharegpt';
      readonly weights: WeightRule;
      /** What becomes of replies that are context; left out, they stay with `loss: false`, as AgentGym reads them. */
      readonly context?: Exclude<ContextRule, 'keep'>;
    }
  /** One trajectory per line in the Agent Trajectory Interchange Format. */
  | { readonly kind: 'atif'; readonly weights: WeightRule }
  /** One row per trajectory, its steps nested. */
  | { readonly kind: 'parquet'; readonly weights: WeightRule }
  /**
   * Parquet with verl's columns: a row per trajectory, which needs every token id, or per step. `tokenizer`: SHA-256 of that
   * which texts without ids are tokenised with; left out, there is none.
   */
  | { readonly kind: 'verl'; readonly layout: 'trajectory' | 'step'; readonly tokenizer?: string }
  /** Parquet with a row per task and ground truth, as verl samples from. `truths`: SHA-256 of the file of ground truths; null takes the goals. */
  | { readonly kind: 'verl-prompts'; readonly truths: string | null }
  /**
   * The events themselves: what `import` takes back without loss. `trajectories` keeps of each tree what the chosen rollouts
   * touch; `trees` keeps every event of each tree that holds a chosen rollout.
   */
  | { readonly kind: 'jsonl'; readonly scope: 'trajectories' | 'trees' };

/** Where a format's bytes go; `AtomicFile` is one. */
export interface ByteSink {
  write(data: string | Uint8Array): Promise<void>;
  /** Of a sink of several files: whether the open one has its size. Who writes lines need not ask. */
  readonly isFull?: boolean;
  /** Ends the open file; what is written next begins another. */
  next?(): Promise<void>;
}
