import { type Command, Option } from 'commander';
import { isUuid } from '../domain/ids.ts';
import { PUBLISHED_SEED } from '../domain/revision/pair-paths.ts';
import type { PublishedDataType } from '../domain/revision/published-rows.ts';
import { THRESHOLD_DEFAULTS } from '../domain/revision/thresholds.ts';
import { ENVIRONMENT_FORMS } from '../environments/open-environment.ts';
import { JUDGE_FORMS } from '../policies/judge.ts';
import { revise } from '../usecases/revise/revise.ts';
import { type FaithfulRevisionResult, reviseFaithfully } from '../usecases/revise/revise-faithfully.ts';
import type { ReviseCounts } from '../usecases/revise/revise-run.ts';
import { exitStopped } from './stoppable.ts';
import { type Lines, print } from './terminal.ts';
import { throughOutages } from './through-outages.ts';
import { numberBetween, wantsJson, wholeNumber } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

interface ReviseFlags extends FaithfulFlags {
  readonly run: string;
  readonly mode: 'sound' | 'faithful';
  readonly alpha: number;
  readonly beta: number;
  readonly judge?: string;
  readonly verify: boolean;
  readonly environment?: string;
  readonly seed?: number;
  readonly signal: 'thought' | 'turn';
  readonly unparsed: 'continue' | 'stop';
  readonly beforeBranch: 'clamp' | 'drop';
  readonly concurrency: number;
}

/**
 * `espalier revise`: mines revision trajectories from the trees of a run, each executed; the same command again does only what is
 * missing.
 */
export function addRevise(program: Command): void {
  const command = program
    .command('revise')
    .requiredOption('--run <id>', 'the run whose trees are mined')
    .addOption(
      new Option('--mode <mode>', 'ours, recorded and executed, or rows as the published Agent-R writes them: see below')
        .choices(['sound', 'faithful'])
        .default('sound'),
    )
    .option(
      '--alpha <reward>',
      'minimum return of a good trajectory, above 0 and at most 1',
      numberBetween('--alpha', 0, 1e6),
      THRESHOLD_DEFAULTS.alpha,
    )
    .option('--beta <gap>', 'minimum gap to the bad one', numberBetween('--beta', 0, 1e6), THRESHOLD_DEFAULTS.beta)
    .option('--judge <judge>', `${JUDGE_FORMS}; default planner, in faithful mode self`)
    .option('--no-verify', 'compose revisions without executing them')
    .option('--environment <name>', `instead of that of the run: ${ENVIRONMENT_FORMS}`)
    .option(
      '--seed <n>',
      `seed of the reflections (default: 1); faithful: of Python's shuffle, ${PUBLISHED_SEED}`,
      wholeNumber('--seed', 0),
    )
    .addOption(
      new Option('--signal <form>', 'the reflection starts the thought of the first good reply, or is a separate turn')
        .choices(['thought', 'turn'])
        .default('thought'),
    )
    .addOption(
      new Option('--unparsed <rule>', 'after a reply without a verdict continue, or drop the pair')
        .choices(['continue', 'stop'])
        .default('continue'),
    )
    .addOption(
      new Option(
        '--before-branch <rule>',
        'an error in a step that the good trajectory shares: move it to the branch, or drop the pair',
      )
        .choices(['clamp', 'drop'])
        .default('clamp'),
    )
    .option('--concurrency <n>', 'trees, and revisions executed, at the same time', wholeNumber('--concurrency', 1, 10_000), 4)
    .addOption(new Option('--revise <0|1>', 'faithful: 0 asks no judge and keeps the whole bad trajectory').choices(['0', '1']))
    .addOption(
      new Option('--data-type <type>', 'faithful: rows of pairs (centric), or of good trajectories').choices(['centric', 'good']),
    )
    .option('--out <file>', 'faithful: the output file, one JSON object per line')
    .option('--xtuner <file>', 'faithful: also write the rows for xtuner as published, without masks')
    .option(
      '--max-token-length <n>',
      "faithful: MAX_TOKEN_LENGTH, above which the judge's log is cut; that of the search when left out",
      wholeNumber('--max-token-length', 61),
    )
    .option('--force', 'faithful: replace existing files')
    .addHelpText('after', FAITHFUL_HELP);
  command.action(async (flags: ReviseFlags) => {
    const { run: runId, alpha, beta, seed = 1, unparsed, beforeBranch } = flags;
    if (!isUuid(runId)) throw new Error(`--run takes a run id, a UUID in lower case, not ${JSON.stringify(runId)}`);
    refuseOtherMode(command, flags.mode);
    if (flags.mode === 'faithful') return reviseFaithfullyByFlags(command, flags);
    await withProjector('revise', async ({ platform, signal, settle, line }) => {
      const counts = await throughOutages(signal, () =>
        revise(platform, {
          runId,
          plan: { alpha, beta, seed, unparsed, beforeBranch, signal: flags.signal },
          judge: flags.judge ?? 'planner',
          checking: flags.verify ? 'execute' : 'none',
          environment: flags.environment ?? null,
          concurrency: flags.concurrency,
          signal,
          progress: (so) => line.show(progressText(so)),
        }),
      );
      line.end();
      const state = signal.aborted ? 'stopped' : 'completed';
      print(wantsJson(command) ? JSON.stringify({ run: runId, state, ...counts }) : describeCounts(runId, state, counts));
      if (state === 'stopped') exitStopped();
      await settle();
    });
  });
}

