import { streamTaken } from '../events/stream-of.ts';
import type { Db } from '../postgres/database.ts';
import { readStreamEnd } from '../projections/journal/read-stream-topics.ts';

/**
 * Returns the number that a producer's next event in a stream takes. The read models must have caught up with what it appended
 * before. @throws RangeError when the record holds the stream in another topic.
 */
export async function nextSequence(db: Db, producer: string, stream: string, topic: string): Promise<number> {
  const { next, home } = await readStreamEnd(db, stream, producer);
  if (home === null || home === topic) return next ?? 0;
  const { message, remedy } = streamTaken(stream, home, topic);
  throw new RangeError(`${message}; ${remedy}`);
}
