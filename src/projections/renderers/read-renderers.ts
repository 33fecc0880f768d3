import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';

/** The module by which the studio shows the steps of an environment. */
export interface RendererRecord {
  readonly runId: string;
  readonly environment: string;
  readonly sha256: string;
  readonly source: string;
}

/** Reads the renderers that runs bring, in one statement. */
export async function readRenderers(db: Db, runs: readonly string[]): Promise<readonly RendererRecord[]> {
  return rowsWhere(db, 'renderers', { runId: runs }, ['runId', 'environment', 'sha256', 'source']);
}
