import './production.ts';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { stoppable } from '../../src/cli/stoppable.ts';
import { plotFile, writePlot } from '../../src/cli/write-plot.ts';
import { keepTrained, readKept } from './learn-kept.ts';
import { type Changes, ESTIMATORS, type Lesson, planOf, type Trained, WORLD_NAMES } from './learn-lesson.ts';
import { drawTrained, reportTrained } from './learn-report.ts';
import { teachAll } from './learn-workers.ts';

const HELP = `Shows that policies learn: the linear policy, trained by GRPO, PPO and REINFORCE++ on TextCraft and on the generated search world, measured on tasks
that it was never trained on, through the whole platform: every rollout, batch and version is an event.

  npm run learn -- [--seeds 5] [--quick] [--json] [--plot FILE.svg|FILE.png] [--keep FILE.jsonl]

  --plot       success by version, one drawing for each world: FILE-textcraft.svg, FILE-search-qa.svg
  --keep       writes every training down when it is done; begun again with the same file, only what is missing is trained
  --quick      one seed and few updates: shows that it runs; the figures mean little
  --processes  each with an embedded database of its own (as many as cores, 2 at most)
  --at-once    trainings at a time in each process (2)

To choose settings, on tasks and seeds that are not reported:

  --first-seed N  (1)      --only WORLD,ESTIMATOR,…      --measure test|train  (test)      --settings JSON  in place of ours, by name

Ctrl-C ends it with the table and the drawings of what is done.
`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '5' },
    'first-seed': { type: 'string', default: '1' },
    processes: { type: 'string' },
    'at-once': { type: 'string', default: '2' },
    only: { type: 'string' },
    measure: { type: 'string', default: 'test' },
    settings: { type: 'string', default: '{}' },
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    plot: { type: 'string' },
    keep: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) process.stdout.write(HELP);
else process.exitCode = await learn();

async function learn(): Promise<number> {
  const { keep, quick, measure } = values;
  const plot = values.plot === undefined ? null : plotFile(values.plot);
  // Ctrl-C also ends the compiler that tsx keeps next to this process: what is imported late would not be there for the drawings.
  if (plot?.endsWith('.png')) await import('../../src/images/svg-to-png.ts');
  if (measure !== 'test' && measure !== 'train') throw new Error(`--measure is test or train, not ${JSON.stringify(measure)}`);
  const changes: Changes = { quick, measuredOn: measure, settings: JSON.parse(values.settings) };
  const wanted = lessons().map((lesson) => ({ lesson, plan: planOf(lesson, changes) }));
  const plans = wanted.map(({ plan }) => plan);
  const learned: Trained[] = keep === undefined ? [] : [...(await readKept(keep, plans))];
  const done = new Set(learned.map(({ plan }) => plan.policyId));
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1_000;
  await stoppable((signal) =>
    teachAll({
      lessons: wanted.filter(({ plan }) => !done.has(plan.policyId)),
      processes: values.processes === undefined ? Math.min(2, availableParallelism()) : whole('--processes', values.processes),
      atOnce: whole('--at-once', values['at-once']),
      signal,
      async onTrained(each) {
        learned.push(each);
        process.stderr.write(`${seconds().toFixed(0)} s: ${learned.length} of ${wanted.length}: ${lineOf(each)}\n`);
        if (keep !== undefined) await keepTrained(keep, each);
      },
    }),
  );
  const summary = `${learned.length} of ${wanted.length} trainings, ${seconds().toFixed(0)} s${done.size > 0 ? `, ${done.size} of them kept from before` : ''}`;
  process.stdout.write(
    values.json ? `${JSON.stringify({ seconds: seconds(), learned })}\n` : `${reportTrained(learned)}\n${summary}\n`,
  );
  if (plot !== null)
    for (const world of WORLD_NAMES.filter((name) => learned.some((each) => each.world === name)))
      await writePlot(plot.replace(/(?=\.\w+$)/, `-${world}`), drawTrained(learned, world));
  return learned.length < wanted.length || learned.some(({ ledger }) => ledger.difference !== 0) ? 1 : 0;
}

/**
 * Returns all trainings, seed by seed, so that what is done when it is ended early is one seed of everything before two of
 * anything.
 */
function lessons(): readonly Lesson[] {
  const only = values.only?.split(',') ?? [];
  const chosen = <Name extends string>(names: readonly Name[]) =>
    names.some((name) => only.includes(name)) ? names.filter((name) => only.includes(name)) : names;
  const strange = only.filter((name) => ![...WORLD_NAMES, ...ESTIMATORS].some((known) => known === name));
  if (strange.length > 0)
    throw new Error(`--only takes ${[...WORLD_NAMES, ...ESTIMATORS].join(', ')}, not ${strange.join(', ')}`);
  const first = whole('--first-seed', values['first-seed']);
  const seeds = Array.from({ length: values.quick ? 1 : whole('--seeds', values.seeds) }, (_, i) => first + i);
  return seeds.flatMap((seed) =>
    chosen(WORLD_NAMES).flatMap((world) => chosen(ESTIMATORS).map((estimator) => ({ world, estimator, seed }))),
  );
}

function whole(option: string, text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`${option} takes a whole number from 1 on, not ${JSON.stringify(text)}`);
  return Number(text);
}

function lineOf({ world, estimator, seed, measured }: Trained): string {
  const [first, last] = [measured[0], measured.at(-1)].map((at) => (100 * (at?.success ?? 0)).toFixed(0));
  return `${world}, ${estimator}, seed ${seed}: ${first}% → ${last}%`;
}
