import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readStages, type StageRecord } from '../../projections/experiment-stages/read-stages.ts';
import { environmentOf } from '../../testing/crashing-run.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { startProcess } from '../../testing/worker-process.ts';
import { experimentOf, readExperimentFile } from './declaration/parse-experiment.ts';
import { declaredAs } from './record-experiment.ts';
import { reportOf } from './report.ts';
import { runExperiment } from './run-experiment.ts';

const killed = useTestPlatform({ opened: 'once', projector: 'none' });
const undisturbed = useTestPlatform({ opened: 'once', projector: 'running' });

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-experiment-'));
});
afterAll(() => rm(folder, { recursive: true }));

const experiment = {
  name: 'killed',
  environment: 'textcraft',
  stages: {
    search: { policy: 'linear', split: 'train', tasks: 3, iterations: 2, candidates: 3, maxDepth: 8, maxSteps: 8 },
    revise: { of: 'search', judge: 'planner-strict' },
    release: { of: 'revise' },
    train: { on: 'release', epochs: 1 },
    evaluate: { policy: { of: 'train' }, split: 'test', tasks: 3, maxSteps: 8 },
  },
};

const endOf = ({ outcome, key, output }: StageRecord) => ({ outcome, key, digest: output?.digest });

async function digestsOf(platform: typeof killed, experimentId: string) {
  const records = await readStages(platform.database.db, [experimentId]);
  const place = ({ arm, stage, seed }: (typeof records)[number]) => (seed === 1 ? `${arm} ${stage}` : `${arm} ${stage} ${seed}`);
  return Object.fromEntries(records.map((record) => [place(record), endOf(record)]));
}

test('an experiment that is killed behind every stage and resumed comes to the digests of an undisturbed one', async () => {
  const file = join(folder, 'killed.yaml');
  await writeFile(file, JSON.stringify(experiment));
  const declared = declaredAs(experimentOf(experiment));
  const start = () => startProcess('src/cli/main.ts', ['experiment', 'run', file], environmentOf(killed));
  for (const stage of ['search', 'revise', 'release', 'train']) {
    const child = start();
    await child.saying(new RegExp(`seed 1, ${stage}: (done|reused|was done before)`), 120_000);
    child.kill('SIGKILL'); // in the stage behind it
    expect(await child.ended).toBe('SIGKILL');
  }
  const last = start();
  expect(await last.ended).toBe(0);
  expect(last.stderr()).toContain('search: was done before');

  await runExperiment(undisturbed, { declared, signal: new AbortController().signal });
  const digests = await digestsOf(killed, declared.experimentId);
  expect(Object.keys(digests).sort()).toEqual(
    Object.keys(experiment.stages)
      .map((stage) => `main ${stage}`)
      .sort(),
  );
  expect(digests).toEqual(await digestsOf(undisturbed, declared.experimentId));
});

test('arms at the same time, killed and resumed, come to the digests of arms one after another', async () => {
  const { search, ...stages } = experiment.stages;
  const arms = { 'good-only': { release: { of: 'search' } }, direct: { revise: { judge: 'direct' } }, 'agent-r': {} };
  const several = {
    ...experiment,
    name: 'together',
    stages: { search: { ...search, tasks: 2 }, ...stages },
    seeds: [3, 4],
    arms,
  };
  const file = join(folder, 'together.yaml');
  await writeFile(file, JSON.stringify(several));
  const declared = declaredAs(experimentOf(several));
  const start = () => startProcess('src/cli/main.ts', ['experiment', 'run', file, '--parallel', '3'], environmentOf(killed));
  const child = start();
  await child.saying(/revise: (done|reused)/, 120_000);
  child.kill('SIGKILL');
  expect(await child.ended).toBe('SIGKILL');
  expect(await start().ended).toBe(0);

  await runExperiment(undisturbed, { declared, signal: new AbortController().signal });
  const digests = await digestsOf(killed, declared.experimentId);
  expect(Object.keys(digests)).toHaveLength(2 * (4 + 5 + 5));
  expect(digests).toEqual(await digestsOf(undisturbed, declared.experimentId));
});

test.each(['agent-r-methods', 'agentocr-compression', 'agent-r1-estimators'])(
  'the shipped comparison %s runs whole at toy scale, each arm measured against its baseline',
  async (name) => {
    const declared = declaredAs(await readExperimentFile(`examples/experiments/${name}.toy.yaml`));
    const { state } = await runExperiment(undisturbed, { declared, signal: new AbortController().signal });
    expect(state).toBe('completed');
    const report = await reportOf(undisturbed.database.db, declared);
    expect(report.map(({ arm }) => arm)).toEqual(declared.experiment.arms.map((arm) => arm.name));
    for (const { arm, difference } of report)
      expect({ arm, compared: difference?.to ?? null }).toEqual({
        arm,
        compared: arm === declared.experiment.baseline ? null : declared.experiment.baseline,
      });
    if (name === 'agentocr-compression') {
      const tokens = report.flatMap(({ values }) => values['vision-tokens'] ?? []);
      expect(tokens).toEqual([...tokens].sort((a, b) => b - a)); // the more compressed, the fewer
      expect(tokens).toHaveLength(4);
    }
  },
);
