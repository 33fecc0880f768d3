import { TOPICS, type Topic } from '../events/catalogue.ts';
import { countNotices, type Notices } from '../postgres/notices.ts';

/** The NOTIFY channel on which a move of cursors is announced; the payload names the topic whose records were folded. */
export const CURSOR_CHANNEL = 'espalier_cursor';

/**
 * Counts notices of cursors that moved in topics, until closed; one that names no topic may mean any of them. @param topics those
 * that count, asked at each notice where they change. @throws as `listen`.
 */
export function countMoves(url: string, topics: readonly string[] | (() => readonly string[])): Promise<Notices> {
  const counted = typeof topics === 'function' ? topics : () => topics;
  return countNotices(url, [CURSOR_CHANNEL], {
    counts: ({ payload }) => counted().includes(payload) || !TOPICS.includes(payload as Topic), // compared with any text
  });
}
