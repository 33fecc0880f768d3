import type { Command } from 'commander';
import type { Platform } from '../platform/open-platform.ts';
import { setPayloadPolicy } from '../postgres/payload-policies.ts';
import { PROJECT } from '../postgres/principal.ts';
import { countClear, readForgettable } from '../projections/forgetting/read-forgettable.ts';
import { type Due, readRetention, retain } from '../usecases/forget/forget.ts';
import { describeBuildProgress } from './describe-build.ts';
import { print, table } from './terminal.ts';
import { wantsJson, wholeNumber, withPlatform } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

/** `espalier retention`: after how many days the payload of a project is forgotten, and doing it now. */
export function addRetention(program: Command): void {
  const retention = program.command('retention');
  const list = retention.command('list').description('show the retention of projects, and what exceeds it');
  list.action(() =>
    withPlatform('retention', async (platform) => {
      const due = await readRetention(platform, Date.now());
      if (wantsJson(list)) return print(JSON.stringify(due));
      if (due.length === 0) return print('no project says after how many days its payload is forgotten: it is kept');
      print(table(['project', 'days', 'older runs', 'of them in the clear'], due.map(rowOf)));
    }),
  );
  addSet(retention);
  addRun(retention);
}

function rowOf({ project, days, runs, clear }: Due): readonly string[] {
  return [project, String(days), String(runs.length + clear.length), String(clear.length)];
}

function addSet(retention: Command): void {
  const set = retention
    .command('set')
    .description('set after how many days the texts and tokens of a project are forgotten')
    .option('--project <name>', 'the project (default: ESPALIER_PROJECT)')
    .option('--days <n>', 'days after the end of a run', wholeNumber('--days', 1, 36_500))
    .option('--keep', 'keep payloads');
  set.action((flags: { readonly project?: string; readonly days?: number; readonly keep?: true }) => {
    if ((flags.days === undefined) === (flags.keep === undefined))
      throw new Error('say by one of --days and --keep whether payload is forgotten');
    return withPlatform('retention', async (platform) => {
      const { database, stamp } = platform;
      const project = flags.project ?? stamp.project;
      if (!PROJECT.test(project))
        throw new Error(`--project ${JSON.stringify(project)} takes lower-case letters, digits and dashes, 63 at most`);
      const policy = await setPayloadPolicy(database.db, project, { forgetAfterDays: flags.days ?? null });
      const due = (await readRetention(platform, Date.now())).find((each) => each.project === project);
      if (wantsJson(set)) return print(JSON.stringify({ ...policy, due: due ?? null }));
      if (!due) return print(`${project}: payload is kept`);
      print(`${project}: payload is forgotten ${due.days} days after the end of its run; ${due.runs.length} runs are older`);
      if (policy.seal === false || (policy.seal === null && !platform.config.seal))
        print(
          `payload of ${project} is not sealed and cannot be forgotten: \`espalier seal on --project ${project}\` seals what comes`,
        );
    });
  });
}

function addRun(retention: Command): void {
  const run = retention
    .command('run')
    .description('forget now what exceeds it; `espalier up` and projectors do so at their start and once a day')
    .option('--dry-run', 'only show what would be forgotten');
  run.action((flags: { readonly dryRun?: true }) =>
    withProjector('retention', async ({ platform, signal, settle, line }) => {
      await settle();
      const due = await readRetention(platform, Date.now());
      const clear = await countClearEvents(platform, due);
      const done = flags.dryRun
        ? null
        : await retain(platform, due, {
            signal,
            limitMs: 300_000,
            progress: (state) => line.show(describeBuildProgress(state)),
          });
      line.end();
      const { runs, keys, blobs, blobsLeft } = done ? { ...done, runs: done.plan.runs.length } : NOTHING;
      if (wantsJson(run)) return print(JSON.stringify({ due, clearEvents: clear, forgotten: { runs, keys, blobs, blobsLeft } }));
      const all = due.reduce((sum, each) => sum + each.runs.length, 0);
      print([
        ...due.map(({ project, days, runs: { length } }) => `${project}: ${length} runs ended more than ${days} days ago`),
        ...(clear > 0 ? [`${clear} events of older runs lie in the clear and cannot be forgotten`] : []),
        flags.dryRun || all === 0
          ? `${all === 0 ? 'nothing is left to forget' : 'nothing was changed'}`
          : `forgotten: ${runs} runs, ${keys} keys are destroyed, ${blobs} blobs deleted`,
      ]);
    }),
  );
}

const NOTHING = { runs: 0, keys: 0, blobs: 0, blobsLeft: 0 };

/** Counts what nothing makes the log forget: payload of runs without a key, and of those with keys what came before them. */
async function countClearEvents({ database: { db } }: Platform, due: readonly Due[]): Promise<number> {
  const ids = due.flatMap(({ runs, clear }) => [...runs, ...clear]);
  if (ids.length === 0) return 0;
  const runs = await readForgettable(db, { kind: 'runs', ids });
  return countClear(
    db,
    runs.flatMap(({ runId, trees }) => [runId, ...trees]),
  );
}
