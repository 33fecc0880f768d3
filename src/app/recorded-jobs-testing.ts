import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { PYTHON_PACKAGE } from '../runtime/python-server.ts';
import { LOCAL } from '../testing/local-token.ts';
import { consumersForTests } from '../testing/python.ts';
import { useInstallation } from './use-installation-testing.ts';

/** The Python that has the trainers of others. */
export const trainers = await consumersForTests();

/** Serves an installation to the tests of a block, and runs Python programs that record into it. */
export function useRecordedJobs() {
  const installation = useInstallation();
  return {
    home: () => installation.platform.home,

    /** Fails with what the program said. */
    async python(cwd: string, ...args: readonly string[]): Promise<void> {
      const env = {
        ...process.env,
        ...{
          ESPALIER_HOME: installation.platform.home,
          ESPALIER_URL: installation.url,
          ESPALIER_SPOOL: join(installation.platform.home, 'spool'),
        },
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
      const answer = await fetch(`${installation.url}/graphql`, {
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
