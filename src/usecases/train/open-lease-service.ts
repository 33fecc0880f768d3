import { CODE_VERSION } from '../../platform/code-version.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { createLeaseService, type LeaseService } from '../../training/leases/lease-service.ts';
import { createRelay } from '../../training/outbox/relay.ts';

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
