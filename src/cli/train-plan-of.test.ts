import { describe, expect, test } from '@jest/globals';
import { Command } from 'commander';
import { addTrainOptions, type TrainFlags, trainPlanOf } from './train-plan-of.ts';

async function planOf(...given: string[]) {
  const command = new Command().exitOverride();
  addTrainOptions(command);
  return trainPlanOf(command, command.parse(given, { from: 'user' }).opts<TrainFlags>());
}

describe('the plan of a training from the command line', () => {
  test('the linear policy has the settings that its worlds were measured with', async () => {
    const plan = await planOf('--estimator', 'ppo');
    expect(plan).toMatchObject({ mode: 'strict', groupsPerBatch: 8, groupSize: 8, settings: { learningRate: 0.1, epochs: 2 } });
    expect(plan.settings.objective.estimator).toEqual({ name: 'gae', options: { variant: 'step', gamma: 0.8, lambda: 0.95 } });
    expect(Object.keys(plan)).toEqual(expect.not.arrayContaining(['by', 'server']));
  });

  test('any field of the declaration is set by its path, over what the other options say', async () => {
    const plan = await planOf(
      ...['--loss', 'gspo', '--set', 'loss.options.clipLow=0.01', '--set', 'aggregation=seq-mean-token-mean'],
      ...['--set', 'kl={"in":"reward","kind":"k1","coefficient":0.1}', '--set', 'kl.coefficient=0.01'],
      ...['--set', 'correction.rejection.rules=token_k1', '--set', 'correction.rejection.bounds=0.5_2'],
    );
    expect(plan.settings).toMatchObject({
      objective: { loss: { name: 'gspo', options: { clipLow: 0.01 } } },
      aggregation: 'seq-mean-token-mean',
      kl: { in: 'reward', kind: 'k1', coefficient: 0.01 },
      correction: { rejection: { rules: 'token_k1', bounds: '0.5_2' } },
    });
  });

  test('what is declared of the torch engine beside its model is set by its path', async () => {
    const { declaration } = await planOf(
      ...['--backend', 'torch', '--model', 'x', '--max-tokens', '5'],
      ...['--set', 'torch.processes=2', '--set', 'torch.lora={"rank":8,"targets":["q_proj"]}'],
    );
    expect(declaration?.torch).toMatchObject({ maxTokens: 5, processes: 2, lora: { rank: 8, targets: ['q_proj'] } });
  });

  test.each([
    [['--model', 'x'], '--model goes with --backend torch'],
    [['--by', 'random'], '--by goes with --backend external'],
    [['--backend', 'external'], /needs --by POLICY/],
    [['--backend', 'torch'], /torch: the backend torch has no model/],
    [['--set', 'kl'], /--set takes FIELD=VALUE/],
    [['--set', 'torch.processes=2'], /^torch/],
    [
      ['--set', 'estimator.name=grpo', '--set', 'estimator.options.gamma=0.9'],
      /estimator.options.gamma: grpo has no option gamma/,
    ],
    [['--set', 'loss={"name":"dual_clip","options":{"clipLow":7}}'], /loss.options: .*clipLow is a number from 0 to 1/],
    [['--set', 'kl.target=0.2'], /^kl/],
  ])('%j is refused by the name of the option or of the field', async (given, message) => {
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
