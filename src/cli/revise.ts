import { type Command, Option } from 'commander';
import { isUuid } from '../domain/ids.ts';
import { PUBLISHED_SEED } from '../domain/revision/pair-as-published.ts';
import { THRESHOLD_DEFAULTS } from '../domain/revision/thresholds.ts';
import { ENVIRONMENT_FORMS } from '../environments/open-environment.ts';
import { JUDGE_FORMS } from '../policies/create-judge.ts';
import { revise } from '../usecases/revise/revise.ts';
import type { ReviseCounts } from '../usecases/revise/revise-run.ts';
import { FAITHFUL_HELP, FAITHFUL_ONLY, type FaithfulFlags, reviseFaithfullyByFlags, SOUND_ONLY } from './revise-faithfully.ts';
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
      'what a good trajectory must reach, above 0 and at most 1',
      numberBetween('--alpha', 0, 1e6),
      THRESHOLD_DEFAULTS.alpha,
    )
    .option(
      '--beta <gap>',
      'by how much it must be better than the bad one',
      numberBetween('--beta', 0, 1e6),
      THRESHOLD_DEFAULTS.beta,
    )
    .option('--judge <judge>', `${JUDGE_FORMS}; planner when left out, self in faithful mode`)
    .option('--no-verify', 'leave the revisions as they were composed, without executing them')
    .option('--environment <name>', `in place of the one the run was collected in: ${ENVIRONMENT_FORMS}`)
    .option(
      '--seed <n>',
      `draws the reflections: 1 when left out; faithful: of Python's shuffle, ${PUBLISHED_SEED}`,
      wholeNumber('--seed', 0),
    )
    .addOption(
      new Option(
        '--signal <form>',
        'the reflection begins the thought of the first good reply, in its form, or is a turn of its own',
      )
        .choices(['thought', 'turn'])
        .default('thought'),
    )
    .addOption(
      new Option('--unparsed <rule>', 'after a reply without a verdict go on, or stop and drop the pair')
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
    .option('--concurrency <n>', 'trees at a time, and revisions executed at a time', wholeNumber('--concurrency', 1, 10_000), 4)
    .addOption(new Option('--revise <0|1>', 'faithful: 0 asks nobody and keeps the whole bad trajectory').choices(['0', '1']))
    .addOption(
      new Option('--data-type <type>', 'faithful: rows of pairs (centric), or of good trajectories').choices(['centric', 'good']),
    )
    .option('--out <file>', 'faithful: where the rows go, one JSON object a line')
    .option('--xtuner <file>', 'faithful: the rows once more, converted for xtuner as published, without masks')
    .option(
      '--max-token-length <n>',
      "faithful: MAX_TOKEN_LENGTH, above which the judge's log is cut; that of the search when left out",
      wholeNumber('--max-token-length', 61),
    )
    .option('--force', 'faithful: replace files that are there')
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
export function describeCounts(runId: string, state: 'completed' | 'stopped', counts: ReviseCounts): Lines {
  const {
    trees,
    plannedTrees,
    unfinished,
    forgotten,
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
    `run ${runId} revised, ${state}: ${trees} of ${plannedTrees} trees${unfinished > 0 ? `; ${unfinished} unfinished` : ''}${forgotten > 0 ? `; ${forgotten} left out, whose payload is forgotten` : ''}`,
    `  pairs      ${pairs} of ${good} good and ${bad} bad trajectories`,
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
