import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { Command } from 'commander';
import { addTrainOptions, type TrainFlags, trainPlanOf } from './train-plan-of.ts';

async function planOf(...given: string[]) {
  const command = new Command().exitOverride();
  addTrainOptions(command);
  return trainPlanOf(command, command.parse(given, { from: 'user' }).opts<TrainFlags>());
}

const TORCH = ['--backend', 'torch', '--model', 'x'];

/** What the help and the guides of training set, with the other options that each goes with. */
const EXAMPLES: readonly (readonly [readonly string[], readonly string[], object])[] = [
  [[], ['kl.coefficient=0.01'], { kl: { kind: 'k3', coefficient: 0.01 } }],
  [TORCH, ['torch.lora.rank=16'], { torch: { lora: { rank: 16 } } }],
  [TORCH, ['torch.processes=8', 'torch.checkpointing=true'], { torch: { processes: 8, checkpointing: true } }],
  [
    TORCH,
    ['torch.lora={"rank":16,"alpha":32,"targets":["q_proj","k_proj","v_proj","o_proj"]}'],
    { torch: { lora: { rank: 16, alpha: 32, targets: ['q_proj', 'k_proj', 'v_proj', 'o_proj'] } } },
  ],
  [['--estimator', 'gae'], ['estimator.options.gamma=0.9'], { estimator: { name: 'gae', options: { gamma: 0.9 } } }],
  [[], ['kl={"in":"reward","kind":"k3","coefficient":0.001}'], { kl: { in: 'reward', kind: 'k3', coefficient: 0.001 } }],
  [['--preset', 'agent-r1-ppo'], ['critic.kind=linear'], { critic: { kind: 'linear', clip: 0.5 } }],
  [['--prompt', 'text'], ['prompt.template=alfworld'], { prompt: { mode: 'text', template: 'alfworld' } }],
  [[], ['rules.rewards.answer-f1=0.1'], { rules: { rewards: { environment: 1, 'answer-f1': 0.1 } } }],
  [['--preset', 'agentocr-grpo'], ['prompt.historyLength=20'], { prompt: { mode: 'image', historyLength: 20 } }],
];

function setting(...changes: readonly string[]): readonly string[] {
  return changes.flatMap((change) => ['--set', change]);
}

