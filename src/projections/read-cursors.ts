import { sql } from 'kysely';
import type { Offsets } from '../log/event-log.ts';
import type { Db } from '../postgres/database.ts';

/** How far the live version of a projection is. A partition that it has never met is not in its cursors: it is at 0. */
export interface ProjectionCursors {
  readonly name: string;
  readonly version: number;
  readonly state: 'running' | 'stopped';
  readonly reason: string | null;
  readonly cursors: Offsets;
}

/** Reads how far every installed projection is, by name, in one statement. */
export async function readCursors(db: Db): Promise<readonly ProjectionCursors[]> {
  const { rows } = await sql<Omit<ProjectionCursors, 'cursors'> & { cursors: [string, number, number][] }>`
    select p.name, p.version, p.state, p.reason,
           coalesce(jsonb_agg(jsonb_build_array(c.topic, c.partition, c.next_offset)) filter (where c.topic is not null), '[]') as cursors
    from projections p left join cursors c on c.projection = p.name and c.version = p.version
    group by p.name, p.version, p.state, p.reason
    order by p.name`.execute(db);
  return rows.map((row) => ({ ...row, cursors: toOffsets(row.cursors) }));
}

function toOffsets(entries: readonly [string, number, number][]): Offsets {
  const offsets = new Map<string, Map<number, number>>();
  for (const [topic, partition, next] of entries)
    offsets.set(topic, (offsets.get(topic) ?? new Map<number, number>()).set(partition, next));
  return offsets;
}
