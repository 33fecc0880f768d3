import { describe, expect, test } from '@jest/globals';
import { Command } from 'commander';
import { addTrainOptions, type TrainFlags } from './train-options.ts';
import { trainPlanOf } from './train-plan-of.ts';

async function planOf(...given: string[]) {
  const command = new Command().exitOverride();
  addTrainOptions(command);
  return trainPlanOf(command, command.parse(given, { from: 'user' }).opts<TrainFlags>());
}

describe('the plan of a training from the command line', () => {
  test('the linear policy in its own chat has the plan that it always had, without a declaration', async () => {
    const plan = await planOf();
    expect(plan).toMatchObject({ mode: 'strict', groupsPerBatch: 8, groupSize: 8, settings: { learningRate: 0.1, epochs: 2 } });
    expect(Object.keys(plan)).toEqual(expect.not.arrayContaining(['declaration', 'by', 'server']));
  });

  test.each([
    [['--model', 'x'], '--model goes with --backend torch'],
    [['--by', 'random'], '--by goes with --backend external'],
    [['--compression', 'factor'], /go with --prompt text or image/],
    [['--backend', 'external'], /needs --by POLICY/],
    [['--backend', 'torch'], /torch: the backend torch has no model/],
    [['--backend', 'torch', '--model', 'x', '--prompt', 'text', '--compression', 'factor'], /goes with --prompt image/],
  ])('%j is refused by the name of the option', async (given, message) => {
    await expect(planOf(...given)).rejects.toThrow(message);
  });

  test('an option that is given takes the place of what a preset says, and the others stay', async () => {
    const plan = await planOf(
      '--backend',
      'torch',
      '--model',
      'x',
      '--preset',
      'agent-r1-grpo',
      '--group',
      '3',
      '--learning-rate',
      '0.5',
    );
    expect(plan).toMatchObject({
      groupSize: 3,
      groupsPerBatch: 128,
      settings: { learningRate: 0.5, kl: { in: 'loss', kind: 'k3' } },
      declaration: { preset: 'agent-r1-grpo', torch: { model: { kind: 'folder', path: expect.stringMatching(/^\/.*\/x$/) } } },
    });
  });
});
