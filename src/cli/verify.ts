import type { Command } from 'commander';
import { TOPICS } from '../events/catalogue.ts';
import type { Platform } from '../platform/open-platform.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import type { AnchorFiles } from '../usecases/verify/anchor.ts';
import { keepVerification, type Verification } from '../usecases/verify/verification.ts';
import { verifyRecord } from '../usecases/verify/verify-record.ts';
import { type Lines, print, progressLine } from './terminal.ts';
import { wantsJson, withPlatformToRead } from './with-platform.ts';
import { ensureProjector } from './with-projector.ts';

const CATCH_UP_MS = 120_000;

interface VerifyFlags {
  readonly anchor?: string;
  readonly anchorKey?: string;
  readonly log: boolean;
}

/**
 * `espalier verify`: checks that events, blobs, batches, checkpoints and released files are what was written; exit code 1 when
 * something is not.
 */
export function addVerify(program: Command): void {
  const command = program
    .command('verify')
    .argument('[files...]', 'files of released datasets, which are compared with their releases, with their manifests')
    .option('--anchor <file>', 'compare the chains with the signed heads in this file, and update them if there is no fault')
    .option('--anchor-key <file>', 'the key that signs the heads, created if missing (default: FILE.key of the anchor)');
  command.option('--no-log', 'do not read the log, which saves about a third of the time but misses records rewritten in place');
  command.action((files: string[], flags: VerifyFlags) => {
    if (flags.anchorKey !== undefined && flags.anchor === undefined) throw new Error('--anchor-key needs --anchor');
    const anchor = flags.anchor && { anchor: flags.anchor, key: flags.anchorKey ?? `${flags.anchor}.key` };
    return withPlatformToRead(
      'verify',
      (platform, signal) => check(platform, files, { anchor: anchor || null, log: flags.log }, signal),
      { onFaults: 'report' },
    );
  });

  async function check(
    platform: Platform,
    files: string[],
    { anchor, log }: { readonly anchor: AnchorFiles | null; readonly log: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    // A log that is not as it was recorded is not folded any further; what was folded is compared with it.
    const projector = platform.logFaults.length > 0 ? null : await ensureProjector(platform);
    const line = progressLine();
    try {
      if (projector)
        await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: CATCH_UP_MS, signal });
      const began = performance.now();
      const found = await verifyRecord(platform, {
        ...(anchor ? { anchor } : {}),
        files,
        signal,
        log: log ? 'read' : 'left out',
        progress: (events) => line.show(`verifying: ${events} events`),
        logProgress: (read, all) => line.show(`reading the log: ${read} of ${all} records`),
      });
      await keepVerification(platform, found, performance.now() - began);
      line.end();
      print(wantsJson(command) ? JSON.stringify(found) : describeVerification(found));
      if (found.faulty > 0) process.exitCode = 1;
    } finally {
      line.end();
      await projector?.close();
    }
  }
}

const DOUBTS = {
  altered: 'its tree does not give the turns that it was composed of (a text of its path was changed)',
  'bad-side': 'its bad side is not worse than its good one (mined before the search had counted a success)',
  malformed: 'the reply with its reflection is not in its own form',
} as const;

export function describeVerification(verification: Verification): Lines {
  return [describeFaults(verification), describeForeign(verification), describeDoubts(verification)];
}

function describeForeign({ foreign, foreignIds }: Verification): Lines {
  if (foreign === 0) return [];
  return [
    `${foreign} event ids are held by several streams; each event is a fact of its own stream:`,
    ...foreignIds.map(({ eventId, streams }) => `event ${eventId}: ${streams.join(', ')}`),
    ...(foreign > foreignIds.length ? [`… ${foreign - foreignIds.length} more`] : []),
  ];
}

function describeDoubts({ doubtful, doubtfulRevisions }: Verification): Lines {
  if (doubtful === 0) return [];
  return [
    `${doubtful} revisions are as they were written and do not hold; exports leave them out, and \`espalier revise\` adds what does:`,
    ...doubtfulRevisions.map(
      ({ revisionId, state, treeId, why }) => `revision ${revisionId} (${state}) of tree ${treeId}: ${DOUBTS[why]}`,
    ),
    ...(doubtful > doubtfulRevisions.length ? [`… ${doubtful - doubtfulRevisions.length} more`] : []),
  ];
}

function describeFaults(verification: Verification): Lines {
  const { events, blobs, batches, checkpoints, files, prompts, anchored, faulty, faults } = verification;
  const counts = `${events} events, ${blobs} blobs, ${batches} batches, ${checkpoints} checkpoints${files > 0 ? `, ${files} files` : ''}${prompts > 0 ? `, ${prompts} prompts` : ''}`;
  if (faulty === 0) return `intact: ${counts}${anchored === null ? '' : `; ${anchored} chain heads anchored`}`;
  const lines = faults.map(({ what, kind, place }) => `${what} ${kind}: ${place}`);
  return [`${faulty} faults in ${counts}`, ...lines, ...(faulty > faults.length ? [`… ${faulty - faults.length} more`] : [])];
}
