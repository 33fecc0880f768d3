import type { Offsets } from '../log/event-log.ts';
import type { Db } from '../postgres/database.ts';

/** Where the live version of a projection stands. */
export interface Standing {
  readonly name: string;
  readonly state: 'running' | 'stopped';
  /** Why it is stopped. */
  readonly reason: string | null;
  readonly cursors: Offsets;
}

/** Reads where every projection stands, by name. */
export async function readStandings(db: Db): Promise<readonly Standing[]> {
  const rows = await db
    .selectFrom('projections as p')
    .leftJoin('cursors as c', (join) => join.onRef('c.projection', '=', 'p.name').onRef('c.version', '=', 'p.version'))
    .select(['p.name', 'p.state', 'p.reason', 'c.topic', 'c.partition', 'c.next_offset'])
    .orderBy('p.name')
    .execute();
  const standings = new Map<string, Omit<Standing, 'cursors'> & { readonly cursors: Map<string, Map<number, number>> }>();
  for (const { name, state, reason, topic, partition, next_offset } of rows) {
    const standing = standings.get(name) ?? { name, state, reason, cursors: new Map<string, Map<number, number>>() };
    standings.set(name, standing);
    if (topic === null || partition === null || next_offset === null) continue; // no cursor yet
    const partitions = standing.cursors.get(topic) ?? new Map<number, number>();
    standing.cursors.set(topic, partitions.set(partition, next_offset));
  }
  return [...standings.values()];
}

/** Counts the records between a projection's cursors and the ends of the topics that it reads. */
export function lagOf({ cursors }: Standing, ends: Offsets, topics: readonly string[]): number {
  let lag = 0;
  for (const topic of topics)
    for (const [partition, end] of ends.get(topic) ?? []) lag += Math.max(0, end - (cursors.get(topic)?.get(partition) ?? 0));
  return lag;
}
