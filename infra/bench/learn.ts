import './production.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureProjector } from '../../src/cli/ensure-projector.ts';
import { plotSvg } from '../../src/cli/plot-svg.ts';
import { table } from '../../src/cli/terminal.ts';
import { plotFile, writePlot } from '../../src/cli/write-plot.ts';
import { BOOTSTRAP_DEFAULTS, bootstrapInterval } from '../../src/domain/evaluation/bootstrap-interval.ts';
import { openPlatform, type Platform } from '../../src/platform/open-platform.ts';
import { type TrainedPolicy, trainInto } from '../../src/platform/train-into.ts';
import { type TrainPlan, trainPlan } from '../../src/platform/train-plan.ts';
import { readConfig } from '../../src/runtime/config.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import { LINEAR_SETTINGS } from '../../src/training/backends/training-settings.ts';

const HELP = `Shows that policies learn: the linear policy, trained by GRPO, PPO and REINFORCE++ on TextCraft and on the generated search world, measured on tasks
that it was never trained on, through the whole platform: every rollout, batch and version is an event.

  npm run learn -- [--seeds 5] [--at-once 3] [--quick] [--json] [--plot FILE.svg|FILE.png]

  --plot    success by version, one drawing for each world: FILE-textcraft.svg, FILE-search-qa.svg
  --quick   one seed and few updates: shows that it runs; the figures mean little
`;

/** Sizes that fit 30 trainings into ten minutes of two cores. A world where most groups earn nothing at first needs them replaced; the other one does not. */
const WORLDS = {
  textcraft: {
    updates: 8,
    every: 4,
    groupsPerBatch: 16,
    groupSize: 4,
    zeroVariance: 'keep',
    maxSteps: 20,
    testTasks: 25,
    learningRate: 0.05,
  },
  'search-qa': {
    updates: 12,
    every: 6,
    groupsPerBatch: 4,
    groupSize: 8,
    zeroVariance: 'reject',
    maxSteps: 4,
    testTasks: 25,
    learningRate: 0.1,
  },
} as const;
type World = keyof typeof WORLDS;
const ESTIMATORS = ['grpo', 'ppo', 'reinforce++'] as const;
type Estimator = (typeof ESTIMATORS)[number];

interface Learnt {
  readonly world: World;
  readonly estimator: Estimator;
  readonly seed: number;
  readonly trained: TrainedPolicy;
}

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '5' },
    'at-once': { type: 'string', default: '3' },
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    plot: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) process.stdout.write(HELP);
else await learn();

async function learn(): Promise<void> {
  const plot = values.plot === undefined ? null : plotFile(values.plot);
  const home = await mkdtemp(join(tmpdir(), 'espalier-learn-'));
  const platform = await openPlatform(
    readConfig({ ...process.env, ESPALIER_HOME: home, ESPALIER_BLOBS: join(home, 'blobs') }),
    'learn',
  );
  const projector = await ensureProjector(platform);
  const began = performance.now();
  try {
    const learnt = await trainAll(platform, began);
    const seconds = (performance.now() - began) / 1_000;
    if (plot !== null)
      for (const world of worlds()) await writePlot(plot.replace(/(?=\.\w+$)/, `-${world}`), drawing(learnt, world));
    process.stdout.write(
      values.json ? `${JSON.stringify({ seconds, learnt })}\n` : `${report(learnt)}\n${seconds.toFixed(0)} s\n`,
    );
    if (learnt.some(({ trained }) => trained.ledger.difference !== 0)) process.exitCode = 1;
  } finally {
    await projector.close();
    await platform.close();
    await rm(home, { recursive: true, force: true });
  }
}

function worlds(): readonly World[] {
  return Object.keys(WORLDS) as World[]; // the keys of the object above
}

