import { basename } from 'node:path';
import { type Command, Option } from 'commander';
import { exportTrajectories } from '../datasets/export/export-trajectories.ts';
import type { ExportFormat } from '../datasets/export/format.ts';
import type { Manifest } from '../datasets/export/manifest.ts';
import { parseTrajectoryQuery, type QueryTexts } from '../datasets/export/trajectory-query.ts';
import { CODE_VERSION } from '../platform/code-version.ts';
import { progressLine, say } from './terminal.ts';
import { wantsJson, withPlatform } from './with-platform.ts';

interface ExportFlags {
  readonly format: ExportFormat['kind'];
  readonly out: string;
  readonly weights: 'policy' | 'own';
  readonly scope: 'trajectories' | 'trees';
  readonly metadata: boolean;
  readonly force?: boolean;
  readonly allowEmpty?: boolean;
  readonly run?: string;
  readonly environment?: string;
  readonly task?: string;
  readonly split?: string;
  readonly outcome?: string;
  readonly success?: string;
  readonly returnMin?: string;
  readonly returnMax?: string;
  readonly policy?: string;
  readonly from?: string;
  readonly before?: string;
}

const WAIT_MS = 60_000;

/** `espalier export`: trajectories as a file for a trainer, with a manifest that says what they are. */
export function addExport(program: Command): void {
  const command = program
    .command('export')
    .description('export trajectories: the same export twice gives the same bytes')
    .addOption(
      new Option('--format <format>', 'what the file looks like')
        .choices(['openai', 'sharegpt', 'parquet', 'jsonl'])
        .default('openai'),
    )
    .requiredOption('--out <file>', 'the file to make; its manifest stands beside it')
    .addOption(
      new Option('--weights <rule>', 'which replies carry loss where rollouts share a prefix')
        .choices(['own', 'policy'])
        .default('own'),
    )
    .addOption(
      new Option('--scope <scope>', 'jsonl: what is kept of a tree').choices(['trajectories', 'trees']).default('trajectories'),
    )
    .option('--no-metadata', 'openai: leave out where each chat came from')
    .option('--run <ids>', 'run ids, separated by commas')
    .option('--environment <names>')
    .option('--task <tasks>', 'task ids or aliases')
    .option('--split <names>')
    .option('--outcome <outcomes>', 'terminated, truncated, failed, cancelled')
    .option('--success <true|false>')
    .option('--return-min <number>')
    .option('--return-max <number>')
    .option('--policy <policies>', 'a policy id, or id@version')
    .option('--from <time>', 'finished at or after (ISO 8601)')
    .option('--before <time>', 'finished before')
    .option('--force', 'replace a file that is there')
    .option('--allow-empty', 'write a file even when nothing matches');
  command.action(async (flags: ExportFlags) => {
    const query = parseTrajectoryQuery(queryTexts(flags));
    await withPlatform('export', async ({ database, blobs }, signal) => {
      const line = progressLine();
      const manifest = await exportTrajectories({
        db: database.db,
        blobs,
        query,
        format: formatOf(flags),
        out: flags.out,
        existing: flags.force ? 'replace' : 'refuse',
        empty: flags.allowEmpty ? 'allow' : 'refuse',
        codeVersion: CODE_VERSION,
        waitMs: WAIT_MS,
        signal,
        onProgress: ({ done, total }) => line.show(`exporting: ${done}/${total} trajectories`),
      });
      line.end();
      say(wantsJson(command) ? JSON.stringify(manifest) : describeManifest(flags.out, manifest));
    });
  });
}

export function describeManifest(out: string, { counts, bytes, sha256 }: Manifest): string {
  return `${out}: ${counts.trajectories} trajectories, ${counts.steps} steps of ${counts.trees} trees, ${bytes.toLocaleString('en')} bytes, sha256 ${sha256.slice(0, 16)}… (${basename(out)}.manifest.json)`;
}

function formatOf(flags: ExportFlags): ExportFormat {
  switch (flags.format) {
    case 'openai':
      return { kind: 'openai', weights: flags.weights, metadata: flags.metadata ? 'include' : 'omit' };
    case 'jsonl':
      return { kind: 'jsonl', scope: flags.scope };
    default:
      return { kind: flags.format, weights: flags.weights };
  }
}

function queryTexts(flags: ExportFlags): QueryTexts {
  return {
    runs: flags.run,
    environments: flags.environment,
    tasks: flags.task,
    splits: flags.split,
    outcomes: flags.outcome,
    success: flags.success,
    returnMin: flags.returnMin,
    returnMax: flags.returnMax,
    policies: flags.policy,
    finishedFrom: flags.from,
    finishedBefore: flags.before,
  };
}
