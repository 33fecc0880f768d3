import type { Command } from 'commander';
import { TOPICS } from '../events/catalogue.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import type { Verification } from '../usecases/verify/verification.ts';
import { verifyRecord } from '../usecases/verify/verify-record.ts';
import { ensureProjector } from './ensure-projector.ts';
import { type Lines, progressLine, say } from './terminal.ts';
import { wantsJson, withPlatform } from './with-platform.ts';

const CATCH_UP_MS = 120_000;

/**
 * `espalier verify`: checks that events, blobs, batches, checkpoints and released files are what was written; exit code 1 when
 * something is not.
 */
export function addVerify(program: Command): void {
  const command = program
    .command('verify')
    .argument('[files...]', 'files of released datasets, compared with their releases, as are the manifests next to them');
  command.action((files: string[]) =>
    withPlatform('verify', async (platform, signal) => {
      const projector = await ensureProjector(platform);
      const line = progressLine();
      try {
        await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: CATCH_UP_MS, signal });
        const found = await verifyRecord(platform, {
          files,
          signal,
          progress: (events) => line.show(`verifying: ${events} events`),
        });
        line.end();
        say(wantsJson(command) ? JSON.stringify(found) : describeVerification(found));
        if (found.faulty > 0) process.exitCode = 1;
      } finally {
        line.end();
        await projector.close();
      }
    }),
  );
}

const DOUBTS = {
  'bad-side': 'its bad side is not worse than its good one (mined before the search had counted a success)',
  malformed: 'the reply with its reflection is not in its own form',
} as const;

function describeVerification(found: Verification): Lines {
  const { doubtful, doubtfulRevisions } = found;
  if (doubtful === 0) return describeFaults(found);
  return [
    describeFaults(found),
    `${doubtful} revisions are as they were written and do not hold; exports leave them out, and \`espalier revise\` adds what does:`,
    ...doubtfulRevisions.map(
      ({ revisionId, state, treeId, why }) => `revision ${revisionId} (${state}) of tree ${treeId}: ${DOUBTS[why]}`,
    ),
    ...(doubtful > doubtfulRevisions.length ? [`… ${doubtful - doubtfulRevisions.length} more`] : []),
  ];
}

function describeFaults({ events, blobs, batches, checkpoints, files, prompts, faulty, faults }: Verification): Lines {
  const counts = `${events} events, ${blobs} blobs, ${batches} batches, ${checkpoints} checkpoints${files > 0 ? `, ${files} files` : ''}${prompts > 0 ? `, ${prompts} prompts` : ''}`;
  if (faulty === 0) return `intact: ${counts}`;
  const lines = faults.map(({ what, kind, place }) => `${what} ${kind}: ${place}`);
  return [`${faulty} faults in ${counts}`, ...lines, ...(faulty > faults.length ? [`… ${faulty - faults.length} more`] : [])];
}
