import { type Command, Option } from 'commander';
import { canonicalJson } from '../events/canonical-json.ts';
import { derivedId } from '../events/derived-id.ts';
import { JUDGE_FORMS } from '../policies/judge.ts';
import { RunFailed } from '../usecases/collect/collect.ts';
import { refuseSearchPayment } from '../usecases/collect/prompting/closing-rewards.ts';
import { METHODS, type Method, SELF_TRAIN_DEFAULTS, type SelfTrainPlan, TRAIN_FORMATS } from '../usecases/self-train/plan.ts';
import {
  type IterationResult,
  type SelfTrainOptions,
  type Summary,
  selfTrain,
  summarise,
} from '../usecases/self-train/self-train.ts';
import { checkedId } from './collect.ts';
import { addPromptOptions, type PromptFlags, promptPlanOf } from './prompt-flags.ts';
import { exitStopped } from './stoppable.ts';
import { type Lines, print, printError, table } from './terminal.ts';
import { throughOutages } from './through-outages.ts';
import { numberBetween, wantsJson, wholeNumber } from './with-platform.ts';
import { withProjector } from './with-projector.ts';
import { plotFile, plotSvg, writePlot } from './write-plot.ts';

interface SelfTrainFlags extends PromptFlags {
  readonly environment: string;
  readonly iterations?: number;
  readonly alpha: readonly number[];
  readonly beta: number;
  readonly seeds: number;
  readonly method: Method | 'all';
  readonly policy: string;
  readonly judge: string;
  readonly trainCommand?: string;
  readonly trainFormat: (typeof TRAIN_FORMATS)[number];
  readonly trainTimeout: number;
  readonly tasks: number;
  readonly searchIterations: number;
  readonly candidates: number;
  readonly maxDepth: number;
  readonly testTasks: number;
  readonly rollouts: number;
  readonly maxSteps: number;
  readonly learningRate: number;
  readonly run?: string;
  readonly concurrency: number;
  readonly plot?: string;
}

const { search, epochs, perTask, taskSeed, ...sizes } = SELF_TRAIN_DEFAULTS;

const TRAINER_FORM = 'a program that trains instead of behaviour cloning, a line for the shell: see below';
const TRAINER_HELP = `
A trainer (--train-command) is run once for each method, seed and iteration, one at a time, with these variables:
  ESPALIER_DATASET            the released file, in the format of --train-format; its manifest is ESPALIER_MANIFEST
  ESPALIER_DATASET_ID, ESPALIER_DATASET_SHA256, ESPALIER_FORMAT
  ESPALIER_POLICY             the policy to go on from, as JSON
  ESPALIER_METHOD, ESPALIER_SEED, ESPALIER_ITERATION, ESPALIER_EPOCHS, ESPALIER_LEARNING_RATE
  ESPALIER_OUT                an empty folder, in which it leaves policy.json, a policy as --policy takes it
                              ({"kind":"openai","model":"…","baseUrl":"…"}), or weights.espw, weights of the linear policy
It must end with 0. What it said is in ESPALIER_OUT/trainer.log. When it fails, the same command goes on there,
and so does a corrected one with --run and the id in the first line.`;

/** `espalier self-train`: search, mine, release, train, evaluate, again; methods side by side over several seeds. */
export function addSelfTrain(program: Command): void {
  const command = program
    .command('self-train')
    .option('--environment <name>', 'an environment with a train and a test split', 'textcraft')
    .option('--iterations <n>', 'number of iterations (default: the number of alphas)', wholeNumber('--iterations', 1, 100))
    .option(
      '--alpha <list>',
      'minimum return of a good trajectory, per iteration; the last one applies to the rest',
      listOfAlphas,
      sizes.alphas,
    )
    .option('--beta <b>', 'minimum gap of a bad one', numberBetween('--beta', 0, 1), sizes.beta)
    .option('--seeds <n>', 'repetitions: seeds 1 to n', wholeNumber('--seeds', 1, 1_000), 5)
    .addOption(
      new Option('--method <name>', 'what to train on; all compares the methods')
        .choices([...METHODS.toReversed(), 'all'])
        .default('all'),
    )
    .option('--judge <judge>', `the judge of agent-r: ${JUDGE_FORMS}`, sizes.judge)
    .option('--policy <policy>', 'the initial policy; other than linear needs --train-command', sizes.policy)
    .option('--train-command <line>', TRAINER_FORM)
    .addOption(
      new Option('--train-format <format>', 'input format of --train-command').choices([...TRAIN_FORMATS]).default('xtuner'),
    )
    .option('--train-timeout <seconds>', 'timeout of --train-command', wholeNumber('--train-timeout', 1, 1_000_000), 86_400)
    .option('--tasks <n>', 'train tasks searched per iteration', wholeNumber('--tasks', 1), sizes.trainTasks)
    .option('--search-iterations <n>', 'walks of each search', wholeNumber('--search-iterations', 1), search.iterations)
    .option('--candidates <n>', 'replies at each node', wholeNumber('--candidates', 1, 128), search.candidates)
    .option('--max-depth <n>', 'longest path of a search', wholeNumber('--max-depth', 1), search.maxDepth)
    .option('--test-tasks <n>', 'tasks of an evaluation', wholeNumber('--test-tasks', 1), sizes.testTasks)
    .option('--rollouts <n>', 'episodes per test task', wholeNumber('--rollouts', 1), sizes.testRollouts)
    .option('--max-steps <n>', 'steps of an episode', wholeNumber('--max-steps', 1, 10_000), sizes.maxSteps)
    .option('--learning-rate <r>', 'of the cloning', numberBetween('--learning-rate', 0, 100), sizes.learningRate)
    .option(
      '--run <id>',
      'id of the self-training (a UUID; default: derived from the options, so that a repeated command continues it)',
    )
    .option(
      '--concurrency <n>',
      'trees at the same time, for each of two seeds (of one with --train-command)',
      wholeNumber('--concurrency', 1, 10_000),
      8,
    )
    .option('--plot <file>', 'plot success by iteration to an .svg or .png file', plotFile);
  addPromptOptions(command);
  command.addHelpText('after', TRAINER_HELP);
  command.action(async (flags: SelfTrainFlags) => {
    await withProjector('self-train', async ({ platform, signal, settle }) => {
      const plan = planOf(flags);
      // By default what is to be done is the name, so that whoever was killed needs to say nothing more than before.
      const named = derivedId('self-train', canonicalJson(plan), flags.trainCommand ?? '');
      const selfTrainId = flags.run ? checkedId('--run', flags.run) : named;
      printError(`experiment ${selfTrainId}; begun again with the same options it goes on where the record ends`);
      const began = Date.now();
      const results = await throughOutages(signal, () =>
        selfTrain(platform, {
          selfTrainId,
          plan,
          concurrency: flags.concurrency,
          signal,
          ...trainerOf(flags),
          onResult: (result) => printError(`${resultText(result, Date.now() - began)}`),
        }),
      ).catch((error: unknown) => {
        if (error instanceof RunFailed && wantsJson(command))
          print(JSON.stringify({ run: selfTrainId, state: 'failed', message: error.message }));
        throw error;
      });
      if (signal.aborted) {
        print(
          wantsJson(command) ? JSON.stringify({ run: selfTrainId, state: 'stopped' }) : 'stopped; continue with the same command',
        );
        return exitStopped();
      }
      await settle();
      const summaries = summarise(results);
      if (flags.plot !== undefined) await writePlot(flags.plot, summaryPlot(summaries));
      if (wantsJson(command)) return print(JSON.stringify({ run: selfTrainId, state: 'completed', summaries }));
      print(summaryTable(summaries));
      print(`experiment ${selfTrainId}, ${((Date.now() - began) / 1_000).toFixed(0)} s`);
    });
  });
}

