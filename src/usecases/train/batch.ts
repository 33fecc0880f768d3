import { CODE_VERSION } from '../../platform/code-version.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { topicsOf } from '../../projections/concerns.ts';
import { countMoves } from '../../projections/moved-cursors.ts';
import { trainingPool } from '../../projections/training-pool/training-pool.ts';
import type { Running } from '../../runtime/lifecycle.ts';
import type { Logger } from '../../runtime/logger.ts';
import { type Planned, planLineage } from './batcher/plan-lineage.ts';
import { isFault, runBatcher } from './batcher/run-batcher.ts';

const CATCH_UP_MS = 60_000;

export interface Batching extends Running {
  /**
   * Plans one policy now, whatever the loop does; `idle` says that nothing follows from all that was recorded before the call.
   * `busy` as well while the database or the log is away.
   */
  planNow(policyId: string, signal: AbortSignal): Promise<Planned>;
}

/** Plans the batches of every declared policy in this process until closed, and says once what was planned or waits. */
export async function batch({ database, directUrl, log, blobs, stamp }: Platform, logger: Logger): Promise<Batching> {
  const notices = await countMoves(directUrl, topicsOf(trainingPool));
  const stopping = new AbortController();
  const producer = { name: 'batcher', version: CODE_VERSION };
  const world = { db: database.db, log, blobs, stamp, producer, clock: Date.now, catchUpMs: CATCH_UP_MS };
  const finished = runBatcher(
    {
      ...world,
      notices,
      report(event) {
        const { kind, ...fields } = event;
        if (kind === 'planned') logger.info('batches planned', fields);
        else logger.warn('a lineage is not planned', fields);
      },
    },
    stopping.signal,
  );
  return {
    finished,
    async planNow(policyId, signal) {
      try {
        return await planLineage(world, policyId, signal);
      } catch (error) {
        if (isFault(error)) return { kind: 'busy' };
        throw error;
      }
    },
    async close() {
      stopping.abort();
      await finished;
      await notices.close();
    },
  };
}
