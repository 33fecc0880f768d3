import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Subscription } from '../../log/event-log.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { runProjections } from '../../projections/runner.ts';
import { settle } from '../../testing/crashing-run.ts';
import { freezeInAppend } from '../../testing/freeze-append.ts';
import { readModels } from '../../testing/read-models.ts';
import { until } from '../../testing/until.ts';
import { RunBusy } from '../collect/hold-run.ts';
import { experimentOf } from './declaration/parse-experiment.ts';
import { declaredAs } from './record-experiment.ts';
import { type ExperimentResult, runExperiment } from './run-experiment.ts';

const experiment = {
  name: 'frozen',
  environment: 'textcraft',
  stages: {
    search: { policy: 'linear', split: 'train', tasks: 3, iterations: 2, candidates: 3, maxDepth: 8, maxSteps: 8 },
    release: { of: 'search' },
    train: { on: 'release', epochs: 1 },
    evaluate: { policy: { of: 'train' }, split: 'test', tasks: 2, maxSteps: 8 },
  },
};

/** What late events leave in the read models: the note that they came, and where they lie in the log. */
const NOTED = ['anomalies', 'chain_blocks'];

/**
 * Describes what an experiment appends of its own that froze and was replaced, over one event log. Its searches and evaluations are
 * fenced by the epochs of their runs.
 */
export function describeFrozenExperiment(open: () => Promise<Platform>): void {
  let platform: Platform;
  let projector: Subscription;
  beforeAll(async () => {
    platform = await open();
    projector = await runProjections({ log: platform.log, database: platform.database });
  });
  afterAll(async () => {
    await projector.close();
    await platform.close();
  });

  // each with a seed of its own: stages that another experiment has done are not done again
  test.each([
    ['ExperimentDeclared', 1],
    ['DatasetReleased', 2],
    ['StageFinished', 3],
  ] as const)(
    'an experiment that froze in the append of %s changes nothing when it wakes after another process ended it',
    async (type, seed) => {
      const declared = declaredAs(experimentOf({ ...experiment, seeds: [seed] }));
      const run = { declared, signal: new AbortController().signal };
      const first = await freezeInAppend(platform, type, (frozen) => runExperiment(frozen, run));
      const { pool, db } = platform.database;
      let result: ExperimentResult | undefined;
      await until(async () => {
        await pool.query("update run_epochs set heard_at = heard_at - interval '1 hour'"); // silent for long
        result = await runExperiment(platform, run).catch((error: unknown) => {
          if (error instanceof RunBusy) return undefined; // its heart beats here, in the same process
          throw error;
        });
        return result !== undefined;
      });
      expect(result?.state).toBe('completed');
      await settle(platform);
      const before = await modelsOf();

      first.wake();
      expect(await first.ended).toMatchObject({ name: 'RunTakenOver' });
      await settle(platform);
      expect(await modelsOf()).toEqual(before);
      const kinds = await db.selectFrom('anomalies').select('kind').distinct().execute();
      for (const { kind } of kinds) expect(['duplicate', 'superseded']).toContain(kind);
      const waiting = await db.selectFrom('quarantine').select(['type', 'code']).execute();
      for (const { code } of waiting) expect(code).toBe('conflict'); // another position that was read, which is no second fact
    },
  );

  async function modelsOf() {
    const all = await readModels(platform.database.db, ['updated_at']);
    return Object.fromEntries(Object.entries(all).filter(([table]) => !NOTED.includes(table)));
  }
}
