import type { Receipt } from '../../src/log/event-log.ts';
import { listen } from '../../src/postgres/notices.ts';
import { CURSOR_CHANNEL } from '../../src/projections/moved-cursors.ts';
import { readCursors } from '../../src/projections/projection-statuses.ts';
import type { StageDatabase } from './stage.ts';

export interface CursorWatch {
  /** Resolves with the time (performance.now) at which every watched projection was seen past the record. */
  passed(receipt: Receipt): Promise<number>;
  close(): Promise<void>;
}

/** Watches cursors as a waiting reader does: each notice of the projector is a hint to look. */
export async function watchCursors(database: StageDatabase, projections: readonly string[]): Promise<CursorWatch> {
  const waiting = new Map<string, { readonly offset: number; readonly resolve: (at: number) => void }[]>();
  let looking: Promise<void> | undefined;
  let again = false;

  async function look(): Promise<void> {
    do {
      again = false;
      const cursors = await readCursors(database.db);
      const at = performance.now();
      for (const [place, waiters] of waiting) {
        const [topic = '', partition = ''] = place.split('/');
        const next = Math.min(...projections.map((name) => cursors.get(name)?.get(topic)?.get(Number(partition)) ?? 0));
        for (const { resolve } of waiters.filter(({ offset }) => offset < next)) resolve(at);
        waiting.set(
          place,
          waiters.filter(({ offset }) => offset >= next),
        );
      }
    } while (again);
  }
  const hint = (): void => {
    again = true;
    looking ??= look().finally(() => {
      looking = undefined;
    });
  };
  const listening = await listen(database.url, [CURSOR_CHANNEL], hint);
  return {
    passed({ topic, partition, offset }) {
      return new Promise((resolve) => {
        const place = `${topic}/${partition}`;
        waiting.set(place, [...(waiting.get(place) ?? []), { offset, resolve }]);
        hint(); // it may be past already
      });
    },
    async close() {
      await listening.close();
      await looking;
    },
  };
}
