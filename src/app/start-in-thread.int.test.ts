import { afterEach, expect, test } from '@jest/globals';
import { TOPICS } from '../events/catalogue.ts';
import { newId } from '../events/new-id.ts';
import { openAppender } from '../platform/open-appender.ts';
import { countRecord } from '../projections/runs/read-run-totals.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { SILENT } from '../runtime/logger.ts';
import { useTestPlatform } from '../testing/use-test-platform.ts';
import { startInThread, ThreadEnded } from './start-in-thread.ts';

const platform = useTestPlatform({ opened: 'before-each', projector: 'none' });

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

async function beginRun(): Promise<string> {
  const runId = newId();
  const said = { experimentId: null, name: 'run', kind: 'collect', seed: 1, codeVersion: 'test', config: {} } as const;
  const data = { runId, ...said, environments: [], policy: { policyId: 'p', version: 0 } };
  await openAppender(platform, 'test').append([{ type: 'RunStarted', correlationId: runId, data }]);
  return runId;
}

const settled = async () => waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 30_000 });

test('a thread folds what is appended, and leaves its partitions to the next one when it is closed', async () => {
  const first = await startInThread('project', platform, SILENT);
  open.push(first);
  const runs = [await beginRun()];
  await settled();
  await first.close();
  await first.finished;
  runs.push(await beginRun());
  open.push(await startInThread('project', platform, SILENT));
  await settled();
  for (const runId of runs) expect(await countRecord(platform.database.db, runId)).toMatchObject({ events: 1 });
});

test('a thread that dies says why, and one that cannot begin fails its start', async () => {
  const dying = await startInThread('project', platform, SILENT, { program: 'src/testing/thread-that-dies.ts' });
  open.push(dying);
  await expect(dying.finished).rejects.toThrow(/^the thread of the role project ended: no memory is left$/);
  await expect(dying.finished).rejects.toBeInstanceOf(ThreadEnded);
  const config = { ...platform.config, blobs: '/dev/null/none' };
  await expect(startInThread('project', { ...platform, config }, SILENT)).rejects.toThrow(/cannot write to \/dev\/null\/none/);
});
