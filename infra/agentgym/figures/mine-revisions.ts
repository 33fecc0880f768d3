import { createAppender } from '../../../src/append/appender.ts';
import { openEnvironment } from '../../../src/environments/open-environment.ts';
import { TOPICS } from '../../../src/events/catalogue.ts';
import type { Platform } from '../../../src/platform/open-platform.ts';
import { waitUntilProjected } from '../../../src/projections/wait-until.ts';
import { reviseRun } from '../../../src/usecases/revise/revise-run.ts';

export interface Mined {
  readonly revisions: number;
  readonly verified: number;
  readonly wallMs: number;
}

const WAIT_MS = 300_000;

/** Composes, executes and records the revisions of a searched run, and measures how long that takes. */
export async function mineRevisions(platform: Platform, runId: string, environment: string): Promise<Mined> {
  const { database, log, blobs, stamp } = platform;
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: WAIT_MS });
  const kind = await openEnvironment(environment);
  try {
    const began = performance.now();
    const { revisions, verified } = await reviseRun({
      db: database.db,
      runId,
      plannedTrees: null,
      judge: null,
      kind,
      read: null,
      checking: 'execute',
      plan: { alpha: 0.5, beta: 0.2, seed: 1, signal: 'thought', beforeBranch: 'clamp', unparsed: 'continue' },
      appender: createAppender({ log, blobs, stamp, producer: { name: 'reviser', version: 'figures' }, clock: Date.now }),
      resolve: async () => '',
      concurrency: 8,
      signal: new AbortController().signal,
    });
    return { revisions, verified, wallMs: performance.now() - began };
  } finally {
    await kind.close();
  }
}
