import type { Extents, Offsets } from '../log/event-log.ts';

/** A way in which a log is not the one that was recorded and folded. */
export interface LogFault {
  readonly kind: 'topic-missing' | 'other-partitions' | 'records-gone' | 'end-gone';
  readonly topic: string;
  /** What is wrong, as a clause. */
  readonly detail: string;
}

export interface KnownLog {
  /** Topic → how many partitions it had at its first start. */
  readonly partitions: ReadonlyMap<string, number>;
  readonly extents: Extents;
  /** The furthest cursor of any read model, by partition. */
  readonly cursors: Offsets;
}

/** Compares what the topics hold with the recorded partitions and the cursors. Returns one fault of a topic of each kind at most. */
export function findLogFaults({ partitions: recorded, extents, cursors }: KnownLog): readonly LogFault[] {
  const topics = [...new Set([...recorded.keys(), ...extents.keys()])].sort();
  return topics.flatMap((topic): LogFault[] => {
    const count = recorded.get(topic);
    const partitions = extents.get(topic);
    if (!partitions) return [{ kind: 'topic-missing', topic, detail: `topic ${topic} is gone` }];
    const held = [...partitions].sort(([a], [b]) => a - b);
    const faults: LogFault[] = [];
    if (count !== undefined && held.length !== count)
      faults.push({
        kind: 'other-partitions',
        topic,
        detail: `topic ${topic} has ${held.length} partitions, and ${count} are recorded`,
      });
    const gone = held.filter(([, { first }]) => first > 0);
    const [lost] = gone;
    if (lost)
      faults.push({
        kind: 'records-gone',
        topic,
        detail: `${topic}.${lost[0]} no longer holds the records from 0 to ${lost[1].first}${others(gone)}`,
      });
    const short = held.flatMap(([partition, { next }]) => {
      const cursor = cursors.get(topic)?.get(partition) ?? 0;
      return cursor > next ? [[partition, { next, cursor }] as const] : [];
    });
    const [shortest] = short;
    if (shortest)
      faults.push({
        kind: 'end-gone',
        topic,
        detail: `${topic}.${shortest[0]} ends at ${shortest[1].next}, and was folded up to ${shortest[1].cursor}${others(short)}`,
      });
    return faults;
  });
}

function others(all: readonly unknown[]): string {
  return all.length > 1 ? ` (and ${all.length - 1} more partitions)` : '';
}

/** The log is not the one that the read models of this database were folded from, or not all of it. */
export class LogChanged extends Error {
  override readonly name = 'LogChanged';
  readonly faults: readonly LogFault[];
  constructor(faults: readonly LogFault[]) {
    const shown = faults.slice(0, SHOWN).map(({ detail }) => detail);
    const more = faults.length > SHOWN ? `; ${faults.length - SHOWN} more` : '';
    super(`the log is not as it was recorded: ${shown.join('; ')}${more}; ${REMEDY}`);
    this.faults = faults;
  }
}

const SHOWN = 3;

const REMEDY =
  'restore the topics as they were; or keep what this database still holds: `espalier export --format jsonl` reads it without the log, ' +
  'and `espalier import` appends it to a new one (another ESPALIER_KAFKA_PREFIX and DATABASE_URL); `espalier verify` names what is missing';
