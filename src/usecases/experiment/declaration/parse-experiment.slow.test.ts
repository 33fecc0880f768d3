import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { changedExperiment, parseAxis, parseChange, sweptExperiment } from '../change-experiment.ts';
import { experimentSchema } from './experiment.ts';
import { experimentOf, readExperimentFile } from './parse-experiment.ts';

const stages = {
  search: { policy: 'linear', split: 'train', tasks: 4 },
  revise: { of: 'search' },
  release: { of: 'revise' },
  train: { on: 'release' },
  evaluate: { policy: { of: 'train' }, split: 'test' },
};
const base = { name: 'methods', environment: 'textcraft', stages };
const rl = {
  name: 'estimators',
  environment: 'textcraft',
  seeds: [3, 5],
  stages: { train: { estimator: 'grpo' }, evaluate: { policy: { of: 'train' } } },
};

describe('an experiment', () => {
  test('an arm has the stages that the experiment is for and what these use in it', () => {
    const arms = { base: { evaluate: { policy: 'linear' } }, 'good-only': { release: { of: 'search' } }, full: {} };
    const experiment = experimentOf({ ...base, arms });
    expect(experiment.arms.map(({ name, stages: own }) => [name, own.map((stage) => stage.name)])).toEqual([
      ['base', ['evaluate']],
      ['good-only', ['search', 'release', 'train', 'evaluate']],
      ['full', ['search', 'revise', 'release', 'train', 'evaluate']],
    ]);
    expect(experiment).toMatchObject({ seeds: [1], baseline: 'base', concurrency: 8 });
  });

  test('options that are left out are those of the command, and the environment is that of the experiment', () => {
    const { arms } = experimentOf({ ...base, seeds: 2, environment: 'echo' });
    const options = Object.fromEntries((arms[0]?.stages ?? []).map((stage) => [stage.name, stage.options]));
    expect(options.search).toMatchObject({ environment: 'echo', iterations: 8, candidates: 4, maxDepth: 20, temperature: 1 });
    expect(options.revise).toMatchObject({ alpha: 0.5, beta: 0.2, judge: 'planner', verify: true });
    expect(options.train).toMatchObject({ environment: 'echo', from: 'linear', epochs: 3 });
  });

  test.each<[string, object | null, string]>([
    ['a field that there is not', { ...base, stges: {} }, 'stges: is no option here; did you mean stages?'],
    [
      'an option that there is not',
      { ...base, stages: { ...stages, revise: { of: 'search', alpa: 1 } } },
      'stages.revise.alpa: is no option here; did you mean alpha?',
    ],
    [
      'a value out of its bounds',
      { ...base, stages: { ...stages, revise: { of: 'search', alpha: 50 } } },
      'stages.revise.alpha: Too big',
    ],
    [
      'an option of an arm',
      { ...base, arms: { a: { revise: { judge: 'oracle' } } } },
      'arms.a.revise.judge: judge: there is no "oracle"',
    ],
    [
      'a stage that there is not',
      { ...base, stages: { ...stages, revise: { of: 'serch' } } },
      'stages.revise.of: there is no stage serch; there are search, revise, release, train, evaluate; did you mean search?',
    ],
    ['a stage of an arm', { ...base, arms: { a: { revize: {} } } }, 'arms.a.revize: there is no stage revize; there are'],
    [
      'a cycle',
      { ...base, stages: { ...stages, search: { policy: { of: 'train' } } } },
      'stages.search: the stages search → train → release → revise → search use each other in a circle; let',
    ],
    [
      'a use that is impossible',
      { ...base, stages: { ...stages, evaluate: { policy: { of: 'release' } } } },
      'stages.evaluate.policy: release is of the kind release, which evaluate.policy cannot use; name a stage of the kind train',
    ],
    [
      'an option of training by rewards',
      { ...base, arms: { a: { train: { estimator: 'rloo' } } } },
      'arms.a.train.estimator: is no option here; remove it, or name one of stage, on,',
    ],
    ['an estimator that there is not', { ...rl, arms: { a: { train: { estimator: 'grpq' } } } }, 'there is no estimator grpq'],
    [
      'a policy that there is not',
      { ...base, stages: { evaluate: { policy: 'rndom' } } },
      'stages.evaluate.policy: policy: kind "rndom" is unknown',
    ],
    [
      'a policy that changes meanwhile',
      { ...base, stages: { evaluate: { policy: 'live:mine' } } },
      'name one: live:mine@VERSION',
    ],
    [
      'an environment that there is not',
      { ...base, environment: 'textkraft' },
      'stages.search.environment: there is no environment "textkraft"',
    ],
    [
      'no environment',
      { name: 'x', stages: { evaluate: { policy: 'planner' } } },
      'stages.evaluate.environment: is missing; name one here, or for the whole experiment',
    ],
    [
      'a kind that there is not',
      { ...base, stages: { mesure: {} } },
      'stages.mesure.stage: "mesure" is no kind of stage; say stage: collect,',
    ],
    [
      'a value of another type',
      { ...base, stages: { evaluate: 'planner' } },
      'stages.evaluate: Invalid input: expected record, received string; correct it',
    ],
    [
      'an option of another type',
      { ...base, stages: { ...stages, revise: { of: 'search', alpha: 'high' } } },
      'stages.revise.alpha: Invalid input: expected number, received string; correct it',
    ],
    ['a list of stages', { ...base, stages: ['search'] }, 'stages: Invalid input: expected record, received array'],
    ['no name', { environment: 'textcraft', stages }, 'name: Invalid input: expected string, received undefined'],
    ['a baseline that there is not', { ...base, arms: { a: {} }, baseline: 'b' }, 'baseline: there is no arm b; name one of a'],
    ['a seed twice', { ...base, seeds: [1, 1] }, 'seeds: a seed is named twice'],
    ['no stage', { ...base, stages: {} }, 'stages: is empty'],
    ['nothing', null, 'the declaration: Invalid input: expected object, received null'],
  ])('%s is refused by its place, with the remedy', (_, declared, message) => {
    expect(() => experimentOf(declared)).toThrow(message);
  });
});