function planOf(flags: SelfTrainFlags): SelfTrainPlan {
  const prompt = promptPlanOf(flags, flags.environment);
  const unpayable = refuseSearchPayment({ search: { ...search, iterations: 1, candidates: 1, maxDepth: 1 }, prompt });
  if (unpayable !== null) throw new Error(unpayable);
  const alphas = Array.from(
    { length: flags.iterations ?? flags.alpha.length },
    (_, i) => flags.alpha[i] ?? flags.alpha.at(-1) ?? 1,
  );
  return {
    environment: flags.environment,
    methods: flags.method === 'all' ? METHODS : [flags.method],
    alphas,
    beta: flags.beta,
    policy: flags.policy,
    judge: flags.judge,
    epochs,
    perTask,
    learningRate: flags.learningRate,
    trainer: flags.trainCommand === undefined ? null : { format: flags.trainFormat },
    taskSeed,
    seeds: Array.from({ length: flags.seeds }, (_, i) => i + 1),
    trainTasks: flags.tasks,
    search: { ...search, iterations: flags.searchIterations, candidates: flags.candidates, maxDepth: flags.maxDepth },
    testTasks: flags.testTasks,
    testRollouts: flags.rollouts,
    maxSteps: flags.maxSteps,
    ...(prompt ? { prompt } : {}),
  };
}

/** Another program has the machine, or the model server, to itself. */
function trainerOf({ trainCommand, trainTimeout }: SelfTrainFlags): Pick<SelfTrainOptions, 'trainer' | 'seedsAtATime'> {
  if (trainCommand === undefined) return { trainer: null, seedsAtATime: 2 };
  return { trainer: { command: trainCommand, timeoutMs: trainTimeout * 1_000 }, seedsAtATime: 1 };
}

function listOfAlphas(text: string): readonly number[] {
  return text.split(',').map(numberBetween('--alpha', 0, 1));
}

function resultText({ method, seed, iteration, evaluation }: IterationResult, ms: number): string {
  const { trained, successRate } = evaluation;
  const data = trained ? `, from ${trained.good} good trajectories and ${trained.revisions} revisions` : '';
  return `${(ms / 1_000).toFixed(0)} s: seed ${seed}, ${method}, iteration ${iteration}: success ${(100 * successRate).toFixed(1)}%${data}`;
}

function summaryTable(summaries: readonly Summary[]): Lines {
  const percent = (share: number) => (100 * share).toFixed(1);
  return table(
    ['method', 'iteration', 'success %', '95% over seeds', 'steps', 'repeats of 1', 'good', 'revisions'],
    summaries.map((s) => [
      s.method,
      s.iteration,
      percent(s.success),
      `${percent(s.interval.low)} – ${percent(s.interval.high)}`,
      s.meanSteps.toFixed(1),
      s.repeats.toFixed(2),
      s.good.toFixed(1),
      s.revisions.toFixed(1),
    ]),
  );
}

function summaryPlot(summaries: readonly Summary[]): string {
  const iterations = [...new Set(summaries.map(({ iteration }) => iteration))].sort((a, b) => a - b);
  const pointsOf = (method: Method) => summaries.filter((summary) => summary.method === method);
  const shown = METHODS.filter((method) => pointsOf(method).length > 0);
  return plotSvg({
    title: 'Success on the test tasks, by what the policy was trained on',
    x: { label: 'iteration', ticks: iterations },
    y: { label: 'success', from: 0, to: 1 },
    series: shown.map((method) => ({
      name: method,
      points: pointsOf(method).map(({ iteration, success, interval }) => ({ x: iteration, y: success, interval })),
    })),
  });
}
