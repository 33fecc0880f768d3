import { sql } from 'kysely';
import type { SearchFact } from '../../domain/search/search-facts.ts';
import type { Envelope } from '../../events/envelope.ts';
import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { readEventsOfTypes } from '../journal/read-events-of-types.ts';

export interface NodeStatistics {
  readonly stepId: string;
  readonly treeId: string;
  readonly visits: number;
  readonly valueSum: number;
}

/** Reads the search statistics of whole trees as they are now; steps that no back-up passed are left out. */
export async function readStatistics(db: Db, trees: readonly string[]): Promise<readonly NodeStatistics[]> {
  const rows = await rowsWhere(db, 'nodeStatistics', { treeId: trees }, ['stepId', 'treeId', 'visits', 'valueSum']);
  return rows;
}

/**
 * Reads the search statistics of whole trees as they were after their first `simulations` back-ups, summed in the order of the
 * log.
 */
export async function readStatisticsAsOf(
  db: Db,
  trees: readonly string[],
  simulations: number,
): Promise<readonly NodeStatistics[]> {
  const { rows } = await sql<NodeStatistics>`
    select p.step_id, t.tree_id, count(*) as visits, sum(value order by log_offset) as value_sum
    from unnest(${[...trees]}::uuid[]) as t(tree_id)
    cross join lateral (
      select value, path, log_offset from backups where tree_id = t.tree_id order by log_offset limit ${simulations}
    ) b
    cross join lateral unnest(b.path) as p(step_id)
    group by t.tree_id, p.step_id`.execute(db);
  return rows;
}

/** Counts the back-ups of trees: tree → number. */
export async function countBackups(db: Db, trees: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ tree: string; backups: number }>`
    select tree_id as tree, count(*) as backups from backups where tree_id = any(${[...trees]}::uuid[]) group by 1`.execute(db);
  return new Map(rows.map(({ tree, backups }) => [tree, backups]));
}

export interface BackUp {
  readonly treeId: string;
  readonly value: number;
  /** Root first. */
  readonly path: readonly string[];
}

/** Reads the first `limit` back-ups of searches in the order of the log. */
export async function readBackUps(db: Db, trees: readonly string[], limit: number): Promise<readonly BackUp[]> {
  const { rows } = await sql<BackUp>`
    select t.tree_id, b.value, b.path
    from unnest(${[...trees]}::uuid[]) as t(tree_id)
    cross join lateral (
      select value, path, log_offset from backups where tree_id = t.tree_id order by log_offset limit ${limit}
    ) b
    order by t.tree_id, b.log_offset`.execute(db);
  return rows;
}

/**
 * Reads what happened in the search of a tree from the journal, in the order of the log. Empty for a tree that was not searched.
 */
export async function readSearchFacts(db: Db, treeId: string): Promise<readonly SearchFact[]> {
  const events = await readEventsOfTypes(db, treeId, ['NodeAdded', 'NodeExpanded', 'ValueBackedUp']);
  return events.map(factOf);
}

function factOf(event: Envelope<'NodeAdded' | 'NodeExpanded' | 'ValueBackedUp'>): SearchFact {
  switch (event.type) {
    case 'NodeAdded': {
      const { treeId: _, ...fact } = event.data;
      return { kind: 'child-added', ...fact };
    }
    case 'NodeExpanded': {
      const { simulation, stepId, reason } = event.data;
      return { kind: 'node-expanded', simulation, stepId, ...(reason === '' ? {} : { reason }) };
    }
    case 'ValueBackedUp': {
      const { treeId: _, ...fact } = event.data;
      return { kind: 'backed-up', ...fact };
    }
    default:
      return event satisfies never;
  }
}
