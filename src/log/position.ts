import type { Offsets, Receipt } from './event-log.ts';

const TEXT_LIMIT = 200_000; // characters: five topics of a thousand partitions each fit
const SHOWN = 20; // partitions in a message
const ENTRY = /^([A-Za-z0-9._-]{1,249})\.(\d{1,9}):(\d{1,16})$/; // 249: the longest topic name Kafka takes

/** What a position looks like, for schemas. */
export const POSITION = /^([A-Za-z0-9._-]{1,249}\.\d{1,9}:\d{1,15}(,[A-Za-z0-9._-]{1,249}\.\d{1,9}:\d{1,15})*)?$/;

/**
 * Writes next offsets as a readable text, `runs.0:3,trees.2:41`: topics by name, partitions by number, so equal offsets are equal
 * texts. No offsets at all are the empty text.
 */
export function formatPosition(offsets: Offsets): string {
  const entries: string[] = [];
  for (const topic of [...offsets.keys()].sort()) {
    const partitions = [...(offsets.get(topic) ?? [])].sort(([a], [b]) => a - b);
    for (const [partition, next] of partitions) entries.push(`${topic}.${partition}:${next}`);
  }
  return entries.join(',');
}

/**
 * Reads the text that `formatPosition` wrote. @throws RangeError that names the part which is no position and says how one looks.
 */
export function parsePosition(text: string): Offsets {
  if (text.length > TEXT_LIMIT) throw new RangeError(`a position has at most ${TEXT_LIMIT} characters, not ${text.length}`);
  const offsets = new Map<string, Map<number, number>>();
  if (text === '') return offsets;
  for (const entry of text.split(',')) {
    const match = ENTRY.exec(entry);
    const [topic, partition, next] = [match?.[1], Number(match?.[2]), Number(match?.[3])];
    if (topic === undefined || !Number.isSafeInteger(next)) throw notAPosition(entry, 'is not topic.partition:offset');
    const partitions = offsets.get(topic) ?? new Map<number, number>();
    if (partitions.has(partition)) throw notAPosition(entry, 'names its partition a second time');
    offsets.set(topic, partitions.set(partition, next));
  }
  return offsets;
}

/** Returns whether cursors are at or past every offset of the target. A partition without a cursor is at 0. */
export function reached(cursors: Offsets, target: Offsets): boolean {
  for (const [topic, partitions] of target) {
    const own = cursors.get(topic);
    for (const [partition, next] of partitions) if ((own?.get(partition) ?? 0) < next) return false;
  }
  return true;
}

/**
 * Returns which topic or partition of a position the log does not have, and which it has; null when it has all of them. What
 * nobody reads is never behind, so that a wait for a misspelt topic would end at once.
 */
export function nameUnknown(position: Offsets, end: Offsets): string | null {
  for (const [topic, partitions] of position) {
    const own = end.get(topic);
    if (!own)
      return `names the topic ${JSON.stringify(topic)}, which the log does not have; it has ${[...end.keys()].sort().join(', ') || 'none'}`;
    for (const partition of partitions.keys()) {
      if (own.has(partition)) continue;
      const known = [...own.keys()].sort((a, b) => a - b);
      return `names partition ${partition} of ${topic}, which has ${known.slice(0, SHOWN).join(', ')}${known.length > SHOWN ? `, … ${known.at(-1)}` : ''}`;
    }
  }
  return null;
}

/** Returns the position that lies just after all of the receipts: what to wait for in order to read what was appended. */
export function positionAfter(receipts: readonly Receipt[]): Offsets {
  const offsets = new Map<string, Map<number, number>>();
  for (const { topic, partition, offset } of receipts) {
    const partitions = offsets.get(topic) ?? new Map<number, number>();
    offsets.set(topic, partitions.set(partition, Math.max(partitions.get(partition) ?? 0, offset + 1)));
  }
  return offsets;
}

function notAPosition(entry: string, reason: string): RangeError {
  return new RangeError(
    `${JSON.stringify(entry.slice(0, 80))} ${reason}; a position looks like runs.0:3,trees.2:41, pass one that this server gave`,
  );
}
