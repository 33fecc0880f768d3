import { type Command, Option } from 'commander';
import type { Platform } from '../platform/open-platform.ts';
import { buildOf, codeVersionOf, type Projection, schemaNameOf } from '../projections/projection.ts';
import { readProjectionStatuses } from '../projections/projection-statuses.ts';
import { isSame } from '../projections/rebuild/compare-tables.ts';
import { projections } from '../projections/registry.ts';
import {
  type RebuildOptions,
  type RebuildResult,
  rebuildProjection,
  retireVersions,
  swapBack,
} from '../usecases/rebuild/rebuild-projection.ts';
import { describeBuildProgress } from './describe-build.ts';
import { type Lines, print, progressLine } from './terminal.ts';
import { throughOutages } from './through-outages.ts';
import { wantsJson, wholeNumber, withPlatform } from './with-platform.ts';
import { ensureProjector } from './with-projector.ts';

interface Flags {
  readonly to?: number;
  readonly repair?: true;
  readonly back?: true;
  readonly retire?: true;
  readonly wait: number;
}

/**
 * `espalier rebuild NAME`: folds a projection again next to the live version and swaps, while everything goes on; `--back`,
 * `--retire`.
 */
export function addRebuild(program: Command): void {
  const command = program
    .command('rebuild')
    .argument('<name>', 'the projection')
    .option('--to <version>', 'the expected version; refused if this code folds another', wholeNumber('--to', 1, 999_999))
    .option('--repair', 'swap even if the tables differ from the live ones of the same version')
    .addOption(
      // whichever that is, and uncompared
      new Option('--back', 'let the version that was live before catch up and take over again').conflicts([
        'retire',
        'repair',
        'to',
      ]),
    )
    .addOption(new Option('--retire', 'drop versions that are not live').conflicts(['repair', 'to']))
    .option('--wait <seconds>', 'how long to wait for open readers', wholeNumber('--wait', 1, 86_400), 300);
  command.action((name: string, flags: Flags) => {
    const projection = projectionNamed(name);
    if (flags.to !== undefined && flags.to !== projection.version)
      throw new Error(
        `this code folds version ${projection.version} of ${name}; version ${flags.to} needs a checkout that folds it`,
      );
    return withPlatform('rebuild', async (platform, signal) => {
      const line = progressLine();
      const progress: RebuildOptions['progress'] = (state) => line.show(describeBuildProgress(state));
      try {
        const versionAndBuild = await rebuild(platform, projection, flags, { signal, progress, limitMs: flags.wait * 1_000 });
        line.end();
        print(wantsJson(command) ? JSON.stringify(versionAndBuild.result) : versionAndBuild.text);
        if (versionAndBuild.failed) process.exitCode = 1;
      } finally {
        line.end();
      }
    });
  });
}

interface RebuildReport {
  readonly result: unknown;
  readonly text: Lines;
  readonly failed: boolean;
}

async function rebuild(
  platform: Platform,
  projection: Projection,
  flags: Flags,
  options: RebuildOptions,
): Promise<RebuildReport> {
  if (flags.retire) {
    const versions = await retireVersions(platform, projection);
    const schemas = versions.map((version) => schemaNameOf({ ...projection, version }));
    const text = schemas.length === 0 ? 'nothing to retire' : `dropped ${schemas.join(', ')}`;
    return { result: { retired: schemas }, text, failed: false };
  }
  // The live version is folded meanwhile, whether or not a projector runs elsewhere; a version that other code folds is left to
  // that code.
  const stopped = await reasonOfStop(platform, projection); // read first: a projector that starts sets out to fold it again
  const projector = await ensureProjector(platform, options.signal);
  try {
    if (flags.back) {
      const { from, to } = await throughOutages(options.signal, () => swapBack(platform, projection, options));
      return {
        result: { kind: 'swapped', from: versionAndBuild(from), to: versionAndBuild(to) },
        text: describeSwap(projection, from, to),
        failed: false,
      };
    }
    const differing = flags.repair ? 'accept' : 'refuse';
    const rebuilt = await throughOutages(options.signal, () =>
      rebuildProjection(platform, projection, { ...options, differing }),
    );
    return {
      result: { ...reportRebuilt(rebuilt), stopped },
      text: [...describeRebuilt(projection, rebuilt), ...describeStop(projection, stopped)],
      failed: rebuilt.kind === 'differs',
    };
  } finally {
    await projector.close();
  }
}

/** Returns why the live version is stopped; null where it is not. */
async function reasonOfStop({ database }: Platform, { name }: Projection): Promise<string | null> {
  const status = (await readProjectionStatuses(database.db)).find((one) => one.name === name);
  return status?.state === 'stopped' ? status.reason : null;
}

/** A version as its two numbers: of the code, and which fold by it. */
function versionAndBuild(version: number): { readonly version: number; readonly build: number } {
  return { version: codeVersionOf(version), build: buildOf(version) };
}

function reportRebuilt(rebuilt: RebuildResult): object {
  if (rebuilt.kind === 'swapped') return { ...rebuilt, from: versionAndBuild(rebuilt.from), to: versionAndBuild(rebuilt.to) };
  return { ...rebuilt, build: versionAndBuild(rebuilt.build) };
}

function describeSwap({ name }: Projection, from: number, to: number): string {
  return `${name} is live from ${schemaNameOf({ name, version: to })}; ${schemaNameOf({ name, version: from })} is kept: --back returns to it, --retire drops it`;
}

function describeStop({ name }: Projection, reason: string | null): readonly string[] {
  if (reason === null) return [];
  return [
    `${name} was stopped: ${reason}; what follows in the log is in neither version; start the projector again (\`espalier up\`)`,
  ];
}

function describeRebuilt(projection: Projection, rebuilt: RebuildResult): readonly string[] {
  const { comparison } = rebuilt;
  const tables = comparison?.tables ?? [];
  const sums =
    comparison === null
      ? [`version ${codeVersionOf(rebuilt.kind === 'swapped' ? rebuilt.to : rebuilt.build)} has other tables: nothing to compare`]
      : tables.map(
          (t) => `${t.table}: ${t.anew.rows} rows, ${isSame(t) ? 'equal by checksum' : `differs from ${t.live.rows} live`}`,
        );
  const differences = (comparison?.differences ?? []).map(
    ({ table, key, field, live, anew }) =>
      `differs at ${[table, ...Object.values(key)].join(' ')}${field && `, ${field}`}: live ${JSON.stringify(live)}, folded again ${JSON.stringify(anew)}`,
  );
  const end =
    rebuilt.kind === 'swapped'
      ? describeSwap(projection, rebuilt.from, rebuilt.to)
      : `nothing was swapped; \`espalier rebuild ${projection.name} --repair\` lets ${schemaNameOf({ ...projection, version: rebuilt.build })} take over`;
  return [...sums, ...differences, end];
}

/** Finds a projection by its name. @throws Error that lists those there are. */
export function projectionNamed(name: string): Projection {
  const found = projections.find((projection) => projection.name === name);
  if (found) return found;
  throw new Error(`there is no projection ${JSON.stringify(name)}; there are ${projections.map((p) => p.name).join(', ')}`);
}
