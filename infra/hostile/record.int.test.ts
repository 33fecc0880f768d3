import { expect, test } from '@jest/globals';
import { ROLES } from '../../src/app/roles.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { followEvents } from '../../src/testing/live-client.ts';
import { openTestPlatform } from '../../src/testing/open-test-platform.ts';
import { type Killable, openElsewhere, openOther, tryRound } from './record.ts';
import { checkStage } from './stage.ts';

const SECONDS = 30;

test('every reader shows what a model makes of the record, whatever several clients say of the same ids', async () => {
  const platform = await openTestPlatform();
  const logger = createLogger({ level: 'error' });
  const projectors = await Promise.all([ROLES.project.start(platform, logger), ROLES.project.start(platform, logger)]);
  const elsewhere = await openElsewhere(platform);
  const apis = await Promise.all([ROLES.api.start(platform, logger), ROLES.api.start(platform, logger)]);
  const follower = followEvents(apis[0].url);
  const servers = apis.map(
    ({ url }): Killable => ({
      url: () => url,
      generation: () => 0,
      kill: async () => undefined,
      ready: async () => undefined,
      close: async () => undefined,
    }),
  );
  const stage = { platform, env: {}, url: { api: apis[0].url, policy: '' } };
  const other = await openOther(stage);
  try {
    const deadline = Date.now() + SECONDS * 1_000;
    for (let round = 0; round === 0 || Date.now() < deadline; round++)
      await tryRound(stage, { servers, projectors: [], elsewhere, follower, other, name: `record 1 ${round}` });
    expect((await checkStage(platform)).faults).toEqual([]);
  } finally {
    await follower.close();
    await other.follower.close();
    await Promise.all([...apis, ...projectors].map((each) => each.close()));
    await elsewhere.close();
    await platform.close();
  }
}, 600_000);
