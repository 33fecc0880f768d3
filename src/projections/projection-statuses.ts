import { sql } from 'kysely';
import type { Offsets } from '../log/event-log.ts';
import type { Db } from '../postgres/database.ts';

/** The status of the live version of a projection. A partition that it has never met is not in its cursors: it is at 0. */
export interface ProjectionStatus {
  readonly name: string;
  readonly version: number;
  readonly state: 'running' | 'stopped';
  /** Why it is stopped. */
  readonly reason: string | null;
  readonly cursors: Offsets;
}

/** Reads the status of every installed projection, by name, in one statement. */
export async function readProjectionStatuses(db: Db): Promise<readonly ProjectionStatus[]> {
  const { rows } = await sql<Omit<ProjectionStatus, 'cursors'> & { cursors: [string, number, number][] }>`
    select p.name, p.version, p.state, p.reason,
           coalesce(jsonb_agg(jsonb_build_array(c.topic, c.partition, c.next_offset)) filter (where c.topic is not null), '[]') as cursors
    from projections p left join cursors c on c.projection = p.name and c.version = p.version
    group by p.name, p.version, p.state, p.reason
    order by p.name`.execute(db);
  return rows.map((row) => ({ ...row, cursors: toOffsets(row.cursors) }));
}

/** Reads the cursors of live projections: name → next offsets. */
export async function readCursors(db: Db): Promise<ReadonlyMap<string, Offsets>> {
  return new Map((await readProjectionStatuses(db)).map(({ name, cursors }) => [name, cursors]));
}

function toOffsets(entries: readonly [string, number, number][]): Offsets {
  const offsets = new Map<string, Map<number, number>>();
  for (const [topic, partition, next] of entries)
    offsets.set(topic, (offsets.get(topic) ?? new Map<number, number>()).set(partition, next));
  return offsets;
}

/** Counts the records between a projection's cursors and the ends of the topics that it reads. */
export function lagOf({ cursors }: Pick<ProjectionStatus, 'cursors'>, ends: Offsets, topics: readonly string[]): number {
  let lag = 0;
  for (const topic of topics)
    for (const [partition, end] of ends.get(topic) ?? []) lag += Math.max(0, end - (cursors.get(topic)?.get(partition) ?? 0));
  return lag;
}
