import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { copyBlobs } from '../blobs/copy-blobs.ts';
import { openFolderObjects } from '../blobs/folder-objects.ts';
import { openObjects } from '../platform/open-objects.ts';
import { readConfig } from '../runtime/config.ts';
import { collectBlobs } from '../usecases/forget/collect-blobs.ts';
import { stoppable } from './stoppable.ts';
import { print, progressLine } from './terminal.ts';
import { throughOutages } from './through-outages.ts';
import { wantsJson, wholeNumber } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

const HOUR_MS = 3_600_000;

/** `espalier blobs collect`: deletes payloads of the blob store that no record refers to. `espalier blobs migrate`: copies them to a bucket. */
export function addBlobs(program: Command): void {
  const blobs = program.command('blobs');
  addMigrate(blobs);
  const collect = blobs
    .command('collect')
    .description('delete unreferenced blobs; the folder must belong only to this record')
    .option('--dry-run', 'only count them')
    .option(
      '--grace <hours>',
      'keep blobs stored within this many hours: their event may not be appended yet',
      wholeNumber('--grace', 1, 87_600),
      24,
    );
  collect.action(({ dryRun, grace }: { readonly dryRun?: true; readonly grace: number }) =>
    withProjector('blobs', async ({ platform, signal }) => {
      const mode = dryRun ? 'count' : 'delete';
      const done = await collectBlobs(platform, { graceMs: grace * HOUR_MS, mode, signal });
      if (wantsJson(collect)) return print(JSON.stringify(done));
      const { unreferenced, drafts, deleted, looked, young } = done;
      print([
        `${looked} blobs are older than ${grace} hours, ${young} are not and stay`,
        `${unreferenced.blobs} blobs of ${unreferenced.bytes} bytes are referred to by no record`,
        ...(drafts.files > 0 ? [`${drafts.files} files of ${drafts.bytes} bytes were left by puts that did not end`] : []),
        dryRun ? 'nothing was changed' : `${deleted} blobs deleted`,
      ]);
    }),
  );
}

function addMigrate(blobs: Command): void {
  const migrate = blobs
    .command('migrate')
    .description('copy the blobs of a folder to the bucket of ESPALIER_OBJECTS; stopped, it continues when it is run again')
    .requiredOption('--from <folder>', 'folder of blobs, which stays as it is (ESPALIER_BLOBS, or blobs in ESPALIER_HOME)');
  migrate.action(({ from }: { readonly from: string }) =>
    stoppable(async (signal) => {
      const config = readConfig();
      if (config.bucket === null) throw new Error('ESPALIER_OBJECTS names no bucket to copy to; set it to s3://BUCKET/PREFIX');
      const isFolder = await stat(from).then(
        (stats) => stats.isDirectory(),
        () => false,
      );
      if (!isFolder) throw new Error(`--from names no folder: ${from}; name that of ESPALIER_BLOBS`);
      const line = progressLine();
      const done = await throughOutages(signal, async () => {
        const to = await openObjects(config);
        try {
          return await copyBlobs(openFolderObjects(resolve(from)), to, {
            signal,
            onProgress: ({ blobs: looked, copied, bytes }) => line.show(`${looked} blobs, ${copied} copied, ${bytes} bytes`),
          });
        } finally {
          to.close();
        }
      }).finally(() => line.end());
      if (done.damaged.length > 0) process.exitCode = 1;
      if (wantsJson(migrate)) return print(JSON.stringify(done));
      print([
        `${done.blobs} blobs: ${done.present} were in the bucket, ${done.copied} of ${done.bytes} bytes were copied and checked`,
        done.damaged.map((name) => `damaged, not copied: ${name}; restore it from a copy`),
      ]);
    }),
  );
}
