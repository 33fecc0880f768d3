import { describe, expect, test } from '@jest/globals';
import { Command } from 'commander';
import { LINEAR_SETTINGS } from '../training/backends/training-settings.ts';
import { addComputationOptions, type ComputationFlags, computationOf } from './computation-flags.ts';

function settingsOf(...given: string[]) {
  const command = addComputationOptions(new Command())
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  return computationOf(command.parse(given, { from: 'user' }).opts<ComputationFlags>());
}

describe('the options of a training that name its computation', () => {
  test.each(Object.entries(LINEAR_SETTINGS))(
    '%s without further options has the settings that it always had',
    (name, settings) => {
      expect(settingsOf('--estimator', name)).toEqual(settings);
    },
  );

  test('every part of a computation is named by an option', () => {
    const settings = settingsOf(
      ...['--estimator', 'ppo', '--estimator-options', 'gamma=0.9', '--loss', 'gspo', '--loss-options', 'clipLow=0.01'],
      ...['--aggregation', 'seq-mean-token-sum-norm', '--loss-scale', '100', '--value-factor', '1'],
      ...['--kl', 'reward', '--kl-kind', 'k1', '--kl-coefficient', '0.01', '--kl-controller', 'adaptive', '--kl-target', '0.2'],
      ...['--correction', 'token-tis', '--correction-threshold', '3', '--correction-normalise'],
      ...['--reject', 'token_k1,seq_max_k2', '--reject-bounds', '0.5_2,0.1'],
      ...['--process-rewards', 'tool', '--process-placement', 'call-end', '--process-normalise'],
    );
    expect(settings).toMatchObject({
      objective: {
        kind: 'policy-gradient',
        estimator: { name: 'gae', options: { variant: 'step', gamma: 0.9, lambda: 0.95 } },
        loss: { name: 'gspo', options: { clipLow: 0.01 } },
      },
      aggregation: 'seq-mean-token-sum-norm',
      lossScale: 100,
      critic: { factor: 1 },
      kl: { kind: 'k1', coefficient: 0.01, in: 'reward', controller: { kind: 'adaptive', target: 0.2, horizon: 10_000 } },
      correction: {
        weights: { level: 'token', threshold: 3, normalise: 'batch' },
        rejection: { rules: 'token_k1,seq_max_k2', bounds: '0.5_2,0.1' },
      },
      processRewards: { components: ['tool'], placement: 'call-end', normalisation: 'batch' },
    });
  });

  test.each([
    [
      ['--estimator', 'grpo', '--estimator-options', 'gamma=0.9'],
      /--estimator-options: estimator grpo: there is no option gamma/,
    ],
    [['--loss-options', 'clipLow=7'], /--loss-options: policy loss dual_clip: clipLow is a number from 0 to 1/],
    [['--kl-target', '0.2'], /--kl-target goes with --kl loss or --kl reward/],
    [['--kl', 'reward', '--kl-horizon', '5'], /--kl-horizon goes with --kl-controller adaptive/],
    [['--kl', 'loss', '--kl-controller', 'adaptive'], /--kl-controller adaptive goes with --kl reward/],
    [['--correction-threshold', '3'], /--correction-threshold goes with --correction token-tis or sequence-tis/],
    [['--reject', 'token_k1'], /--reject and --reject-bounds go together/],
    [['--reject', 'seq_max_k1', '--reject-bounds', '2'], /there is no rejection option "seq_max_k1"/],
    [['--process-normalise'], /--process-normalise goes with --process-rewards/],
    [['--value-factor', '0.7'], /these options do not go together.*\n?.*factor/s],
    [['--estimator-options', 'gamma'], /--estimator-options takes name=value/],
    [['--estimator', 'best'], /Allowed choices are grpo/],
  ])('%j is refused with the option and the remedy', (given, message) => {
    expect(() => settingsOf(...given)).toThrow(message);
  });
});
