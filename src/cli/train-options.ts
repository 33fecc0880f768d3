import { type Command, Option } from 'commander';
import { ESTIMATORS } from '../domain/training/advantages/estimators.ts';
import { POLICY_LOSSES } from '../domain/training/losses/policy-losses.ts';
import { ENVIRONMENT_FORMS } from '../environments/open-environment.ts';
import { LINEAR_SETTINGS } from '../training/backends/training-settings.ts';
import { SERVER_FORMS } from '../training/servers/open-model-server.ts';
import { PRESET_NAMES, type PresetName } from '../usecases/train/declaration/declaration-fields.ts';
import { rewardWeights } from './reward-weights.ts';
import { numberBetween, wholeNumber } from './with-platform.ts';
import { plotFile } from './write-plot.ts';

export interface TrainFlags {
  readonly policy?: string;
  readonly backend: 'linear' | 'torch' | 'external';
  readonly model?: string;
  readonly precision?: 'float32' | 'bfloat16';
  readonly maxTokens?: number;
  readonly server?: string;
  readonly by?: string;
  readonly weights?: string;
  readonly preset?: PresetName;
  readonly declaration?: string;
  readonly set: readonly string[];
  readonly estimator?: string;
  readonly loss?: string;
  readonly prompt?: 'text' | 'image';
  readonly environment: string;
  readonly updates: number;
  readonly tasks?: number;
  readonly split: string;
  readonly groups: number;
  readonly group: number;
  readonly keepZeroVariance?: true;
  readonly rewards?: Readonly<Record<string, number>>;
  readonly staleness: number;
  readonly temperature: number;
  readonly maxSteps: number;
  readonly learningRate?: number;
  readonly epochs?: number;
  readonly entropy?: number;
  readonly seed: number;
  readonly testSplit: string;
  readonly testTasks: number;
  readonly testOnTrained?: true;
  readonly rollouts: number;
  readonly every?: number;
  readonly resume?: true;
  readonly plot?: string;
}

/** The estimators by the names of the papers, under which the linear policy has options of its own, and by those of their registry. */
const ESTIMATOR_NAMES = [...new Set([...Object.keys(LINEAR_SETTINGS), ...Object.keys(ESTIMATORS)])];

/** The options of `espalier train`. */
export function addTrainOptions(command: Command): void {
  command
    .option('--policy <name>', 'what its versions are filed under; left out, a name made of the options')
    .addOption(
      new Option('--backend <name>', 'what trains: the linear policy, a language model by torch, or a trainer of your own')
        .choices(['linear', 'torch', 'external'])
        .default('linear'),
    )
    .option('--model <folder>', 'torch: a language model as transformers writes it, with its tokenizer')
    .addOption(
      new Option('--precision <name>', 'torch: how the passes are computed; float32 when left out').choices([
        'float32',
        'bfloat16',
      ]),
    )
    .option('--max-tokens <n>', 'torch: longest reply; what the context holds when left out', wholeNumber('--max-tokens', 1))
    .option('--server <name>', `torch: the model server that its versions act by: ${SERVER_FORMS}; own when left out`)
    .option('--by <policy>', 'external: the policy that acts by the newest weights of your trainer, as openai:MODEL@URL')
    .option('--weights <sha256>', 'external: SHA-256 of the first weights; that of --by when left out')
    .addOption(
      new Option('--preset <name>', 'a published recipe; what is given besides has its place').choices([...PRESET_NAMES]),
    )
    .option('--declaration <file>', 'how the policy is trained, as JSON: `espalier schemas declaration` shows every field')
    .option(
      '--set <field=value>',
      'any field of the declaration, as kl.coefficient=0.01 or torch.lora.rank=16; may be given again',
      (text: string, all: readonly string[]) => [...all, text],
      [],
    )
    .addOption(new Option('--estimator <name>', 'how advantages are computed; grpo when left out').choices(ESTIMATOR_NAMES))
    .addOption(new Option('--loss <name>', 'policy loss; dual_clip when left out').choices(Object.keys(POLICY_LOSSES)))
    .addOption(
      new Option(
        '--prompt <mode>',
        "word the prompts by a template, the past as text or as an image; else the environment's own chat",
      ).choices(['text', 'image']),
    )
    .option('--environment <name>', ENVIRONMENT_FORMS, 'textcraft')
    .option('--updates <n>', 'batches to train: the last version', wholeNumber('--updates', 1, 100_000), 12)
    .option('--tasks <n>', 'tasks to train on, spread over the depths; all of the split when left out', wholeNumber('--tasks', 1))
    .option('--split <name>', 'tasks to train on; "all" for every one', 'train')
    .option('--groups <n>', 'groups of a batch', wholeNumber('--groups', 1, 5_000), 8)
    .option('--group <n>', 'rollouts of a group', wholeNumber('--group', 1, 5_000), 8)
    .option(
      '--rewards <list>',
      'reward components that are trained on with their weights, as environment=1,answer-f1=0.1; the environment alone when left out',
      rewardWeights,
    )
    .option('--keep-zero-variance', 'train on groups whose rollouts all earned the same, too')
    .option(
      '--staleness <n>',
      'versions that collected steps may lie behind; 0 is strictly on-policy',
      wholeNumber('--staleness', 0, 1_000),
      0,
    )
    .option('--temperature <t>', 'of the policy', numberBetween('--temperature', 0.01, 100), 1)
    .option('--max-steps <n>', 'steps of a rollout', wholeNumber('--max-steps', 1, 10_000), 20)
    .option(
      '--learning-rate <r>',
      `of Adam; left out, ${LINEAR_SETTINGS.grpo.learningRate} for the linear policy and 1e-6 for a language model`,
      numberBetween('--learning-rate', 1e-9, 100),
    )
    .option(
      '--epochs <n>',
      `over each batch; left out, ${LINEAR_SETTINGS.grpo.epochs} for the linear policy and 1 for a language model`,
      wholeNumber('--epochs', 1, 100),
    )
    .option('--entropy <c>', 'bonus for staying broad; none when left out', numberBetween('--entropy', 0, 100))
    .option('--seed <n>', 'of tasks, rollouts and mini-batches', wholeNumber('--seed', 0), 1)
    .option('--test-split <name>', 'tasks to measure on; "all" for every one', 'test')
    .option('--test-tasks <n>', 'how many; 0 measures nothing', wholeNumber('--test-tasks', 0), 25)
    .option('--test-on-trained', 'measure on tasks that are trained on too, which is refused otherwise')
    .option('--rollouts <n>', 'episodes per test task', wholeNumber('--rollouts', 1), 4)
    .option('--every <n>', 'measure each n-th version too, not only the first and the last', wholeNumber('--every', 1))
    .option('--resume', 'continue with a policy that was begun with the same options')
    .option('--plot <file>', 'write success by version as a drawing, an .svg or a .png', plotFile);
}
