import type { Command } from 'commander';
import { isUuid } from '../domain/ids.ts';
import { ENVIRONMENT_FORMS } from '../environments/open-environment.ts';
import { newId } from '../events/new-id.ts';
import type { Platform } from '../platform/open-platform.ts';
import { POLICY_FORMS, parsePolicyText } from '../policies/policy-spec.ts';
import { projections } from '../projections/registry.ts';
import { readCollection } from '../usecases/collect/collect.ts';
import type { Progress } from '../usecases/collect/collect-run.ts';
import { type ForkChanges, type ForkOptions, fork, planFork } from '../usecases/fork/fork.ts';
import { replayEnvironment } from '../usecases/replay/replay-environment.ts';
import { replayImages, replayProjections } from '../usecases/replay/replay-projections.ts';
import { replayTraining } from '../usecases/replay/replay-training.ts';
import { replayScores, type ScoreReplayOptions } from '../usecases/score/replay-scores.ts';
import { checkedId, comparedText, progressText } from './collect.ts';
import { describeBuildProgress } from './describe-build.ts';
import { projectionNamed } from './rebuild.ts';
import { describeReport, putOnRecord, runReplay } from './run-replay.ts';
import { print, table } from './terminal.ts';
import { throughOutages } from './through-outages.ts';
import { numberBetween, wantsJson, wholeNumber } from './with-platform.ts';
import { withProjector } from './with-projector.ts';
import { endAsCollected, warnUnshaped, withResumeHint } from './with-resume-hint.ts';

/**
 * `espalier replay MODE`: does something of a run over from the record and says whether it comes out the same; exit code 1 when
 * it does not.
 */
export function addReplay(program: Command): void {
  const replay = program.command('replay');
  addReplayProjections(replay);
  addReplayScores(replay);
  addReplayTraining(replay);
  addReplayFork(replay);
  const environment = replay
    .command('environment')
    .description('execute every recorded action again and compare observations, rewards, ends and state hashes')
    .requiredOption('--run <id>', 'the run')
    .option('--environment <name>', `instead of that of the run: ${ENVIRONMENT_FORMS}`);
  environment.action((flags: { run: string; environment?: string }) =>
    runReplay(environment, flags.run, { environment: flags.environment ?? null }, ({ platform, runId, signal, progress }) =>
      replayEnvironment(platform, { runId, environment: flags.environment ?? null, signal, progress }),
    ),
  );
  const images = replay
    .command('images')
    .description('draw every history image of a run again and compare the SHA-256 of its pixels')
    .requiredOption('--run <id>', 'the run');
  images.action((flags: { run: string }) =>
    runReplay(images, flags.run, {}, ({ platform, runId, signal, progress }) =>
      replayImages({ db: platform.database.db, blobs: platform.blobs }, runId, { signal, progress }),
    ),
  );
}

/**
 * `espalier replay projections`: folds the log again next to the read models and compares every table; exit code 1 when one
 * differs.
 */
function addReplayProjections(replay: Command): void {
  const command = replay
    .command('projections')
    .description('fold the log again into separate tables and compare them with the live ones by checksum')
    .option('--name <name...>', 'only these projections')
    .option('--run <id>', 'record the result in this run')
    .option('--wait <seconds>', 'how long to wait until they can be compared', wholeNumber('--wait', 1, 86_400), 300);
  command.action((flags: { name?: string[]; run?: string; wait: number }) => {
    const chosen = flags.name?.map(projectionNamed) ?? projections;
    const runId = flags.run === undefined ? null : checkedId('--run', flags.run);
    return withProjector('replay', async ({ platform, signal, settle, line }) => {
      await settle();
      const began = performance.now();
      const progress = (state: Parameters<typeof describeBuildProgress>[0]) => line.show(describeBuildProgress(state));
      const options = { signal, progress, limitMs: flags.wait * 1_000 };
      const { report, comparisons } = await throughOutages(signal, () => replayProjections(platform, chosen, options));
      line.end();
      const seconds = (performance.now() - began) / 1_000;
      const parameters = { projections: chosen.map(({ name, version }) => `${name}@${version}`) };
      if (runId !== null) await putOnRecord(platform, signal, { runId, report, parameters, seconds });
      if (wantsJson(command)) print(JSON.stringify({ ...report, projections: comparisons }));
      else {
        const rows = comparisons.flatMap(({ projection, tables }) =>
          tables.map(({ table: name, live, anew }) => [
            ...[projection, name, live.rows, anew.rows],
            live.sum === anew.sum ? 'equal' : 'differs',
          ]),
        );
        print(table(['projection', 'table', 'rows', 'folded again', 'checksum'], rows));
        print(describeReport(report));
      }
      if (report.outcome === 'differs') process.exitCode = 1;
      await settle();
    });
  });
}

