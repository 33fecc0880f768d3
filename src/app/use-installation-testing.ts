import { afterAll, beforeAll } from '@jest/globals';
import { SILENT } from '../runtime/logger.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { runAll } from './run-all.ts';

/** Serves an installation with every role to the tests of a file or block. */
export function useInstallation() {
  let platform: Awaited<ReturnType<typeof openTestPlatform>>;
  let server: Awaited<ReturnType<typeof runAll>>;
  beforeAll(async () => {
    platform = await openTestPlatform();
    server = await runAll(platform, SILENT);
  });
  afterAll(async () => {
    await server.close();
    await platform.close();
  });
  return {
    get platform() {
      return platform;
    },
    get url() {
      return server.url;
    },
  };
}
