import { TOPICS, type Topic } from '../events/catalogue.ts';
import { countNotices, type Notices } from '../postgres/notices.ts';

/** The NOTIFY channel on which a move of cursors is announced; the payload names the topic whose records were folded. */
export const CURSOR_CHANNEL = 'espalier_cursor';

/**
 * Counts notices of cursors that moved in topics, until closed; one that names no topic may mean any of them. @throws as
 * `listen`.
 */
export function countMoves(url: string, topics: readonly string[]): Promise<Notices> {
  return countNotices(
    url,
    [CURSOR_CHANNEL],
    ({ payload }) => topics.includes(payload) || !TOPICS.includes(payload as Topic), // compared with any text
  );
}
