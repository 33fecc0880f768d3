import type { Platform } from '../../platform/open-platform.ts';
import { ProjectionsBehind } from '../../projections/wait-until.ts';
import type { Running } from '../../runtime/lifecycle.ts';
import type { Logger } from '../../runtime/logger.ts';
import { runRelay } from '../../training/outbox/relay.ts';
import { openLeaseService } from './open-lease-service.ts';

/** Relays the outbox and ends leases that ran out, until closed. Any number of processes may do so. */
export async function relay(platform: Platform, logger: Logger): Promise<Running> {
  const { database, log, directUrl: databaseUrl } = platform;
  const service = openLeaseService(platform);
  return runRelay({
    db: database.db,
    log,
    databaseUrl,
    beforePass: async () => {
      try {
        const ended = await service.expire();
        if (ended > 0) logger.info('leases ran out', { ended });
      } catch (error) {
        if (!(error instanceof ProjectionsBehind)) throw error;
        logger.warn('leases that ran out wait for the read models', { error }); // what lies in the outbox does not
      }
    },
    onFault: (error) => logger.warn('the relay waits for the log or the database', { error }),
  });
}
