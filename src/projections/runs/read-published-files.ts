import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';

/** A tree that the published program would have written as `search_results_<alias>.json`. */
export interface PublishedFile {
  readonly treeId: string;
  /** The environment's number of the task. */
  readonly alias: string;
}

/**
 * Reads the finished trees of a run in the order in which the published program takes its files, that of their numbers, and
 * counts all that were opened.
 */
export async function readPublishedFiles(
  db: Db,
  runId: string,
): Promise<{ readonly files: readonly PublishedFile[]; readonly opened: number }> {
  const rows = await rowsWhere(db, 'trees', { runId }, ['treeId', 'alias', 'closeReason'], ['openedAt', 'treeId']);
  const whole = rows.filter(({ closeReason: reason }) => reason === 'completed' || reason === 'exhausted');
  const files = whole.map(({ treeId, alias }) => ({ treeId, alias })).sort((a, b) => compareAliases(a.alias, b.alias));
  return { files, opened: rows.length };
}

/** Numbers first, by their size; what is none, which the published program would not read, keeps its place behind them. */
function compareAliases(a: string, b: string): number {
  const [one, other] = [a, b].map((alias) => (/^\d+$/.test(alias) ? BigInt(alias) : null));
  if (one == null || other == null) return one === other ? 0 : one == null ? 1 : -1;
  return one < other ? -1 : one > other ? 1 : 0;
}