describe('changes', () => {
  test('an option of a stage changes for all arms that do not set it themselves', () => {
    const changed = changedExperiment(experimentOf(rl), [parseChange('train.estimator=rloo'), parseChange('seeds=[7, 8]')]);
    expect(changed.declared).toEqual({ ...rl, seeds: [7, 8], stages: { ...rl.stages, train: { estimator: 'rloo' } } });
  });

  test('an option that an arm sets itself is refused', () => {
    const armed = experimentOf({ ...rl, arms: { a: {}, b: { train: { estimator: 'rloo' } } } });
    expect(() => changedExperiment(armed, [parseChange('train.estimator=gpg')])).toThrow(
      'train.estimator: the arm b sets it itself; change it in the file',
    );
  });

  test.each([
    ['revise', '--set takes STAGE.OPTION=VALUE'],
    ['trian.updates=1', 'there is no stage trian; there are train, evaluate; did you mean train?'],
    ['train=1', 'names no option of a stage'],
    ['train.updates=0', 'stages.train.updates: Too small'],
  ])('%s is refused with the remedy', (text, message) => {
    expect(() => changedExperiment(experimentOf(rl), [parseChange(text)])).toThrow(message);
  });

  test.each([
    [['train.updates=1', 'train.updates=2'], 'train.updates: is set twice; set it once'],
    [['seed=1', 'seeds=[2]'], 'seeds: is set twice; set it once'],
  ])('%j is refused with the remedy', (texts, message) => {
    expect(() => changedExperiment(experimentOf(rl), texts.map(parseChange))).toThrow(message);
  });

  test('an axis that is named twice is refused', () => {
    const axes = ['train.updates=1,2', 'train.updates=3'].map(parseAxis);
    expect(() => sweptExperiment(experimentOf(rl), axes)).toThrow('train.updates: is set twice; set it once');
  });

  test('a sweep has an arm for every combination of values, under its name, and seeds are repetitions', () => {
    const swept = sweptExperiment(experimentOf(rl), [
      parseAxis('train.estimator=grpo,rloo'),
      parseAxis('train.updates=[1, 2]'),
      parseAxis('seed=1..3'),
    ]);
    expect(swept.seeds).toEqual([1, 2, 3]);
    expect(swept.arms.map(({ name, overrides }) => [name, overrides])).toEqual([
      ['train.estimator=grpo train.updates=1', { train: { estimator: 'grpo', updates: 1 } }],
      ['train.estimator=grpo train.updates=2', { train: { estimator: 'grpo', updates: 2 } }],
      ['train.estimator=rloo train.updates=1', { train: { estimator: 'rloo', updates: 1 } }],
      ['train.estimator=rloo train.updates=2', { train: { estimator: 'rloo', updates: 2 } }],
    ]);
    expect(() => parseAxis('seed=3..1')).toThrow('is no range');
  });
});