/** @throws Error naming an option that was given and means nothing in this mode. */
function refuseOtherMode(command: Command, mode: ReviseFlags['mode']): void {
  const foreign = mode === 'sound' ? FAITHFUL_ONLY : SOUND_ONLY;
  for (const option of command.options) {
    const name = option.attributeName();
    if (!foreign.includes(name) || command.getOptionValueSource(name) !== 'cli') continue;
    throw new Error(
      mode === 'sound'
        ? `${option.long} goes with --mode faithful`
        : `--mode faithful follows the published rules: leave out ${option.long}`,
    );
  }
}

function progressText({ trees, plannedTrees, pairs, judged, revisions, verified }: ReviseCounts): string {
  return `revising: ${trees}/${plannedTrees} trees, ${pairs} pairs, ${judged} steps judged, ${revisions} revisions, ${verified} verified`;
}

/** Writes what a mining gave, one subject a line. */
function describeCounts(runId: string, state: 'completed' | 'stopped', counts: ReviseCounts): Lines {
  const {
    trees,
    plannedTrees,
    unfinished,
    forgotten,
    unreadable,
    unrewarded,
    good,
    bad,
    pairs,
    judged,
    asked,
    verdicts,
    revisions,
    dropped,
    verified,
    rejected,
  } = counts;
  const length = counts.meanRevisionLength?.toFixed(2) ?? '–';
  return [
    `run ${runId} revised, ${state}: ${trees} of ${plannedTrees} trees${unfinished > 0 ? `; ${unfinished} unfinished` : ''}${forgotten > 0 ? `; ${forgotten} left out, whose payload is forgotten` : ''}${unreadable > 0 ? `; ${unreadable} left out, of which a text is lost: \`espalier verify\` names it` : ''}`,
    `  pairs      ${pairs} of ${good} good and ${bad} bad trajectories${unrewarded > 0 ? `; ${unrewarded} rollouts ended that nobody rewarded: neither good nor bad` : ''}`,
    `  judged     ${judged} steps (${asked} asked now): ${countsText(verdicts)}`,
    `  composed   ${revisions}, mean revision length ${length}; dropped: ${countsText(dropped)}`,
    `  verified   ${verified}; rejected: ${countsText(rejected)}`,
    ...(state === 'stopped' ? ['continue with the same command'] : []),
    ...(unfinished > 0
      ? [`finish the run with: espalier collect --resume ${runId}`, 'then the same command adds what is new']
      : []),
  ];
}

function countsText(counts: Readonly<Record<string, number>>): string {
  const some = Object.entries(counts).filter(([, count]) => count > 0);
  return some.length === 0 ? 'none' : some.map(([name, count]) => `${count} ${name}`).join(', ');
}

/** What `--mode faithful` takes besides what both modes do. */
interface FaithfulFlags {
  readonly revise?: '0' | '1';
  readonly dataType?: PublishedDataType;
  readonly out?: string;
  readonly xtuner?: string;
  readonly maxTokenLength?: number;
  readonly force?: boolean;
}

interface Flags extends FaithfulFlags {
  readonly run: string;
  readonly alpha: number;
  readonly beta: number;
  readonly judge?: string;
  readonly environment?: string;
  readonly seed?: number;
  readonly concurrency: number;
}

/** The options of each mode that mean nothing in the other, by their attribute names. */
const SOUND_ONLY = ['verify', 'signal', 'unparsed', 'beforeBranch'];
const FAITHFUL_ONLY = ['revise', 'dataType', 'out', 'xtuner', 'maxTokenLength', 'force'];

const FAITHFUL_HELP = `
--mode faithful writes the rows that Agent-R's path_collection.py writes of the same trees, in its order and in its bytes; only the
sentences of its prompt to the judge and of its reflections are ours, drawn at the same places. It takes the trees of
\`collect --search mcts --compat agent-r\` or of \`import\` of search_results_<n>.json, whole ones alone.
  rules    > alpha and > beta, on the environment's own scale of rewards (ScienceWorld: --alpha 50); every ordered pair;
           Python's shuffle, seeded again for every tree; "good" or "uncertain" anywhere behind the last Judgement: goes on
  judge    the original asks the acting model (--judge self, the default here) again for each good partner of a bad trajectory, at its
           temperature. We ask at temperature 0, so each request is sent once, recorded, and its answer used wherever
           the original would send it again, in a second call of the command too
  record   the answers of the judge (StepJudged, with the verdict as sound mode reads it) and nothing else: the original turns back
           before the branch too, which a recorded revision cannot. Nothing is executed
  files    whole or not at all; --xtuner has them by the original's conversion, which trains on the bad steps as well`;

/** Runs `espalier revise --mode faithful`. @throws Error for options that do not go together. */
async function reviseFaithfullyByFlags(command: Command, flags: Flags): Promise<void> {
  const { run: runId, alpha, beta, dataType = 'centric', out, xtuner = null, maxTokenLength } = flags;
  const revise = flags.revise !== '0';
  if (out === undefined) throw new Error('--mode faithful writes rows to a file: name it with --out FILE');
  refuseIdleJudge(flags, revise, dataType);
  await withProjector('revise', async ({ platform, signal, settle, line }) => {
    const revised = await reviseFaithfully(platform, {
      runId,
      out,
      xtuner,
      existing: flags.force ? 'replace' : 'refuse',
      plan: { alpha, beta, dataType, revise, seed: flags.seed ?? PUBLISHED_SEED, maxTokenLength },
      judge: flags.judge ?? 'self',
      environment: flags.environment ?? null,
      concurrency: flags.concurrency,
      signal,
      progress: (so) => line.show(`revising: ${so.trees}/${so.plannedTrees} trees, ${so.rows} rows, ${so.asked} steps judged`),
    });
    line.end();
    print(
      wantsJson(command)
        ? JSON.stringify({ run: runId, state: revised.files ? 'completed' : 'stopped', out, xtuner, ...revised })
        : describeRows(runId, out, xtuner, revised),
    );
    if (!revised.files) exitStopped();
    await settle();
  });
}

function refuseIdleJudge({ judge, environment }: Flags, revise: boolean, dataType: PublishedDataType): void {
  const quiet = !revise ? '--revise 0' : dataType === 'good' ? '--data-type good' : null;
  if (quiet === null) return;
  for (const [option, value] of Object.entries({ judge, environment }))
    if (value !== undefined) throw new Error(`${quiet} asks nobody: leave out --${option}`);
}

function describeRows(runId: string, out: string, xtuner: string | null, revised: FaithfulRevisionResult): Lines {
  const { trees, plannedTrees, unfinished, skipped, found, accepted, rows, judged, asked, judge, files } = revised;
  const state = files ? 'completed' : 'stopped';
  const left = unfinished > 0 ? `; ${unfinished} not searched to the end` : '';
  const by = judge === null ? 'nobody was asked' : `by ${judge}: ${judged} steps, ${asked} asked now`;
  return [
    `run ${runId} revised as published, ${state}: ${trees} of ${plannedTrees} trees, ${skipped} without reward${left}`,
    `  pairs      ${found} far enough apart, ${accepted} with a good trajectory`,
    `  judged     ${by}`,
    ...(files
      ? [
          `  rows       ${rows} in ${out}, ${files.out.bytes} bytes, sha256 ${files.out.sha256}`,
          ...(files.xtuner ? [`  xtuner     ${xtuner}, ${files.xtuner.bytes} bytes, sha256 ${files.xtuner.sha256}`] : []),
        ]
      : ['  rows       none was written; continue with the same command']),
  ];
}
