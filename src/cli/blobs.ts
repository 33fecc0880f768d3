import type { Command } from 'commander';
import { collectBlobs } from '../usecases/forget/collect-blobs.ts';
import { print } from './terminal.ts';
import { wantsJson, wholeNumber } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

const HOUR_MS = 3_600_000;

/** `espalier blobs collect`: deletes payloads of the blob store that no record refers to. */
export function addBlobs(program: Command): void {
  const collect = program
    .command('blobs')
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