const TEN = (of: string) => `[${Array.from({ length: 10 }, () => of).join(', ')}]`;
const BOMB = ['a: &a [1]', ...['b', 'c', 'd', 'e'].map((name, i) => `${name}: &${name} ${TEN(`*${'abcd'[i]}`)}`)].join('\n');

describe('the file', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'espalier-experiment-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test('YAML and JSON declare the same', async () => {
    const files = {
      'a.yaml': 'name: methods\nenvironment: textcraft\nstages:\n  evaluate: { policy: planner }\n',
      'b.json': '{"name": "methods", "environment": "textcraft", "stages": {"evaluate": {"policy": "planner"}}}',
    };
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    const [yaml, json] = await Promise.all(Object.keys(files).map((name) => readExperimentFile(join(folder, name))));
    expect(json).toEqual(yaml);
  });

  test.each([
    ['none.yaml', null, 'none.yaml: cannot be read (ENOENT); name an existing file'],
    ['broken.yaml', 'name: [', 'broken.yaml: '],
    ['twice.yaml', 'stages:\n  a: {}\n  a: {}\n', 'twice.yaml: Map keys must be unique at line 3, column 3; correct it'],
    ['two.yaml', 'name: a\n---\nname: b\n', 'two.yaml: Source contains multiple documents'],
    ['aliases.yaml', BOMB, 'aliases.yaml: Excessive alias count'],
  ])('%s that cannot be read is refused by its name', async (name, text, message) => {
    if (text !== null) await writeFile(join(folder, name), text);
    await expect(readExperimentFile(join(folder, name))).rejects.toThrow(message);
  });
});

describe('the shipped experiments', () => {
  test('each published table comes at toy scale and as a full-scale file that says it was not run, and all are declarations', async () => {
    const files = (await readdir('examples/experiments')).sort();
    const tables = ['agent-r-methods', 'agent-r1-estimators', 'agentocr-compression'];
    expect(files).toEqual([
      'agent-r-iterations.toy.yaml',
      ...tables.flatMap((name) => [`${name}.full.yaml`, `${name}.toy.yaml`]),
    ]);
    for (const file of files) {
      expect((await readExperimentFile(`examples/experiments/${file}`)).arms.length).toBeGreaterThan(3);
      const text = await readFile(`examples/experiments/${file}`, 'utf8');
      expect({ file, said: text.includes('THIS FILE WAS NOT RUN') }).toEqual({ file, said: file.includes('.full.') });
    }
  });
});

describe('the JSON Schema', () => {
  const schema = experimentSchema();
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);

  test('accepts a declaration, and refuses an option that no kind of stage has', () => {
    validate(base);
    expect(validate.errors ?? []).toEqual([]);
    expect(validate({ ...base, stages: { ...stages, revise: { of: 'search', alpa: 1 } } })).toBe(false);
  });

  test('every field has a description', () => {
    const { $defs, properties } = schema as { $defs: Record<string, { properties: object }>; properties: object };
    for (const [form, fields] of Object.entries({
      experiment: properties,
      ...Object.fromEntries(Object.entries($defs).map(([k, v]) => [k, v.properties])),
    }))
      for (const [name, field] of Object.entries(fields))
        expect({ form, name, described: typeof (field as { description?: unknown }).description }).toEqual({
          form,
          name,
          described: 'string',
        });
  });
});
