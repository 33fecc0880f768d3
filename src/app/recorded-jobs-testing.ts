import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { SILENT } from '../runtime/logger.ts';
import { PYTHON_PACKAGE } from '../runtime/python-server.ts';
import { LOCAL } from '../testing/local-token.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { consumersForTests } from '../testing/python.ts';
import { runAll } from './run-all.ts';

/** The Python that has the trainers of others. */
export const trainers = await consumersForTests();

/** Serves an installation to the tests of a block, and runs Python programs that record into it. */
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
    home: () => platform.home,

    /** Fails with what the program said. */
    async python(cwd: string, ...args: readonly string[]): Promise<void> {
      const env = {
        ...process.env,
        ...{ ESPALIER_HOME: platform.home, ESPALIER_URL: server.url, ESPALIER_SPOOL: join(platform.home, 'spool') },
        ...{ PYTHONPATH: PYTHON_PACKAGE, HF_HUB_OFFLINE: '1', TRL_EXPERIMENTAL_SILENCE: '1' },
      };
      const interpreter = trainers.kind === 'found' ? trainers.python : '';
      const said = await new Promise<string>((resolve) => {
        execFile(interpreter, ['-W', 'ignore', ...args], { cwd, env, maxBuffer: 16 * 2 ** 20 }, (error, _, stderr) =>
          resolve(error === null ? '' : stderr.slice(-4_000)),
        );
      });
      expect(said).toBe('');
    },

    async ask(query: string) {
      const answer = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...LOCAL },
        body: JSON.stringify({ query }),
      });
      const { data, errors } = await answer.json();
      expect(errors).toBeUndefined();
      return data;
    },
  };
}
