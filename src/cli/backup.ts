import { resolve } from 'node:path';
import type { Command } from 'commander';
import { type BackupReport, backUp } from '../usecases/backup/back-up.ts';
import { type Lines, print, progressLine } from './terminal.ts';
import { throughOutages } from './through-outages.ts';
import { wantsJson, withPlatform } from './with-platform.ts';

/** `espalier backup DIR`: copies what an installation cannot make again into a folder; exit code 1 when blobs are lost. */
export function addBackup(program: Command): void {
  const command = program
    .command('backup')
    .argument('<folder>', 'where the backup is kept; one of this installation that is there gets what is new');
  command.action((name: string) =>
    withPlatform('backup', async (platform, signal) => {
      const folder = resolve(name);
      const line = progressLine();
      const began = performance.now();
      try {
        const report = await throughOutages(signal, () =>
          backUp(platform, folder, { signal, progress: (copied, all) => line.show(`backing up: ${copied} of ${all} records`) }),
        );
        line.end();
        const seconds = Math.round((performance.now() - began) / 100) / 10;
        print(wantsJson(command) ? JSON.stringify({ folder, ...report, seconds }) : describe(folder, report, seconds));
        if (report.lostBlobs > 0) process.exitCode = 1;
      } finally {
        line.end();
      }
    }),
  );
}

function describe(folder: string, report: BackupReport, seconds: number): Lines {
  const { records, added, blobs, lostBlobs, checkpoints, streamKeys, openKeys, bytes } = report;
  const mebibytes = (bytes / 1_048_576).toFixed(1);
  return [
    `backed up: ${records} records (${added} new), ${blobs} blobs, ${checkpoints} checkpoints of language models, ${streamKeys} keys of sealed payload; ${mebibytes} MiB in ${folder}; ${seconds} s`,
    ...(lostBlobs > 0 ? [`${lostBlobs} blobs are damaged or missing in the store; \`espalier verify\` names them`] : []),
    ...(openKeys > 0
      ? [`${openKeys} of these keys are not encrypted (ESPALIER_MASTER_KEY_FILE): with this folder sealed payload can be read`]
      : []),
  ];
}
