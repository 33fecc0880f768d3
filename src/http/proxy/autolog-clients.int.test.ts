import { execFile } from 'node:child_process';
import { describe, expect, test } from '@jest/globals';
import { PYTHON_PACKAGE } from '../../runtime/python-server.ts';
import { agentsForTests } from '../../testing/python.ts';

const found = await agentsForTests();

/** Runs the tests of autolog in python/ with the real packages that agents are made of. */
(found.kind === 'found' ? describe : describe.skip)(
  `autolog in openai, anthropic, litellm, LangGraph and the Agents SDK (${found.kind === 'found' ? found.versions : `skipped: ${found.reason}`})`,
  () => {
    test('each of them sees what it sees without, and its calls are recorded', async () => {
      const python = found.kind === 'found' ? found.python : '';
      const said = await new Promise<string>((resolve) => {
        const command = ['-W', 'ignore', '-m', 'unittest', 'discover', '-s', 'tests_agents', '-t', '.'];
        const env = { ...process.env, LITELLM_LOCAL_MODEL_COST_MAP: 'True' }; // else it is fetched
        execFile(
          python,
          command,
          { cwd: PYTHON_PACKAGE, env, timeout: 280_000, maxBuffer: 2 ** 24 },
          (_error, stdout, stderr) => {
            resolve(stdout + stderr);
          },
        );
      });
      expect(said.slice(-4_000)).toMatch(/\nRan [1-9]\d* tests in [^\n]*\n\nOK\n$/);
    });
  },
);
