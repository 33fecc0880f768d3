import { expect, test } from '@jest/globals';
import { environmentOf } from '../../src/testing/crashing-run.ts';
import { openTestPlatform } from '../../src/testing/open-test-platform.ts';
import { killRunning } from '../../src/testing/worker-process.ts';
import { openRole, tryRecord } from './record.ts';
import { checkStage } from './stage.ts';

const SECONDS = 70; // with the start of the processes, the end of a round and the checks some two minutes

test('every reader shows what a model makes of the record, whatever several clients say of the same ids and whatever is killed', async () => {
  const platform = await openTestPlatform();
  try {
    const env = environmentOf(platform);
    const api = await openRole('api', env, /"serving".*"url":"(http:[^"]*?)"/);
    const stage = { platform, env, url: { api: api.url(), policy: '' } };
    expect(await tryRecord(stage, 1, SECONDS)).toBeGreaterThan(0);
    await api.close();
    expect((await checkStage(platform)).faults).toEqual([]);
  } finally {
    await killRunning();
    await platform.close();
  }
}, 600_000);
