import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../events/new-id.ts';
import type { Subscription } from '../../log/event-log.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { runProjections } from '../../projections/runner.ts';
import { settle } from '../../testing/crashing-run.ts';
import { freezeInAppend } from '../../testing/freeze-append.ts';
import { readModels } from '../../testing/read-models.ts';
import { until } from '../../testing/until.ts';
import { RunBusy } from '../collect/hold-run.ts';
import { SELF_TRAIN_DEFAULTS, type SelfTrainPlan } from './plan.ts';
import { type IterationResult, selfTrain } from './self-train.ts';

const plan: SelfTrainPlan = {
  ...SELF_TRAIN_DEFAULTS,
  environment: 'textcraft',
  methods: ['good-only'],
  alphas: [0.5],
  judge: 'planner-strict',
  seeds: [1],
  trainTasks: 3,
  search: { iterations: 2, candidates: 3, maxDepth: 8, exploration: 0.25 },
  testTasks: 2,
  testRollouts: 1,
  maxSteps: 8,
};

/** What late events leave in the read models: the note that they came, and where they lie in the log. */
const NOTED = ['anomalies', 'chain_blocks'];

/**
 * Describes what a self-training appends of its own that froze and was replaced, over one event log. Its searches, verdicts and
 * evaluations are fenced by the epochs of their runs.
 */
export function describeFrozenSelfTraining(open: () => Promise<Platform>): void {
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

  test.each(['ExperimentDeclared', 'DatasetReleased', 'MetricRecorded'])(
    'a self-training that froze in the append of %s changes nothing when it wakes after another process ended it',
    async (type) => {
      const selfTrainId = newId();
      const training = { selfTrainId, plan, concurrency: 2, seedsAtATime: 1, signal: new AbortController().signal };
      const first = await freezeInAppend(platform, type, (frozen) => selfTrain(frozen, training));
      const { pool, db } = platform.database;
      let results: readonly IterationResult[] = [];
      await until(async () => {
        await pool.query("update run_epochs set heard_at = heard_at - interval '1 hour'"); // silent for long
        results = await selfTrain(platform, training).catch((error: unknown) => {
          if (error instanceof RunBusy) return []; // its heart beats here, in the same process
          throw error;
        });
        return results.length > 0;
      });
      expect(results.map(({ iteration }) => iteration)).toEqual([0, 1]);
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