describe('a field that is set', () => {
  test.each(EXAMPLES)('%j with --set %j is declared as the documentation says', async (given, changes, declared) => {
    expect((await planOf(...given, ...setting(...changes))).declaration).toMatchObject(declared);
  });

  test('every example of the guides and of the help is one of those', async () => {
    const command = new Command();
    addTrainOptions(command);
    const help = command.options.find(({ long }) => long === '--set')?.description ?? '';
    const guides = await Promise.all(['train.md', 'train-on-gpus.md', 'history-as-images.md'].map(readGuide));
    const written = [
      ...guides.flatMap((guide) => [...guide.matchAll(/--set (?:'([^']+)'|([\w.=-]+=[\w.-]+))/g)].map(([, a, b]) => a ?? b)),
      ...[...help.matchAll(/[\w.]+=[\w.]+/g)].map(([change]) => change),
    ].filter((change) => !/=(NAME|VALUE)$/.test(change ?? ''));
    expect(written.length).toBeGreaterThan(9);
    expect(EXAMPLES.flatMap(([, changes]) => changes)).toEqual(expect.arrayContaining(written));
  });

  test.each([
    ['agent-r1-grpo', ['kl.coefficient=0.01'], { kl: { in: 'loss', kind: 'k3', coefficient: 0.01, logRatios: 'unclamped' } }],
    ['agent-r1-grpo', ['kl={"kind":"k1","coefficient":1}'], { kl: { kind: 'k1', coefficient: 1 } }],
    ['agentocr-grpo', ['kl.coefficient=0.01'], { kl: { kind: 'k3', coefficient: 0.01 } }],
    ['agent-r1-grpo', ['estimator.options.singleton=zero'], { estimator: expect.objectContaining({ name: 'grpo' }) }],
    ['agent-r1-gigpo', ['estimator.name=rloo'], { estimator: { name: 'rloo', options: {} } }],
    ['agentocr-grpo', ['prompt.mode=text'], { prompt: { mode: 'text' } }],
    [
      'agentocr-grpo',
      ['rules.rewards.answer-f1=2'],
      { rules: expect.objectContaining({ rewards: { environment: 10, compression: 1, 'invalid-action': 1, 'answer-f1': 2 } }) },
    ],
  ])('over %s, %j changes what it names and keeps the rest', async (preset, changes, declared) => {
    const { declaration } = await planOf('--preset', preset, ...setting(...changes));
    for (const [field, value] of Object.entries(declared))
      expect(declaration?.[field as keyof typeof declaration]).toEqual(value);
  });

  test('the penalty, the drawing and the compression of a preset are changed one by one', async () => {
    const changes = ['prompt.invalidPenalty=0.5', 'prompt.profile=crisp', 'prompt.compression.every=8'];
    const { declaration } = await planOf('--preset', 'agentocr-grpo', ...setting(...changes));
    expect(declaration?.prompt).toEqual({
      ...{ mode: 'image', historyLength: 50, invalidPenalty: 0.5, profile: 'crisp', vision: 'qwen2.5-vl' },
      ...{ emptyHistory: 'blank-image', compression: { reward: 'factor', lambda: 0.01, mu: 0, every: 8 } },
    });
  });

  test('the order of changes of different fields makes no difference', async () => {
    const changes = ['estimator.options.gamma=0.9', 'estimator.name=gae'];
    const plan = await planOf(...setting(...changes));
    expect(plan.declaration?.estimator).toEqual({ name: 'gae', options: { gamma: 0.9 } });
    expect(await planOf(...setting(...changes.reverse()))).toEqual(plan);
  });

  test('a backend, a preset and a seed count in the whole plan', async () => {
    const torch = await planOf('--model', 'x', ...setting('backend=torch', 'seed=7', 'preset=agent-r1-grpo'));
    expect(torch).toMatchObject({
      policyId: expect.stringMatching(/^torch-grpo-/),
      seed: 7,
      groupSize: 5,
      settings: { learningRate: 1e-6 },
      declaration: { backend: 'torch', seed: 7, torch: { model: { kind: 'folder' } } },
    });
    const external = await planOf('--by', 'random', ...setting('backend=external'));
    expect(external.declaration?.weights).toMatch(/^[0-9a-f]{64}$/);
    await expect(planOf('--model', 'x', ...setting('backend=linear'))).rejects.toThrow('--model goes with --backend torch');
  });

  test('the seed of a declaration file counts in the whole plan, and an option that is typed takes its place', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'declaration-'));
    const file = join(folder, 'declaration.json');
    try {
      await writeFile(file, '{"backend":"linear","seed":5,"prompt":{"mode":"image","profile":"crisp"}}');
      const plan = await planOf('--declaration', file, ...setting('prompt.mode=text'));
      expect(plan).toMatchObject({ seed: 5, declaration: { seed: 5 } });
      expect(plan.declaration?.prompt).toEqual({ mode: 'text' });
      expect(await planOf('--declaration', file, '--seed', '6')).toMatchObject({ seed: 6, declaration: { seed: 6 } });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('a training that is continued by the same options is the same plan', async () => {
    const given = ['--preset', 'agent-r1-grpo', ...setting('kl.coefficient=0.01', 'seed=7', 'rules.rewards.answer-f1=0.1')];
    expect(await planOf(...given, '--resume')).toEqual(await planOf(...given));
  });
});

async function readGuide(name: string): Promise<string> {
  return readFile(new URL(`../../docs/guides/${name}`, import.meta.url), 'utf8');
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
    [['--set', 'kl.target=0.2'], /^kl: Unrecognized key: "target"/],
    [['--set', 'estimator.options.gamma=0.9'], /estimator.options.gamma: grpo has no option gamma.*choose gae as estimator/],
    [['--set', 'prompt.historyLength=20'], /^prompt.mode: .*'chat' . 'text' . 'image'/],
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
