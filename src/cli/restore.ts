import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Platform } from '../platform/open-platform.ts';
import { type Backup, checkBackup, openBackup } from '../usecases/backup/backup-folder.ts';
import { prepareRestore, type Restored, restoreBackup } from '../usecases/backup/restore.ts';
import { keepVerification } from '../usecases/verify/verification.ts';
import { verifyRecord } from '../usecases/verify/verify-record.ts';
import { stoppable } from './stoppable.ts';
import { print, progressLine } from './terminal.ts';
import { throughOutages } from './through-outages.ts';
import { describeVerification } from './verify.ts';
import { wantsJson, withPlatform } from './with-platform.ts';
import { ensureProjector } from './with-projector.ts';

const FOLD_MS = 7 * 86_400_000; // as long as it takes: a projection that stops ends the wait

/** `espalier restore DIR`: restores a backup into an empty installation; exit code 1 when the record is not intact then. */
export function addRestore(program: Command): void {
  const command = program.command('restore').argument('<folder>', 'a backup of `espalier backup`');
  command.action(async (name: string) => {
    const backup = await checked(resolve(name));
    return withPlatform('restore', (platform, signal) => restore(platform, backup, signal), {
      prepare: (parts) => prepareRestore(backup, parts),
    });
  });

  /** Every file is compared with its digest before anything is opened. */
  function checked(folder: string): Promise<Backup> {
    return stoppable(async (signal) => {
      const line = progressLine();
      try {
        const backup = await openBackup(folder);
        await checkBackup(backup, signal, (files) => line.show(`checking: ${files} of ${backup.entries.length} files`));
        return backup;
      } finally {
        line.end();
      }
    });
  }

  async function restore(platform: Platform, backup: Backup, signal: AbortSignal): Promise<void> {
    const line = progressLine();
    const began = performance.now();
    try {
      const progress = (done: number, all: number) => line.show(`restoring: ${done} of ${all} records`);
      const done = await throughOutages(signal, () => restoreBackup(platform, backup, { signal, progress }));
      const projector = await ensureProjector(platform, signal);
      try {
        line.show('folding the read models');
        await projector.settle(FOLD_MS);
        const seconds = Math.round((performance.now() - began) / 100) / 10;
        const { takenAt, position, records } = backup.manifest;
        line.end();
        if (!wantsJson(command)) print(describe(done, backup, seconds));
        const verifying = performance.now();
        const verification = await verifyRecord(platform, {
          files: [],
          signal,
          progress: (events) => line.show(`verifying: ${events} events`),
        });
        await keepVerification(platform, verification, performance.now() - verifying);
        line.end();
        if (wantsJson(command)) print(JSON.stringify({ ...done, records, takenAt, position, seconds, verification }));
        else print(describeVerification(verification));
        if (verification.faulty > 0) process.exitCode = 1;
      } finally {
        await projector.close();
      }
    } finally {
      line.end();
    }
  }
}

function describe(done: Restored, { manifest: { takenAt, records } }: Backup, seconds: number): string {
  if (done.kind === 'restored') return `restored: ${records} records as of ${takenAt}, with their read models; ${seconds} s`;
  const blobs = done.blobsPutBack > 0 ? `${done.blobsPutBack} missing blobs were put back` : 'nothing was changed';
  return `was restored from this backup before; ${blobs}`;
}
