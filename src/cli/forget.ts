import { userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { isUuid } from '../domain/ids.ts';
import type { Forgettable } from '../projections/forgetting/read-forgettable.ts';
import { CannotForget, type ForgetPlan, forget, planForgetting } from '../usecases/forget/forget.ts';
import { describeBuildProgress } from './describe-build.ts';
import { print } from './terminal.ts';
import { wantsJson } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

interface Flags {
  readonly run?: readonly string[];
  readonly tree?: readonly string[];
  readonly project?: string;
  readonly reason?: string;
  readonly by?: string;
  readonly yes?: true;
  readonly dryRun?: true;
}

/** `espalier forget`: destroys the keys of runs, trees or a project and clears the read models of what they sealed. */
export function addForget(program: Command): void {
  const command = program
    .command('forget')
    .option('--run <ids...>', 'runs, with all their trees')
    .option('--tree <ids...>', 'the trees')
    .option('--project <name>', 'every run of a project')
    .option('--reason <text>', 'the reason; recorded')
    .option('--by <name>', 'who requested it; recorded (default: the name of the account)')
    .option('--dry-run', 'only show what would be forgotten')
    .option('--yes', 'forget without asking');
  command.action((flags: Flags) => {
    const asked = askedFor(flags);
    if (!flags.dryRun && !flags.reason) throw new Error('--reason is missing: say why it is forgotten; it is recorded');
    return withProjector('forget', async ({ platform, signal, settle, line }) => {
      await settle();
      const plan = await planForgetting(platform, asked);
      if (plan.runs.length === 0) throw new Error(`nothing on record is ${describe(asked)}; \`espalier status\` lists the runs`);
      const nothing = plan.keys + plan.unfinished + plan.clear === 0;
      if (flags.dryRun || nothing) return report(command, plan, nothing ? 'nothing is left to forget' : 'nothing was changed');
      if (plan.clear === 0 && !flags.yes && !(await confirmed(plan)))
        throw new Error('nothing was forgotten: not confirmed; --yes forgets without asking');
      const done = await forget(platform, plan, {
        by: flags.by ?? account(),
        reason: flags.reason ?? '',
        signal,
        limitMs: 300_000,
        progress: (state) => line.show(describeBuildProgress(state)),
      });
      line.end();
      if (wantsJson(command)) return print(JSON.stringify({ ...countsOf(plan), forgotten: done }));
      const left =
        done.blobsLeft > 0
          ? `; ${done.blobsLeft} blobs were put within the last minute: \`espalier blobs collect\` deletes them`
          : '';
      print([...describePlan(plan), `forgotten: ${done.keys} keys are destroyed, ${done.blobs} blobs deleted${left}`]);
    });
  });
}

function askedFor({ run, tree, project }: Flags): Forgettable {
  const given = [run, tree, project].filter((flag) => flag !== undefined);
  if (given.length !== 1) throw new Error('name what is forgotten by one of --run, --tree and --project');
  if (project !== undefined) return { kind: 'project', project };
  const ids = run ?? tree ?? [];
  const wrong = ids.find((id) => !isUuid(id));
  if (wrong !== undefined)
    throw new Error(`${JSON.stringify(wrong)} is no id; \`espalier status\` lists runs, \`espalier tree\` their trees`);
  return { kind: run ? 'runs' : 'trees', ids };
}

function describe(forgettable: Forgettable): string {
  return forgettable.kind === 'project'
    ? `in project ${forgettable.project}`
    : `${forgettable.kind === 'runs' ? 'a run' : 'a tree'} of these ids`;
}

function countsOf({ runs, segments, blobs, ...counts }: ForgetPlan) {
  const trees = runs.reduce((sum, run) => sum + run.trees.length, 0);
  return { runs: runs.map(({ runId }) => runId), trees, segments: segments.length, blobs: blobs.length, ...counts };
}

function describePlan(plan: ForgetPlan): readonly string[] {
  const { trees, segments, keys, blobs, clear, unfinished } = countsOf(plan);
  const running = plan.runs.filter(({ finished, whole }) => whole && !finished);
  return [
    ...plan.runs.map(
      ({ runId, name, whole, trees: own }) => `${whole ? 'run' : 'trees of run'} ${runId} ${name}: ${own.length} trees`,
    ),
    `${trees} trees, ${segments} history segments that nothing else shows, ${keys} keys, ${blobs} blobs`,
    ...(unfinished > 0
      ? [`${unfinished} keys are destroyed already by a forgetting that did not come to its end; it is continued`]
      : []),
    ...(clear > 0 ? [`${clear} events lie in the clear and cannot be forgotten`] : []),
    ...running.map(({ runId }) => `run ${runId} is not finished: what its collector appends from a minute on is kept`),
    ...(plan.datasets.length > 0
      ? [`released datasets hold examples of these runs in files outside of the record: ${plan.datasets.join(', ')}`]
      : []),
  ];
}

function report(command: Command, plan: ForgetPlan, end: string): void {
  if (wantsJson(command)) print(JSON.stringify(countsOf(plan)));
  else print([...describePlan(plan), end]);
}

async function confirmed(plan: ForgetPlan): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new CannotForget('nothing was forgotten: say --yes, or call it on a terminal; --dry-run shows what would go');
  print(describePlan(plan));
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await asking.question('Nothing brings it back. Type forget to go on: ')).trim() === 'forget';
  } finally {
    asking.close();
  }
}

/** Returns the name of this account, or its number where the system knows no name, as in a container. */
function account(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}
