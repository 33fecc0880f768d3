import { RECORDS_CHANNEL } from './embedded-log-session.ts';
import type { Pool } from './embedded-log-topics.ts';

/** Notices to the readers of partitions that others than the appender of this process wrote to. */
export interface GrowthNotices {
  /** Has readers of a partition look, soon; nobody waits for it. One that is lost costs them a look a few seconds later. */
  notify(partitionId: number): void;
  /** Resolves when all notices are sent. */
  close(): Promise<void>;
}

export function openGrowthNotices(pool: Pool): GrowthNotices {
  const waiting = new Set<number>();
  let sending: Promise<void> | undefined;
  return {
    notify(partitionId) {
      waiting.add(partitionId);
      sending ??= send().finally(() => {
        sending = undefined;
      });
    },
    close: async () => sending,
  };

  /** One at a time: what comes meanwhile goes out together. */
  async function send(): Promise<void> {
    while (waiting.size > 0) {
      const ids = [...waiting];
      waiting.clear();
      await pool.query('select pg_notify($1, $2)', [RECORDS_CHANNEL, ids.join(',')]).catch(() => undefined);
    }
  }
}
