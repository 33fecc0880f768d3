import { resolve } from 'node:path';
import type { Command } from 'commander';
import { type BackupReport, backUp } from '../usecases/backup/back-up.ts';
import { type Lines, print } from './terminal.ts';
import { throughOutages } from './through-outages.ts';
import { wantsJson } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

/** `espalier backup DIR`: copies what an installation cannot make again into a folder; exit code 1 when something of it is lost. */
export function addBackup(program: Command): void {
  const command = program
    .command('backup')
    .argument('<folder>', 'where the backup is kept; one of this installation that is there gets what is new');
  command.action((name: string) =>
    withProjector('backup', async ({ platform, signal, line }) => {
      const folder = resolve(name);
      const began = performance.now();
      const report = await throughOutages(signal, () =>
        backUp(platform, folder, { signal, progress: (copied, all) => line.show(`backing up: ${copied} of ${all} records`) }),
      );
      line.end();
      const seconds = Math.round((performance.now() - began) / 100) / 10;
      print(wantsJson(command) ? JSON.stringify({ folder, ...report, seconds }) : describe(folder, report, seconds));
      if (report.lostBlobs > 0 || report.lostCheckpoints > 0) process.exitCode = 1;
    }),
  );
}

function describe(folder: string, report: BackupReport, seconds: number): Lines {
  const { records, added, blobs, lostBlobs, checkpoints, lostCheckpoints, streamKeys, openKeys, bytes } = report;
  const mebibytes = (bytes / 1_048_576).toFixed(1);
  return [
    `backed up: ${records} records (${added} new), ${blobs} blobs, ${checkpoints} checkpoints of language models, ${streamKeys} keys of sealed payload; ${mebibytes} MiB in ${folder}; ${seconds} s`,
    ...(lostBlobs > 0 ? [`${lostBlobs} blobs are damaged or missing in the store; \`espalier verify\` names them`] : []),
    ...(lostCheckpoints > 0
      ? [
          `${lostCheckpoints} checkpoints of language models are not on this machine; back up where the trainer's ESPALIER_HOME is, into the same folder`,
        ]
      : []),
    ...(openKeys > 0
      ? [`${openKeys} of these keys are not encrypted (ESPALIER_MASTER_KEY_FILE): with this folder sealed payload can be read`]
      : []),
  ];
}
