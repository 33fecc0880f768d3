import type { Offsets } from '../log/event-log.ts';
import type { Db } from '../postgres/database.ts';
import { readCursors } from './wait-until.ts';

/** The status of the live version of a projection. */
export interface ProjectionStatus {
  readonly name: string;
  readonly version: number;
  readonly state: 'running' | 'stopped';
  /** Why it is stopped. */
  readonly reason: string | null;
  readonly cursors: Offsets;
}

/** Reads the status of every installed projection, by name. */
export async function readProjectionStatuses(db: Db): Promise<readonly ProjectionStatus[]> {
  const [rows, cursors] = await Promise.all([
    db.selectFrom('projections').select(['name', 'version', 'state', 'reason']).orderBy('name').execute(),
    readCursors(db),
  ]);
  return rows.map((row) => ({ ...row, cursors: cursors.get(row.name) ?? new Map() }));
}

/** Counts the records between a projection's cursors and the ends of the topics that it reads. */
export function lagOf({ cursors }: Pick<ProjectionStatus, 'cursors'>, ends: Offsets, topics: readonly string[]): number {
  let lag = 0;
  for (const topic of topics)
    for (const [partition, end] of ends.get(topic) ?? []) lag += Math.max(0, end - (cursors.get(topic)?.get(partition) ?? 0));
  return lag;
}
