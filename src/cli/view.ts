import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Command } from 'commander';
import { createGraphql } from '../../graphql/create-graphql.ts';
import { ignoreOrphanedRejections } from '../../graphql/orphaned-rejections.ts';
import { visibleImages } from '../../graphql/pages/create-pages.ts';
import { gatherPage, type PageOf } from '../../graphql/pages/gather-page.ts';
import { openPageWriter } from '../../graphql/pages/write-page.ts';
import type { PageRecord } from '../../graphql/studio/page-record.ts';
import { isUuid } from '../domain/ids.ts';
import { openAppender } from '../platform/open-appender.ts';
import { openPlatform, type Platform } from '../platform/open-platform.ts';
import { localPrincipal } from '../postgres/principal.ts';
import { keepSnapshots } from '../projections/as-of/snapshots.ts';
import { readConfig } from '../runtime/config.ts';
import { AtomicFile } from '../usecases/datasets/export/atomic-file.ts';
import { parseAgentTrajOptions } from '../usecases/datasets/import/agent-traj-options.ts';
import { importTrajectories } from '../usecases/datasets/import/import-trajectories.ts';
import { stoppable } from './stoppable.ts';
import { print } from './terminal.ts';
import { wantsJson, wholeNumber, withPlatformToRead } from './with-platform.ts';
import { ensureProjector } from './with-projector.ts';

interface ViewFlags {
  readonly out: string;
  readonly id?: string;
  readonly tree?: string;
  readonly force?: true;
  readonly limitMb: number;
}

const MIB = 2 ** 20;

/**
 * `espalier view`: writes what the studio shows of a run or tree, or of a file of trajectories, as one page that opens without a
 * server.
 */
export function addView(program: Command): void {
  const command = program
    .command('view')
    .argument('<what>', 'the id of a run, a tree or a rollout; or a file that `espalier import` reads')
    .requiredOption('--out <file>', 'the output file')
    .option('--id <id>', 'the run, tree or rollout to show, of a file with several runs')
    .option('--tree <id>', 'the tree of a rollout whose id several trees have')
    .option('--force', 'replace an existing file')
    .option(
      '--limit-mb <n>',
      'maximum size of the data, and of the images, in the page',
      wholeNumber('--limit-mb', 1, 1_000),
      24,
    );
  command.action(async (what: string, flags: ViewFlags) => {
    const isFile = !isUuid(what);
    if (isFile && !existsSync(what))
      throw new Error(
        `view takes the id of a run, a tree or a rollout, or a file that is there, not ${JSON.stringify(what.slice(0, 200))}`,
      );
    if (!isFile && flags.id !== undefined) throw new Error('--id chooses in a file; give the id in place of the file');
    if (flags.id !== undefined && !isUuid(flags.id))
      throw new Error(`--id takes the id of a run, a tree or a rollout, not ${JSON.stringify(flags.id)}`);
    const write = await openPageWriter();
    const limit = flags.limitMb * MIB;
    if (flags.tree !== undefined && !isUuid(flags.tree))
      throw new Error(`--tree takes the id of a tree, not ${JSON.stringify(flags.tree)}`);
    const { tree } = flags;
    const record = isFile ? await recordInFile(what, { id: flags.id, tree }, limit) : await recordOf({ id: what, tree }, limit);
    const file = await AtomicFile.open(flags.out, flags.force ? 'replace' : 'refuse');
    try {
      await file.write(write(record));
      const { bytes, sha256 } = await file.seal();
      await file.publish();
      const { title, leftOut } = record;
      if (wantsJson(command)) return print(JSON.stringify({ out: flags.out, title, bytes, sha256, leftOut }));
      print([`${flags.out}: ${title}, ${bytes.toLocaleString('en')} bytes`, ...leftOut.map((each) => `left out: ${each}`)]);
    } finally {
      await file.discard();
    }
  });
}

function recordOf(of: PageOf, limit: number): Promise<PageRecord> {
  return withPlatformToRead('view', async (platform, signal) => {
    const record = await gathered(platform, signal, limit, 'an installation of Espalier', async () => of);
    if (!record) throw new Error(`no run, tree or rollout has the id ${of.id}; \`espalier status\` lists the runs`);
    return record;
  });
}

/** Reads a file into a record of its own, which is removed again, and gathers a page of it. */
function recordInFile(file: string, { id, tree }: Record<keyof PageOf, string | undefined>, limit: number): Promise<PageRecord> {
  return withScratchPlatform('view', async (platform, signal) => {
    const record = await gathered(platform, signal, limit, basename(file), async () => {
      const runs = await importInto(platform, file, signal);
      const [only, ...others] = runs;
      if (id === undefined && others.length > 0)
        throw new Error(`${file} holds ${runs.length} runs; name one with --id: ${runs.slice(0, 20).join(', ')}`);
      const named = id ?? only;
      return named === undefined ? undefined : { id: named, tree };
    });
    if (!record) throw new Error(`${file} holds no run, tree or rollout${id === undefined ? '' : ` with the id ${id}`}`);
    return record;
  });
}

async function gathered(
  platform: Platform,
  signal: AbortSignal,
  limit: number,
  source: string,
  subjectOf: () => Promise<PageOf | undefined>,
): Promise<PageRecord | null> {
  const projector = await ensureProjector(platform);
  const snapshots = keepSnapshots(platform.database, platform.directUrl, { records: platform.config.asOfLimit });
  try {
    const subject = await subjectOf();
    await projector.settle();
    if (subject === undefined) return null;
    const context = { principal: localPrincipal() };
    const image = visibleImages({ db: platform.database.db, blobs: platform.blobs }, context.principal);
    const graphql = await graphqlOf(platform, snapshots);
    return await gatherPage({ graphql, context, signal, image, source, madeAt: new Date() }, subject, limit);
  } finally {
    await snapshots.close();
    await projector.close();
  }
}

function graphqlOf({ database, log, blobs }: Platform, snapshots: ReturnType<typeof keepSnapshots>) {
  const notices = { count: 0, beyond: async () => undefined }; // a page waits for nothing
  ignoreOrphanedRejections((reason) => {
    throw reason;
  });
  return createGraphql({
    db: database.db,
    log,
    blobs,
    snapshots,
    notices,
    limits: { cost: 10_000_000, rows: Infinity, answerFields: Infinity, answerCharacters: Infinity },
  });
}

/** Opens a platform with a database and a log of its own for one command, and removes it after, however the command ends. */
function withScratchPlatform<T>(name: string, use: (platform: Platform, signal: AbortSignal) => Promise<T>): Promise<T> {
  return stoppable(async (signal) => {
    const home = await mkdtemp(join(tmpdir(), `espalier-${name}-`));
    try {
      const own = readConfig({ ESPALIER_HOME: home, ESPALIER_PARTITIONS: '1' });
      const platform = await openPlatform(own, name);
      try {
        return await use(platform, signal);
      } finally {
        await platform.close();
      }
    } finally {
      await rm(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 }); // its server is still ending
    }
  });
}

/** Imports a file into a platform. @returns the runs that it holds. @throws DatasetError. */
async function importInto(platform: Platform, source: string, signal: AbortSignal): Promise<readonly string[]> {
  const { runs } = await importTrajectories({
    source,
    form: 'detect',
    db: platform.database.db,
    appender: openAppender(platform, 'importer', { numbers: 'begin' }),
    blobs: platform.blobs,
    badRows: 'refuse',
    agentTraj: parseAgentTrajOptions({}),
    signal,
    onProgress: () => undefined,
  });
  return runs;
}
