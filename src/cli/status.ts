import type { Command } from 'commander';
import { TOPICS } from '../events/catalogue.ts';
import { formatPosition } from '../log/position.ts';
import { LogChanged } from '../platform/log-faults.ts';
import type { Platform } from '../platform/open-platform.ts';
import { topicsOf } from '../projections/concerns.ts';
import { forgottenRuns } from '../projections/forgetting/read-forgotten.ts';
import { buildOf, codeVersionOf } from '../projections/projection.ts';
import { lagOf, readProjectionStatuses } from '../projections/projection-statuses.ts';
import { countWaiting } from '../projections/read-waiting.ts';
import { type BuildStatus, readBuilds } from '../projections/rebuild/read-builds.ts';
import { projections } from '../projections/registry.ts';
import { readNewestRuns } from '../projections/runs/read-runs.ts';
import { readRunSizes } from '../projections/step-tree/read-trees.ts';
import { describeProgress } from './describe-build.ts';
import { print, table } from './terminal.ts';
import { wantsJson, withPlatformToRead } from './with-platform.ts';

/** `espalier status`: where the log and every projection stand, what is quarantined, which runs there are. */
export function addStatus(program: Command): void {
  const command = program.command('status');
  command.action(() => withPlatformToRead('status', show, { onFaults: 'report' }));

  async function show(platform: Platform): Promise<void> {
    const status = await readStatus(platform);
    if (platform.logFaults.length > 0) process.exitCode = 1;
    if (wantsJson(command)) return print(JSON.stringify(status));
    if (platform.logFaults.length > 0) print([new LogChanged(platform.logFaults).message, '']);
    print(`log ${platform.mode.log}, database ${platform.mode.database}; ${totals(status.ends)}`);
    print();
    print(
      table(
        ['projection', 'version', 'state', 'lag', 'quarantined', 'reason'],
        status.projections.map((p) => [p.name, shortVersion(p), p.state, p.lag, p.quarantined, p.reason]),
      ),
    );
    if (status.builds.length > 0) {
      print();
      print(
        table(
          ['building', 'version', 'state', 'progress', 'reported'],
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
    print();
    print(
      status.runs.length === 0
        ? 'no runs yet: npm run demo'
        : table(
            ['run', 'name', 'started', 'state', 'trees', 'rollouts'],
            status.runs.map((r) => [
              r.run,
              r.name,
              r.started,
              r.forgotten ? `${r.state}, forgotten` : r.state,
              r.trees,
              r.rollouts,
            ]),
          ),
    );
  }
}

/** Describes how many records each topic holds; topics that nobody wrote to are left out. */
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

function progressOf({ state, progress }: BuildStatus): string {
  if (state === 'kept') return 'was live before: espalier rebuild --back, --retire';
  return progress === null ? 'just begun' : describeProgress(progress);
}

async function readStatus({ database: { db }, log, logFaults }: Platform) {
  const ends = await log.ends([...(await log.extents(TOPICS)).keys()]);
  const statuses = await readProjectionStatuses(db);
  const quarantined = await countWaiting(db);
  const runs = await readNewestRuns(db, 20);
  const sizes = await readRunSizes(
    db,
    runs.map(({ id }) => id),
  );
  const forgotten = await forgottenRuns(
    db,
    runs.map(({ id }) => id),
  );
  return {
    logFaults: logFaults.map(({ detail }) => detail),
    position: formatPosition(ends),
    ends: Object.fromEntries(
      [...ends].map(([topic, partitions]) => [topic, [...partitions.values()].reduce((sum, end) => sum + end, 0)]),
    ),
    projections: projections.map((projection) => {
      const state = statuses.find(({ name }) => name === projection.name);
      return {
        name: projection.name,
        version: codeVersionOf(state?.version ?? projection.version),
        build: buildOf(state?.version ?? projection.version),
        state: state?.state ?? 'missing',
        reason: state?.reason ?? '',
        lag: lagOf(state ?? { cursors: new Map() }, ends, topicsOf(projection)),
        quarantined: quarantined.get(projection.name) ?? 0,
      };
    }),
    builds: await readBuilds(db),
    runs: runs.map(({ id, name, startedAt, outcome }) => ({
      run: id,
      name,
      started: startedAt.toISOString(),
      state: outcome ?? 'open',
      forgotten: forgotten.has(id),
      trees: sizes.get(id)?.trees ?? 0,
      rollouts: sizes.get(id)?.rollouts ?? 0,
    })),
  };
}
