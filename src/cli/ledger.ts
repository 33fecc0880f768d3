import type { Command } from 'commander';
import type { Platform } from '../platform/open-platform.ts';
import type { Moment } from '../projections/as-of/moment.ts';
import { topicsOf } from '../projections/concerns.ts';
import { type Ledger, readLedgers } from '../projections/training-pool/read-ledger.ts';
import { trainingPool } from '../projections/training-pool/training-pool.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { AS_OF, atMoment, parseMoment } from './at-moment.ts';
import { type Lines, print, table } from './terminal.ts';
import { wantsJson, withPlatformToRead } from './with-platform.ts';
import { ensureProjector } from './with-projector.ts';

const CATCH_UP_MS = 60_000;

/** `espalier ledger`: what became of every sample of a policy. Exit 1 when one was lost or counted twice. */
export function addLedger(program: Command): void {
  const command = program
    .command('ledger')
    .option('--policy <name>', 'one policy (default: all)')
    .option('--as-of <moment>', `the account ${AS_OF}`, parseMoment);
  command.action(({ policy, asOf }: { policy?: string; asOf?: Moment }) =>
    withPlatformToRead('ledger', async (platform, signal) => {
      const policies = policy === undefined ? 'all' : [policy];
      const ledgers =
        asOf === undefined
          ? await readSettled(platform, policies, signal)
          : await atMoment(platform, asOf, 'all', signal, (db) => readLedgers(db, policies));
      if (policy !== undefined && ledgers.length === 0)
        throw new Error(`nobody trains a policy ${policy}; \`espalier ledger\` without --policy lists those that are trained`);
      if (ledgers.some(({ difference, ahead }) => difference !== 0 || ahead !== 0)) process.exitCode = 1;
      if (wantsJson(command)) return print(JSON.stringify(ledgers));
      if (ledgers.length === 0) return print('no policy is trained yet');
      for (const [i, ledger] of ledgers.entries()) {
        if (i > 0) print();
        print(writeLedger(ledger));
      }
    }),
  );
}

/** Lays a ledger out as an account whose lines add up. */
export function writeLedger({
  policyId,
  produced,
  trained,
  rejected,
  abandoned,
  owed,
  difference,
  ahead,
  running,
}: Ledger): Lines {
  const rows: [string, number][] = [
    ['produced', produced],
    ['trained', trained],
    ...Object.entries(rejected).map(([reason, samples]): [string, number] => [`rejected: ${reason}`, samples]),
    ...(abandoned > 0 ? [['abandoned', abandoned] satisfies [string, number]] : []),
    ['owed: waits for its group', owed.group],
    ['owed: ready', owed.ready],
    ['owed: planned', owed.planned],
    ['owed: leased', owed.leased],
    ['difference', difference],
  ];
  const notes = [
    ...(running > 0 ? [`${running} rollouts have begun and will be produced`] : []),
    ...(ahead !== 0 ? [`${ahead} samples are named by batches or rejections, and nobody produced them`] : []),
  ];
  return [table([policyId, 'samples'], rows), ...notes];
}

/** Reads the ledgers when the pool holds everything that is in the log now. */
async function readSettled(
  platform: Platform,
  policies: readonly string[] | 'all',
  signal: AbortSignal,
): Promise<readonly Ledger[]> {
  const projector = await ensureProjector(platform);
  try {
    const target = await platform.log.ends(topicsOf(trainingPool));
    const { db } = platform.database;
    await waitUntilProjected(db, target, { timeoutMs: CATCH_UP_MS, signal, projections: [trainingPool] });
    return await readLedgers(db, policies);
  } finally {
    await projector.close();
  }
}
