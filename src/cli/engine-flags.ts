import type { Command } from 'commander';
import { numberBetween, wholeNumber } from './with-platform.ts';

/** How a language model is trained by torch: what is trained of it, and on how many devices. */
export interface EngineFlags {
  readonly processes?: number;
  readonly checkpointing?: true;
  readonly loraRank?: number;
  readonly loraAlpha?: number;
  readonly loraTargets?: readonly string[];
}

export const ENGINE_FLAGS = ['processes', 'checkpointing', 'loraRank', 'loraAlpha', 'loraTargets'] as const;

export function addEngineOptions(command: Command): void {
  command
    .option(
      '--processes <n>',
      'torch: processes that share weights, gradients and moments, one for each device (FSDP2 by torchrun); 1 when left out',
      wholeNumber('--processes', 1),
    )
    .option('--checkpointing', 'torch: keep only the input of each layer for the backward pass, which computes the rest again')
    .option('--lora-rank <n>', 'torch: train a LoRA adapter of this rank in place of all weights', wholeNumber('--lora-rank', 1))
    .option('--lora-alpha <x>', 'torch: scale of the adapter; 2 × rank when left out', numberBetween('--lora-alpha', 1e-6, 1e6))
    .option(
      '--lora-targets <names>',
      'torch: linear layers with an adapter, as q_proj,v_proj; all when left out',
      (text: string) => text.split(',').map((name) => name.trim()),
    );
}

/** The fields of a declaration's `torch` that the flags set. */
export function engineFieldsOf({ processes, checkpointing, loraRank, loraAlpha, loraTargets }: EngineFlags) {
  const lora = Object.entries({ rank: loraRank, alpha: loraAlpha, targets: loraTargets }).filter(
    ([, value]) => value !== undefined,
  );
  return { processes, checkpointing, lora: lora.length === 0 ? undefined : Object.fromEntries(lora) };
}