/**
 * `espalier replay training`: computes the versions of a policy again, batch by batch, and compares weights and checkpoints; exit
 * code 1 when one differs.
 */
function addReplayTraining(replay: Command): void {
  const command = replay
    .command('training')
    .description('train a policy again from the recorded batches and compare weights, checkpoints and metrics of every version')
    .requiredOption('--policy <name>', 'the policy')
    .option('--from <version>', 'the first version to recompute; 0 for all', wholeNumber('--from', 0), 0)
    .option('--to <version>', 'the last version (default: the newest)', wholeNumber('--to', 0));
  command.action(({ policy: policyId, from, to: last }: { policy: string; from: number; to?: number }) =>
    withProjector('replay', async ({ platform, signal, settle, line }) => {
      const to = last ?? null;
      await settle();
      const began = Date.now();
      const progress = (done: number, of: number) => line.show(`training again: ${done} of ${of} versions`);
      const { report, runId } = await throughOutages(signal, () =>
        replayTraining(platform, { policyId, from, to, signal, progress }),
      );
      line.end();
      const replayed = { runId, report, parameters: { policyId, from, to }, seconds: (Date.now() - began) / 1_000 };
      const replayId = await putOnRecord(platform, signal, replayed);
      print(wantsJson(command) ? JSON.stringify({ run: runId, replay: replayId, ...report }) : describeReport(report));
      if (report.outcome === 'differs') process.exitCode = 1;
      await settle();
    }),
  );
}

interface ForkFlags extends ForkChanges {
  readonly from?: string;
  readonly run?: string;
  readonly seed: number;
  readonly name: string;
  readonly concurrency: number;
}

/**
 * `espalier replay fork`: a new run that goes on from a recorded step with another policy or other parameters; exit code 1 when
 * the way there differs.
 */
function addReplayFork(replay: Command): void {
  const command = replay
    .command('fork')
    .description('continue from a recorded step in a new run: execute and compare the path to it, then collect rollouts')
    .option('--from <step>', 'the step to continue from; the root of a tree starts over')
    .option('--tree <id>', 'the tree of that step, if several trees have its id')
    .option('--policy <spec>', `the policy (default: that of the recorded run): ${POLICY_FORMS}`)
    .option('--rollouts <n>', 'rollouts from the step', wholeNumber('--rollouts', 1, 100_000), 1)
    .option(
      '--max-steps <n>',
      'steps from there after which a rollout is truncated (default: the rest of the recorded plan)',
      wholeNumber('--max-steps', 1, 10_000),
    )
    .option(
      '--temperature <t>',
      'sampling temperature (default: that of the recorded plan)',
      numberBetween('--temperature', 0, 100),
    )
    .option('--environment <name>', `instead of that of the run: ${ENVIRONMENT_FORMS}`)
    .option('--seed <n>', 'seed of the new rollouts', wholeNumber('--seed', 0), 1)
    .option('--name <name>', 'name of the new run', 'fork')
    .option('--run <id>', 'id of the new run (a UUID; default: random); an existing run is continued')
    .option('--concurrency <n>', 'trees at the same time', wholeNumber('--concurrency', 1, 10_000), 8);
  command.action((flags: ForkFlags) =>
    withProjector('replay', async ({ platform, signal, settle, line }) => {
      await settle();
      const planned = await forkOf(platform, flags);
      const began = Date.now();
      const progress = (p: Progress) => line.show(progressText(p, (Date.now() - began) / 1_000));
      const { concurrency } = flags;
      const { runId } = planned;
      const again = `espalier replay fork --run ${runId}`;
      const forked = await withResumeHint(platform, { runId, command: again, signal }, () =>
        fork(platform, { ...planned, concurrency, signal, progress }),
      );
      line.end();
      const { report, progress: done } = forked;
      const state = report === null ? 'stopped' : (done?.state ?? 'failed');
      if (wantsJson(command)) print(JSON.stringify({ run: planned.runId, ...planned.plan.fork, ...report, ...done, state }));
      else {
        if (report) print(describeReport(report));
        const went = done ? `${done.rollouts} rollouts, ${done.steps} steps, ${done.succeeded} succeeded` : 'no rollouts';
        print(`run ${planned.runId} ${state}: ${went}`);
        if (done) print([done.message === '' ? [] : done.message, comparedText(done)]);
      }
      if (report?.outcome === 'differs') process.exitCode = 1;
      endAsCollected(runId, { state, mostFailed: done?.mostFailed ?? false }, wantsJson(command) ? null : again);
      await settle();
      await warnUnshaped(platform, runId);
    }),
  );
}

