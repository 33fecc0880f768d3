import { catalogue } from '../../events/catalogue.ts';
import { streamTaken } from '../../events/stream-of.ts';
import type { Db } from '../../postgres/database.ts';
import { readStreamTopics } from '../../projections/journal/read-stream-topics.ts';
import type { Cache } from '../../runtime/cache.ts';
import type { Problem } from '../reply.ts';
import type { SentEvent } from './check-events.ts';

/**
 * Checks that every stream stays in one topic: one id for a run and a tree would make one stream over two topics, whose order no
 * reader could know. The first topic keeps the stream: that of the request, of what was appended lately, or of the journal. What
 * is fine is claimed in `recent`, so that of two requests at once one is refused.
 */
export async function checkStreamTopics(
  events: readonly SentEvent[],
  db: Db,
  recent: Cache<string>,
): Promise<readonly Problem[]> {
  const streams = new Set(events.map(({ event }) => event.stream));
  const unknown = [...streams].filter((stream) => recent.get(stream) === undefined);
  const journalled = await readStreamTopics(db, unknown);
  const claimed = new Map<string, string>();
  const problems: Problem[] = [];
  for (const { index, event } of events) {
    const { topic, stream: field } = catalogue[event.type];
    const home = claimed.get(event.stream) ?? recent.get(event.stream) ?? journalled.get(event.stream) ?? topic;
    claimed.set(event.stream, home);
    if (home !== topic) problems.push({ index, id: event.id, path: `data.${field}`, ...streamTaken(event.stream, home, topic) });
  }
  if (problems.length === 0) for (const [stream, topic] of claimed) recent.set(stream, topic);
  return problems;
}
