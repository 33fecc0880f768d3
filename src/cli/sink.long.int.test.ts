import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runAll } from '../app/run-all.ts';
import { TOPICS } from '../events/catalogue.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { SILENT } from '../runtime/logger.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { LOCAL } from '../testing/local-token.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { sinksForTests } from '../testing/python.ts';
import { runEspalier } from '../testing/worker-process.ts';

const found = await sinksForTests();
const python = found.kind === 'found' ? found.python : '';

(found.kind === 'found' ? describe : describe.skip)(
  `sinks (${found.kind === 'found' ? found.versions : `skipped: ${found.reason}`})`,
  () => {
    let platform: Awaited<ReturnType<typeof openTestPlatform>>;
    let server: Awaited<ReturnType<typeof runAll>>;
    let folder: string;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'espalier-sinks-'));
      platform = await openTestPlatform();
      server = await runAll(platform, SILENT);
    });
    afterAll(async () => {
      await server?.close();
      await platform?.close();
      await rm(folder, { recursive: true, force: true });
    });

    test('every update is there once for the reader of each system, wherever the sink was killed', async () => {
      const said = await new Promise<string>((resolve) => {
        const command = ['-m', 'unittest', 'discover', '-s', 'tests_sinks', '-t', '.'];
        execFile(python, command, { cwd: 'python', timeout: 540_000, maxBuffer: 16 * 2 ** 20 }, (_error, stdout, stderr) =>
          resolve(stdout + stderr),
        );
      });
      expect(said.slice(-4_000)).toMatch(/\nRan [1-9]\d* tests in [^\n]*\n\nOK/);
    }, 600_000);

    test('the command posts the versions of a policy of a running server, and none of them again', async () => {
      const declared = await fetch(`${server.url}/v1/training/policies/plotted`, {
        ...{ method: 'PUT', headers: { 'content-type': 'application/json', ...LOCAL } },
        body: JSON.stringify({ backend: 'test', weights: 'a'.repeat(64) }),
      });
      expect(declared.status).toBe(200);
      await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 60_000 });
      expect(await sink('tensorboard')).toEqual({ code: 0, stdout: 'version 0: 0 metrics\n', stderr: '' });
      expect(await sink('tensorboard')).toEqual({ code: 0, stdout: '', stderr: '' });
      expect(await sink('tensorboard', 'ploted')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('there is no policy ploted'),
      });
      expect(await sink('wandb')).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no sink "wandb"; choose') });
    }, 300_000);

    async function sink(system: string, policy = 'plotted') {
      const args = ['sink', system, '--policy', policy, '--to', folder, '--server', server.url];
      const { code, stdout, stderr } = await runEspalier(args, { ...environmentOf(platform), ESPALIER_SINKS_PYTHON: python });
      return { code, stdout, stderr };
    }
  },
);