/** Plans a new fork, or reads the plan of one that was begun. */
async function forkOf(platform: Platform, flags: ForkFlags): Promise<Pick<ForkOptions, 'runId' | 'name' | 'seed' | 'plan'>> {
  const { from, run, name, seed } = flags;
  if (from === undefined) {
    if (run === undefined) throw new Error('name the step to go on from with --from, or a fork that was begun with --run');
    return { runId: run, ...(await readCollection(platform, checkedId('--run', run), 'fork')) };
  }
  if (!isUuid(from)) throw new Error(`--from takes a step id, a UUID in lower case, not ${JSON.stringify(from)}`);
  if (flags.tree !== undefined) checkedId('--tree', flags.tree);
  if (flags.policy !== undefined) parsePolicyText(flags.policy); // reported now rather than after the way was walked
  const plan = await planFork(platform, from, flags);
  return { runId: run === undefined ? newId() : checkedId('--run', run), name, seed, plan };
}

interface ScoresFlags {
  readonly run: string;
  readonly scorer?: string;
  readonly component?: string;
  readonly environment?: string;
  readonly lambda?: number;
  readonly mu?: number;
  readonly every?: number;
  readonly alpha?: number;
  readonly beta?: number;
  readonly estimator?: string;
  readonly option: readonly string[];
}

/**
 * `espalier replay scores`: the same record under the scorers it had, or under another scorer, compression, estimator or
 * thresholds, with what changes in each group.
 */
function addReplayScores(replay: Command): void {
  const scores = replay
    .command('scores')
    .description(
      'recompute rewards and returns; or compare returns and advantages under another scorer, compression or estimator, or the pairs mined by other thresholds',
    )
    .requiredOption('--run <id>', 'the run')
    .option('--scorer <name@revision>', 'score every rollout by this scorer')
    .option(
      '--component <name>',
      "the component that --scorer's value replaces; its own name when left out, `environment` is the outcome",
    )
    .option('--environment <name>', 'the environment with the ground truth, instead of that of the run')
    .option('--lambda <number>', 'reward compression by this λ', numberBetween('--lambda', 0, 1_000))
    .option('--mu <number>', 'the μ of failures', numberBetween('--mu', 0, 1_000))
    .option('--every <k>', 'reward every k-th iteration', wholeNumber('--every', 1, 1_000_000))
    .option('--alpha <reward>', 'mine with this threshold of a good trajectory', numberBetween('--alpha', 0, 1))
    .option('--beta <gap>', 'mine with this minimum gap to the bad one', numberBetween('--beta', 0, 1))
    .option('--estimator <name>', 'estimate advantages by this estimator')
    .option('--option <name=value>', 'an option of the estimator; repeatable', (text, all: string[]) => [...all, text], []);
  scores.action((flags: ScoresFlags) => {
    const asked = askedOf(flags);
    const environment = flags.environment ?? null;
    return runReplay(scores, flags.run, { ...asked, environment }, ({ platform, ...replaying }) =>
      replayScores(platform, { ...replaying, asked, environment }),
    );
  });
}

/**
 * Reads what is to be changed in scoring. @throws Error when more than one thing is to be other: a difference would have two
 * causes.
 */
function askedOf({ scorer, component, lambda, mu, every, alpha, beta, estimator, option }: ScoresFlags): ScoreReplayOptions {
  const compressed = lambda !== undefined || mu !== undefined || every !== undefined;
  const mined = alpha !== undefined || beta !== undefined;
  if ([scorer !== undefined, compressed, mined, estimator !== undefined].filter(Boolean).length > 1)
    throw new Error('change one thing at a time: --scorer, or --lambda, --mu and --every, or --alpha and --beta, or --estimator');
  if (option.length > 0 && estimator === undefined) throw new Error('--option is of an estimator; name it with --estimator');
  if (component !== undefined && scorer === undefined)
    throw new Error('--component is what a scorer replaces; name it with --scorer');
  if (scorer !== undefined) return { kind: 'scorer', scorer, component: component ?? null };
  if (estimator !== undefined) return { kind: 'estimator', name: estimator, options: Object.fromEntries(option.map(optionOf)) };
  if (compressed) return { kind: 'compression', compression: { lambda: lambda ?? null, mu: mu ?? null, every: every ?? null } };
  if (mined) return { kind: 'thresholds', thresholds: { alpha: alpha ?? null, beta: beta ?? null } };
  return { kind: 'as-recorded' };
}

function optionOf(text: string): [string, string | number] {
  const at = text.indexOf('=');
  if (at < 1) throw new Error(`--option takes NAME=VALUE, not ${JSON.stringify(text)}`);
  const value = text.slice(at + 1);
  return [text.slice(0, at), value !== '' && Number.isFinite(Number(value)) ? Number(value) : value];
}
