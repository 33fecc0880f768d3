import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openEnvironment } from '../environments/open-environment.ts';
import { generateWorld } from '../environments/search-qa/world/generate-world.ts';
import type { Platform } from '../platform/open-platform.ts';
import { PYTHON_PACKAGE, type PythonServer, pythonEnvironment, startPythonServer } from '../runtime/python-server.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { consumersForTests } from '../testing/python.ts';
import { killRunning, runInProcess } from '../testing/worker-process.ts';

const found = await consumersForTests();
const python = found.kind === 'found' ? found.python : '';

/** A corpus of the generated world is indexed by an encoder with random weights, served, and searched by rollouts. */
(found.kind === 'found' ? describe : describe.skip)(
  `the dense retriever (${found.kind === 'found' ? found.versions : `skipped: ${found.reason}`})`,
  () => {
    let platform: Platform & { readonly home: string };
    let env: Readonly<Record<string, string>>;
    let folder: string;
    let server: PythonServer;
    beforeAll(async () => {
      platform = await openTestPlatform();
      env = environmentOf(platform);
      folder = await mkdtemp(join(tmpdir(), 'espalier-dense-'));
      await mkdir(join(folder, 'corpus'));
      const { documents, questions } = generateWorld(7, 2);
      await writeFile(join(folder, 'corpus/world.jsonl'), linesOf(documents));
      await writeFile(
        join(folder, 'questions.jsonl'),
        linesOf(questions.map((q) => ({ id: q.alias, question: q.text, golden_answers: q.targets }))),
      );
      await run('-m', 'tests_consumers.tiny_encoder', join(folder, 'model'));
      const made = ['--model', join(folder, 'model'), '--out', join(folder, 'index')];
      await run('-m', 'espalier_rl', 'index-corpus', join(folder, 'corpus/world.jsonl'), ...made);
      const served = ['-m', 'espalier_rl', 'serve-index', join(folder, 'index'), '--port', '0', '--end-with-stdin'];
      server = await startPythonServer(python, served, 120_000);
    });
    afterAll(async () => {
      await killRunning();
      await server?.close();
      await platform.close();
      await rm(folder, { recursive: true, force: true });
    });

    const run = (...args: readonly string[]) =>
      promisify(execFile)(python, args, {
        cwd: PYTHON_PACKAGE,
        env: { ...pythonEnvironment(), HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1' },
      });
    const dense = () => `search-qa:retriever=${server.url};dialect=queries;seed=7;size=2`;
    const hybrid = () =>
      `search-qa:retriever=${server.url};dialect=queries;corpus=${join(folder, 'corpus')};hybrid=rrf;questions=${join(folder, 'questions.jsonl')}`;

    test('rollouts search it by the client for Search-R1 servers, and what it found can be found again', async () => {
      const collected = await runInProcess(
        ['collect', '--policy', 'planner', '--tasks', '2', '--rollouts', '1', '--environment', dense()],
        env,
      );
      const runId = /^run (\S+) completed: 2 rollouts/m.exec(collected.stdout)?.[1] ?? '';
      expect([collected.code, runId]).toEqual([0, expect.stringMatching(/^[0-9a-f-]{36}$/)]);
      const again = await runInProcess(['replay', 'environment', '--run', runId], env);
      expect([again.code, again.stdout]).toEqual([0, expect.stringMatching(/^equal: environment/)]);
    });

    test('its index is part of the fingerprint of the environment, and so are the words that are searched next to it', async () => {
      const fingerprints: string[] = [];
      for (const address of [dense(), dense(), hybrid()]) {
        const kind = await openEnvironment(address);
        fingerprints.push(kind.fingerprint);
        await kind.close();
      }
      expect(fingerprints[0]).toBe(fingerprints[1]);
      expect(new Set(fingerprints).size).toBe(2);
    });
  },
);

function linesOf(values: readonly object[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join('');
}
