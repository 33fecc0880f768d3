import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../events/new-id.ts';
import type { Subscription } from '../log/event-log.ts';
import { runProjections } from '../projections/runner.ts';
import { countEvents, environmentOf, settle } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { until } from '../testing/until.ts';
import { startProcess } from '../testing/worker-process.ts';
import type { Collection } from './collect-into.ts';
import { evaluateInto } from './evaluate-into.ts';
import type { Platform } from './open-platform.ts';

let platform: Platform & { readonly home: string };
let projector: Subscription;
beforeAll(async () => {
  platform = await openTestPlatform();
  projector = await runProjections({ log: platform.log, database: platform.database });
});
afterAll(async () => {
  await projector.close();
  await platform.close();
});

const plan: Collection['plan'] = {
  environment: 'textcraft',
  tasks: ['0', '40', '90', '140'].map((alias) => ({ alias, rollouts: 3, branching: 'root' as const })),
  taskSeed: 0,
  policy: 'planner:0.5',
  temperature: 1,
  maxSteps: 12,
  search: null,
  evaluation: { split: null, resamples: 200, trained: null },
};
const evaluation = (part: Partial<Collection> = {}): Collection => ({
  ...{ runId: newId(), name: 'evaluate', seed: 5, plan, concurrency: 4, mode: 'new', signal: new AbortController().signal },
  ...part,
});

/** What an evaluation found, without its name and time. */
async function found(collection: Collection) {
  const { result } = await evaluateInto(platform, collection);
  if (!result) throw new Error('the evaluation was stopped');
  const { runId: _run, finishedAt: _at, ...rest } = result;
  return rest;
}

describe('evaluateInto', () => {
  test('records the result as an event of a run of kind evaluate; doing it again finds the same and appends nothing', async () => {
    const collection = evaluation();
    const result = await found(collection);
    expect(result).toMatchObject({
      policy: { policyId: 'planner-0.5', version: 0 },
      environment: 'textcraft',
      tasks: 4,
      episodes: 12,
      bootstrap: { confidence: 0.95, resamples: 200 },
      recovery: null,
      trained: null,
    });
    expect(result.successRate).toBe(result.meanReturn);
    expect(result.successInterval.low).toBeLessThanOrEqual(result.successRate);
    expect(result.successInterval.high).toBeGreaterThanOrEqual(result.successRate);
    expect(result.byDepth.reduce((sum, { episodes }) => sum + episodes, 0)).toBe(12);
    const run = await platform.database.db
      .selectFrom('runs')
      .select(['kind', 'outcome'])
      .where('run_id', '=', collection.runId)
      .executeTakeFirst();
    expect(run).toEqual({ kind: 'evaluate', outcome: 'completed' });

    const before = await countEvents(platform);
    expect(await found({ ...collection, mode: 'resume' })).toEqual(result);
    expect(await countEvents(platform)).toBe(before);
  });

  test('stopped anywhere and resumed, it comes to the result of the undisturbed one', async () => {
    const undisturbed = await found(evaluation());
    for (const steps of [1, 17, 50]) {
      const stopping = new AbortController();
      const collection = evaluation();
      const { result } = await evaluateInto(platform, {
        ...collection,
        signal: stopping.signal,
        progress: (p) => p.steps >= steps && stopping.abort(),
      });
      expect(result).toBeNull();
      expect(await found({ ...collection, mode: 'resume' })).toEqual(undisturbed);
    }
  });

  test('killed in the middle and begun again by the same command, it comes to the result of the undisturbed one', async () => {
    const undisturbed = await found(evaluation());
    const runId = newId();
    const flags = '--policy planner:0.5 --tasks 0,40,90,140 --rollouts 3 --max-steps 12 --seed 5 --resamples 200'.split(' ');
    const start = () =>
      startProcess('src/cli/main.ts', ['--json', 'evaluate', ...flags, '--run', runId], environmentOf(platform));
    const before = await countEvents(platform);
    const victim = start();
    await until(async () => (await countEvents(platform)) > before + 20, 20_000);
    victim.kill('SIGKILL');
    await victim.ended;
    await settle(platform);
    const again = start();
    expect([await again.ended, again.stderr().includes('espalier:')]).toEqual([0, false]);
    const { runId: told, finishedAt: _at, ...rest } = JSON.parse(again.stdout());
    expect(told).toBe(runId);
    expect(rest).toEqual(undisturbed);
    const anomalies = await platform.database.db.selectFrom('anomalies').select(['kind', 'detail']).execute();
    expect(anomalies).toEqual([]);
  }, 60_000);

  test('refuses a plan that is to collect', async () => {
    const { evaluation: _, ...collecting } = plan;
    await expect(evaluateInto(platform, evaluation({ plan: collecting }))).rejects.toThrow('is to collect, not to evaluate');
  });
});
