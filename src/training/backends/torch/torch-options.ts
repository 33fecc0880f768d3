import type { AggregationMode } from '../../../domain/training/losses/aggregation.ts';

/** Tokens of a micro-batch where nothing is said. */
export const TOKEN_BUDGET = 16_384;

/** A tiny byte-level transformer from random weights, or a folder of a causal language model as transformers writes it. */
export type ModelSpec =
  | { readonly kind: 'tiny'; readonly layers: number; readonly width: number; readonly heads: number; readonly context: number }
  | { readonly kind: 'folder'; readonly path: string; readonly precision?: 'float32' | 'bfloat16' };

/** LoRA: small matrices next to frozen weights are trained, and a checkpoint is the adapter alone. */
export interface LoraOptions {
  readonly rank: number;
  /** The product is scaled by alpha / rank; 2 × rank when left out. */
  readonly alpha?: number | undefined;
  /** Names of linear layers, such as `q_proj`; all of them when left out. */
  readonly targets?: 'all-linear' | readonly string[] | undefined;
}

export interface TorchOptions {
  /** The interpreter, with torch installed (and transformers for a folder). */
  readonly python: string;
  readonly model: ModelSpec;
  /** Where checkpoints are kept, each a folder that a model server loads. */
  readonly folder: string;
  /** Trains a critic on the policy's features, for estimators that need values. */
  readonly critic?: boolean;
  /** CUDA where there is one, by default. */
  readonly device?: 'cpu' | 'cuda';
  /** Of torch's own pool: sums depend on it, so it is fixed for equal bytes. */
  readonly threads?: number;
  readonly weightDecay?: number;
  readonly lora?: LoraOptions | undefined;
  /** Keeps only the input of each layer for the backward pass, which computes the rest again. */
  readonly checkpointing?: boolean | undefined;
  /**
   * Processes that share weights, gradients and moments (FSDP2 by torchrun), one for each device. Changes nothing but rounding.
   */
  readonly processes?: number | undefined;
  /**
   * What the ratio compares with: log-probs of the weights at the start of the update (verl), or those that the engine recorded.
   */
  readonly oldLogProbs?: 'recomputed' | 'recorded';
  readonly aggregation?: AggregationMode;
  /**
   * `merged` (the default): steps whose prompts continue are computed as one sequence where the loss does not count rows. `step`:
   * each step is computed by itself.
   */
  readonly rows?: 'merged' | 'step' | undefined;
  /** Tokens of a micro-batch, prompts included: what fits into the memory of the device. Changes nothing but rounding. */
  readonly tokenBudget?: number;
  /** How long one update may take. */
  readonly updateMs?: number;
}
