import type { Offsets } from '../../src/log/event-log.ts';
import { parsePosition } from '../../src/log/position.ts';
import { topicsOf } from '../../src/projections/apply-slice.ts';
import type { Projection } from '../../src/projections/projection.ts';
import type { Sources } from '../context.ts';
import { refusal } from '../errors.ts';

/** Gives the end of the log over every topic that a projection reads. */
export async function logEnd({ log, projections }: Sources): Promise<Offsets> {
  return log.ends([...new Set(projections.flatMap(topicsOf))]);
}

/** Keeps the part of a position that a projection can reach: the topics it reads. */
export function within(position: Offsets, projection: Projection): Offsets {
  const topics = topicsOf(projection);
  return new Map([...position].filter(([topic]) => topics.includes(topic)));
}

/** Takes a position from the caller. @throws BAD_USER_INPUT that names the argument. */
export function argumentPosition(argument: string, text: string): Offsets {
  try {
    return parsePosition(text);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw refusal('BAD_USER_INPUT', `${argument}: ${error.message}`, { argument });
  }
}
