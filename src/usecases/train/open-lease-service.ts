import { CODE_VERSION } from '../../platform/code-version.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { ProjectionsBehind, waitUntilProjected } from '../../projections/wait-until.ts';
import type { Running } from '../../runtime/lifecycle.ts';
import type { Logger } from '../../runtime/logger.ts';
import { warnSeldom } from '../../runtime/warn-seldom.ts';
import { createLeaseService, type LeaseService } from '../../training/leases/lease-service.ts';
import { createRelay, runRelay } from '../../training/outbox/relay.ts';

const CATCH_UP_MS = 30_000; // a member that is frozen keeps its partitions for 10 s

/**
 * Opens the lease service of a platform. Its calls answer when their events are in the log: they append them, or this process
 * relays what it decides.
 */
export function openLeaseService({
  database,
  log,
  blobs,
  stamp,
}: Pick<Platform, 'database' | 'log' | 'blobs' | 'stamp'>): LeaseService {
  const { db } = database;
  return createLeaseService({
    db,
    blobs,
    stamp,
    producer: { name: 'lease-desk', version: CODE_VERSION },
    relay: createRelay({ db, log }),
    ...(log.whilePlaced && { whilePlaced: log.whilePlaced }),
    caughtUp: async () => waitUntilProjected(db, await log.ends(['training']), { timeoutMs: CATCH_UP_MS }),
  });
}

/** Relays the outbox and ends leases that ran out, until closed. Any number of processes may do so. */
export async function relay(platform: Platform, logger: Logger): Promise<Running> {
  const { database, log, directUrl: databaseUrl, metrics } = platform;
  const expired = metrics.counter('relay_expired_leases_total', 'Leases that ran out and that this process ended');
  const faults = metrics.counter('relay_faults_total', 'Times that the relay waited for the log or the database');
  const warnFault = warnSeldom(logger, 'the relay waits for the log or the database');
  const service = openLeaseService(platform);
  const warnBehind = warnSeldom(logger, 'leases that ran out wait for the read models');
  return runRelay({
    db: database.db,
    log,
    databaseUrl,
    beforePass: async () => {
      try {
        const ended = await service.expire();
        expired.add(ended, {});
        if (ended > 0) logger.info('leases ran out', { ended });
      } catch (error) {
        if (!(error instanceof ProjectionsBehind)) throw error;
        warnBehind(error); // what lies in the outbox does not wait
      }
    },
    onFault(error) {
      faults.add(1, {});
      warnFault(error);
    },
  });
}
