import type { Command } from 'commander';
import { isUuid } from '../domain/ids.ts';
import { ENVIRONMENT_FORMS } from '../environments/open-environment.ts';
import { newId } from '../events/new-id.ts';
import type { Platform } from '../platform/open-platform.ts';
import { POLICY_FORMS, parsePolicyText } from '../policies/policy-spec.ts';
import { readCollection } from '../usecases/collect/collect.ts';
import type { Progress } from '../usecases/collect/collect-run.ts';
import { type ForkChanges, type Forking, fork, planFork } from '../usecases/fork/fork.ts';
import { checkedId, progressText } from './collect.ts';
import { describeReport } from './run-replay.ts';
import { print } from './terminal.ts';
import { numberBetween, wantsJson, wholeNumber } from './with-platform.ts';
import { withProjector } from './with-projector.ts';
import { endAsCollected, noteUnshaped, withResumeHint } from './with-resume-hint.ts';

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
export function addReplayFork(replay: Command): void {
  const command = replay
    .command('fork')
    .description('go on from a recorded step in a run of its own: the way there executed again and compared, then other rollouts')
    .option('--from <step>', 'the step to go on from; the root of a tree begins again')
    .option('--tree <id>', 'the tree of that step, where several have one under its id')
    .option('--policy <spec>', `who goes on; the policy of the recorded run when left out: ${POLICY_FORMS}`)
    .option('--rollouts <n>', 'rollouts behind the step', wholeNumber('--rollouts', 1, 100_000), 1)
    .option(
      '--max-steps <n>',
      'steps behind the step after which a rollout is truncated; what the recorded plan leaves when left out',
      wholeNumber('--max-steps', 1, 10_000),
    )
    .option('--temperature <t>', 'that of the recorded plan when left out', numberBetween('--temperature', 0, 100))
    .option('--environment <name>', `in place of the one that the run names: ${ENVIRONMENT_FORMS}`)
    .option('--seed <n>', 'seed of the new rollouts', wholeNumber('--seed', 0), 1)
    .option('--name <name>', 'name of the new run', 'fork')
    .option('--run <id>', 'id of the new run (a UUID); drawn when left out. A run that is there already is gone on with')
    .option('--concurrency <n>', 'trees at a time', wholeNumber('--concurrency', 1, 10_000), 8);
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
        if (done?.message) print(done.message);
      }
      if (report?.outcome === 'differs') process.exitCode = 1;
      endAsCollected(runId, { state, mostFailed: done?.mostFailed ?? false }, wantsJson(command) ? null : again);
      await settle();
      await noteUnshaped(platform, runId);
    }),
  );
}

/** Plans a new fork, or reads the plan of one that was begun. */
async function forkOf(platform: Platform, flags: ForkFlags): Promise<Pick<Forking, 'runId' | 'name' | 'seed' | 'plan'>> {
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