async function trainAll(platform: Platform, began: number): Promise<readonly Learnt[]> {
  const seeds = Array.from({ length: values.quick ? 1 : Number(values.seeds) }, (_, i) => i + 1);
  const wanted = seeds.flatMap((seed) =>
    worlds().flatMap((world) => ESTIMATORS.map((estimator) => ({ world, estimator, seed }))),
  );
  const learnt: Learnt[] = [];
  const queue = wanted.values();
  const work = async () => {
    for (const each of queue) {
      const plan = planOf(each);
      const trained = await trainInto(platform, {
        plan,
        concurrency: plan.groupsPerBatch,
        signal: new AbortController().signal,
        logger: SILENT,
      });
      learnt.push({ ...each, trained });
      const [first, last] = [trained.evaluations[0], trained.evaluations.at(-1)].map((at) =>
        (100 * (at?.evaluation.successRate ?? 0)).toFixed(0),
      );
      process.stderr.write(
        `${((performance.now() - began) / 1_000).toFixed(0)} s: ${each.world}, ${each.estimator}, seed ${each.seed}: ${first}% → ${last}%\n`,
      );
    }
  };
  await Promise.all(Array.from({ length: Number(values['at-once']) }, work));
  const order = ({ world, estimator, seed }: Learnt) => [worlds().indexOf(world), ESTIMATORS.indexOf(estimator), seed] as const;
  return learnt.sort((a, b) => {
    const [x, y] = [order(a), order(b)];
    return x[0] - y[0] || x[1] - y[1] || x[2] - y[2];
  });
}

function planOf({
  world,
  estimator,
  seed,
}: {
  readonly world: World;
  readonly estimator: Estimator;
  readonly seed: number;
}): TrainPlan {
  const { updates, every, testTasks, learningRate, ...sizes } = WORLDS[world];
  const few = values.quick ? 2 : updates;
  return trainPlan.parse({
    ...{
      policyId: `${world}-${estimator}-${seed}`,
      environment: world,
      split: 'train',
      tasks: null,
      settings: { ...LINEAR_SETTINGS[estimator], learningRate },
    },
    ...{ ...sizes, updates: few, mode: 'strict', maxStaleness: 0, temperature: 1 },
    ...{ taskSeed: 0, seed, evaluation: { split: 'test', tasks: testTasks, rollouts: 2, every: Math.min(few, every) } },
  });
}

/** What the seeds of a world and estimator had reached at a version. The interval is over seeds: how much another repetition may differ on these tasks. */
function successAt(learnt: readonly Learnt[], world: World, estimator: Estimator, version: number) {
  const rates = learnt
    .filter((each) => each.world === world && each.estimator === estimator)
    .flatMap(({ trained }) =>
      trained.evaluations.filter((at) => at.version === version).map(({ evaluation }) => evaluation.successRate),
    );
  const interval = bootstrapInterval(
    rates.map((rate) => [rate]),
    { ...BOOTSTRAP_DEFAULTS, seed: 1 },
  );
  return { mean: rates.reduce((sum, rate) => sum + rate, 0) / rates.length, interval };
}

function versionsOf(learnt: readonly Learnt[], world: World): readonly number[] {
  return learnt.find((each) => each.world === world)?.trained.evaluations.map(({ version }) => version) ?? [];
}

function report(learnt: readonly Learnt[]): string {
  const percent = ({ mean, interval: { low, high } }: ReturnType<typeof successAt>) =>
    `${(100 * mean).toFixed(1)} (${(100 * low).toFixed(1)}–${(100 * high).toFixed(1)})`;
  const rows = worlds().flatMap((world) =>
    ESTIMATORS.map((estimator) => {
      const own = learnt.filter((each) => each.world === world && each.estimator === estimator);
      const sum = (of: (trained: TrainedPolicy) => number) => own.reduce((total, { trained }) => total + of(trained), 0);
      const last = versionsOf(learnt, world).at(-1) ?? 0;
      return [
        ...[
          world,
          estimator,
          percent(successAt(learnt, world, estimator, 0)),
          percent(successAt(learnt, world, estimator, last)),
        ],
        ...[
          last,
          sum(({ ledger }) => ledger.produced),
          sum(({ ledger }) => ledger.trained),
          sum(({ ledger }) => ledger.difference),
        ],
      ];
    }),
  );
  return table(['world', 'estimator', 'success % before', 'success % after', 'updates', 'rollouts', 'trained', 'lost'], rows);
}

function drawing(learnt: readonly Learnt[], world: World): string {
  const versions = versionsOf(learnt, world);
  return plotSvg({
    title: `Success on held-out tasks: ${world}`,
    x: { label: 'updates', ticks: versions },
    y: { label: 'success', from: 0, to: 1 },
    series: ESTIMATORS.map((estimator) => ({
      name: estimator,
      points: versions.map((version) => {
        const { mean, interval } = successAt(learnt, world, estimator, version);
        return { x: version, y: mean, interval };
      }),
    })),
  });
}
