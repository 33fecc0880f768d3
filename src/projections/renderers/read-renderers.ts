import type { Db } from '../../postgres/database.ts';

/** The module by which the studio shows the steps of an environment. */
export interface RendererRecord {
  readonly runId: string;
  readonly environment: string;
  readonly sha256: string;
  readonly source: string;
}

/** Reads the renderers that runs bring, in one statement. */
export async function readRenderers(db: Db, runs: readonly string[]): Promise<readonly RendererRecord[]> {
  return db
    .selectFrom('renderers')
    .select(['runId', 'environment', 'sha256', 'source'])
    .where('runId', 'in', [...runs])
    .execute();
}
