import type { Command } from 'commander';
import { TOPICS } from '../events/catalogue.ts';
import { formatPosition } from '../log/position.ts';
import type { Platform } from '../platform/open-platform.ts';
import { topicsOf } from '../projections/apply-slice.ts';
import { buildOf, codeVersionOf } from '../projections/projection.ts';
import { type BuildStanding, readBuilds } from '../projections/rebuild/read-builds.ts';
import { projections } from '../projections/registry.ts';
import { readCursors } from '../projections/wait-until.ts';
import { describePhase } from './describe-build.ts';
import { say, table } from './terminal.ts';
import { wantsJson, withPlatform } from './with-platform.ts';

/** `espalier status`: where the log and every projection stand, what is quarantined, which runs there are. */
export function addStatus(program: Command): void {
  const command = program.command('status');
  command.action(() =>
    withPlatform('status', async (platform) => {
      const status = await readStatus(platform);
      if (wantsJson(command)) return say(JSON.stringify(status));
      say(`log ${platform.mode.log}, database ${platform.mode.database}; ${totals(status.ends)}`);
      say();
      say(
        table(
          ['projection', 'version', 'state', 'lag', 'quarantined', 'reason'],
          status.projections.map((p) => [p.name, shortVersion(p), p.state, p.lag, p.quarantined, p.reason]),
        ),
      );
      if (status.builds.length > 0) {
        say();
        say(
          table(
            ['beside it', 'version', 'state', 'progress', 'told'],
            status.builds.map((b) => [
              b.projection,
              shortVersion(b),
              b.state,
              progressOf(b),
              b.progress?.toldAt.toISOString() ?? '',
            ]),
          ),
        );
      }
      say();
      say(
        status.runs.length === 0
          ? 'no runs yet: npm run demo'
          : table(
              ['run', 'name', 'started', 'state', 'trees', 'rollouts'],
              status.runs.map((r) => [r.run, r.name, r.started, r.state, r.trees, r.rollouts]),
            ),
      );
    }),
  );
}

/** Says how many records each topic holds; topics that nobody wrote to are left out. */
function totals(ends: Readonly<Record<string, number>>): string {
  const written = Object.entries(ends).filter(([, records]) => records > 0);
  return written.length === 0
    ? 'nothing appended yet'
    : written.map(([topic, records]) => `${records} records in ${topic}`).join(', ');
}

/** `1`, and `1, build 2` for what was folded again by the same code. */
function shortVersion({ version, build }: { readonly version: number; readonly build: number }): string {
  return build > 1 ? `${version}, build ${build}` : String(version);
}

function progressOf({ state, progress }: BuildStanding): string {
  if (state === 'kept') return 'was live before: espalier rebuild --back, --retire';
  return progress === null ? 'just begun' : describePhase(progress);
}

async function readStatus({ database: { db }, log }: Platform) {
  const ends = await log.ends(TOPICS);
  const cursors = await readCursors(db);
  const states = await db.selectFrom('projections').selectAll().execute();
  const quarantined = await db
    .selectFrom('quarantine')
    .select((q) => ['projection', q.fn.countAll<number>().as('count')])
    .where('released_at', 'is', null)
    .groupBy('projection')
    .execute();
  const runs = await db
    .selectFrom('runs')
    .select(['run_id', 'name', 'started_at', 'outcome'])
    .orderBy('started_at', 'desc')
    .limit(20)
    .execute();
  const trees = await db
    .selectFrom('trees')
    .select((t) => ['run_id', t.fn.countAll<number>().as('count')])
    .where('run_id', 'in', [...runs.map((r) => r.run_id), NONE])
    .groupBy('run_id')
    .execute();
  const rollouts = await db
    .selectFrom('rollouts')
    .select((r) => ['run_id', r.fn.countAll<number>().as('count')])
    .where('run_id', 'in', [...runs.map((r) => r.run_id), NONE])
    .groupBy('run_id')
    .execute();
  return {
    position: formatPosition(ends),
    ends: Object.fromEntries(
      [...ends].map(([topic, partitions]) => [topic, [...partitions.values()].reduce((sum, end) => sum + end, 0)]),
    ),
    projections: projections.map((projection) => {
      const cursor = cursors.get(projection.name);
      let lag = 0;
      for (const topic of topicsOf(projection))
        for (const [partition, end] of ends.get(topic) ?? []) lag += Math.max(0, end - (cursor?.get(topic)?.get(partition) ?? 0));
      const state = states.find((row) => row.name === projection.name);
      const count = quarantined.find((row) => row.projection === projection.name)?.count ?? 0;
      return {
        name: projection.name,
        version: codeVersionOf(state?.version ?? projection.version),
        build: buildOf(state?.version ?? projection.version),
        state: state?.state ?? 'missing',
        reason: state?.reason ?? '',
        lag,
        quarantined: Number(count),
      };
    }),
    builds: await readBuilds(db),
    runs: runs.map((run) => ({
      run: run.run_id,
      name: run.name,
      started: run.started_at.toISOString(),
      state: run.outcome ?? 'open',
      trees: Number(trees.find((row) => row.run_id === run.run_id)?.count ?? 0),
      rollouts: Number(rollouts.find((row) => row.run_id === run.run_id)?.count ?? 0),
    })),
  };
}

const NONE = '00000000-0000-0000-0000-000000000000'; // keeps the list of an IN from being empty
