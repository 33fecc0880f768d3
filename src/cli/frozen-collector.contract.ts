import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../events/new-id.ts';
import type { Platform } from '../platform/open-platform.ts';
import { countEvents, environmentOf, settle } from '../testing/crashing-run.ts';
import { until } from '../testing/until.ts';
import { type ChildProcess, killRunning, runInProcess, startProcess, startRole } from '../testing/worker-process.ts';
import { runDigest } from '../usecases/datasets/digest-trees.ts';

const TAKES_MS = 90_000; // a run is taken after 15 s of silence, and a group of Kafka is shared again after as long

/** Describes what holds of a run whose collector is stopped by SIGSTOP while another process goes on with it. */
export function describeFrozenCollector(open: () => Promise<Platform & { readonly home: string }>): void {
  let platform: Platform & { readonly home: string };
  let projector: ChildProcess;
  beforeAll(async () => {
    platform = await open();
    projector = startRole('project', environmentOf(platform));
    await projector.saying(/"projecting"/);
  });
  afterAll(async () => {
    await killRunning();
    await platform.close();
  });

  const collect = ['collect', '--policy', 'planner:0.4', '--tasks', '12', '--rollouts', '4', '--max-steps', '12', '--seed', '5'];
  const begin = (runId: string) => startProcess('src/cli/main.ts', [...collect, '--run', runId], environmentOf(platform));

  async function digestOf(runId: string) {
    await settle(platform);
    return runDigest(platform, runId);
  }

  test('a collector that is stopped and goes on behind another one ends with the reason, and the trees are those of an undisturbed run', async () => {
    const undisturbed = newId();
    const alone = begin(undisturbed);
    expect([await alone.endedWithin(TAKES_MS), alone.stderr()]).toEqual([0, expect.not.stringContaining('espalier:')]);
    const expected = await digestOf(undisturbed);

    const runId = newId();
    const before = await countEvents(platform);
    const first = begin(runId);
    await until(async () => (await countEvents(platform)) > before + 60, TAKES_MS);
    first.kill('SIGSTOP');
    const early = await runInProcess(['collect', '--resume', runId], environmentOf(platform));
    expect(early).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`run ${runId} is being collected by another process (pid `),
    });
    await until(async () => {
      const { code, stderr } = await runInProcess(['collect', '--resume', runId], environmentOf(platform));
      if (code !== 0) expect(stderr).toContain('is being collected by another process');
      return code === 0;
    }, TAKES_MS);
    expect(await digestOf(runId)).toEqual(expected);

    first.kill('SIGCONT');
    expect(await first.endedWithin(TAKES_MS)).toBe(1);
    expect(first.stderr()).toContain(`espalier: another process took over run ${runId}`);
    expect(await digestOf(runId)).toEqual(expected);
    const { db } = platform.database;
    const kinds = await db.selectFrom('anomalies').select('kind').distinct().execute();
    const late = platform.mode.log === 'kafka' ? ['superseded'] : []; // the embedded log refuses them
    expect(late).toEqual(expect.arrayContaining(kinds.map(({ kind }) => kind)));
    expect(await db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
    projector.kill('SIGTERM');
    expect(await projector.endedWithin(TAKES_MS)).toBe(0);
  }, 480_000); // a dozen processes, one after the other: 24 s on two quiet cores
}
