import { describe, expect, test } from '@jest/globals';
import { Command } from 'commander';
import { torchPlan } from '../training/backends/torch/torch-plan.ts';
import { declarationOf } from './declared-training.ts';
import { addTrainOptions, type TrainFlags } from './train-options.ts';

/** Reads options as `espalier train` does. */
async function declared(...options: readonly string[]) {
  const command = new Command().exitOverride();
  addTrainOptions(command);
  command.parse(['--environment', 'textcraft', ...options], { from: 'user' });
  const given = Object.entries(command.opts<TrainFlags>()).filter(([name]) => command.getOptionValueSource(name) === 'cli');
  return declarationOf(command.opts<TrainFlags>(), Object.fromEntries(given));
}

describe('the options of the torch engine', () => {
  test('processes, checkpointing and LoRA are declared as they are given', async () => {
    const { torch } = await declared(
      ...['--backend', 'torch', '--model', 'folder', '--processes', '2', '--checkpointing'],
      ...['--lora-rank', '8', '--lora-alpha', '16', '--lora-targets', 'q_proj, v_proj'],
    );
    expect(torch).toMatchObject({
      processes: 2,
      checkpointing: true,
      lora: { rank: 8, alpha: 16, targets: ['q_proj', 'v_proj'] },
    });
    expect(torchPlan.safeParse(torch).success).toBe(true);
  });

  test('what is left out is not declared', async () => {
    const { torch } = await declared('--backend', 'torch', '--model', 'folder');
    expect(Object.keys(torch ?? {})).not.toEqual(expect.arrayContaining(['lora']));
    expect(torch).not.toHaveProperty('processes');
  });

  test.each([
    [['--backend', 'external', '--by', 'random', '--processes', '2'], /--processes.*--backend torch/],
    [['--backend', 'torch', '--model', 'folder', '--lora-alpha', '16'], /lora/],
  ])('options that do not go together are refused by name: %j', async (options, reason) => {
    await expect(declared(...options)).rejects.toThrow(reason);
  });
});
