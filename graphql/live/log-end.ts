import type { Offsets } from '../../src/log/event-log.ts';
import { formatPosition, nameUnknown, parsePosition, reached } from '../../src/log/position.ts';
import { topicsOf } from '../../src/projections/concerns.ts';
import type { Projection } from '../../src/projections/projection.ts';
import type { Sources } from '../context.ts';
import { refusal } from '../errors.ts';

/** Returns the end of the log over every topic that a projection reads. */
export async function logEnd({ log, projections }: Sources): Promise<Offsets> {
  return log.ends([...new Set(projections.flatMap(topicsOf))]);
}

/** Keeps the part of a position that a projection can reach: the topics it reads. */
export function restrictToProjection(position: Offsets, projection: Projection): Offsets {
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

/**
 * Checks that the log has come as far as a position of the caller: what lies beyond it comes from another log. @throws
 * BAD_USER_INPUT that names the end.
 */
export function assertReached(argument: string, position: Offsets, end: Offsets): void {
  const unknown = nameUnknown(position, end);
  if (unknown !== null)
    throw refusal('BAD_USER_INPUT', `${argument} ${unknown}; pass a position that this server gave`, { argument });
  if (!reached(end, position))
    throw refusal(
      'BAD_USER_INPUT',
      `${argument} lies past the end of the log, ${formatPosition(end)}; pass a position that this server gave`,
      { argument },
    );
}
