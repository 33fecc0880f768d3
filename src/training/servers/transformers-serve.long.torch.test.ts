import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ServedVersion } from '../../policies/served/model-server.ts';
import { servedPolicy } from '../../policies/served/served-policy.ts';
import { WeightsGate } from '../../policies/served/weights-gate.ts';
import { readConfig } from '../../runtime/config.ts';
import { PYTHON_PACKAGE } from '../../runtime/python-server.ts';
import { anActRequest } from '../../testing/act-request.ts';
import { pythonForTests } from '../../testing/python.ts';
import { startTransformersServe } from '../../testing/transformers-server.ts';
import { serveModel } from '../backends/torch/serve-model.ts';
import { modelServerOf } from './open-model-server.ts';

const found = await pythonForTests();
const python = found.kind === 'found' ? found.python : '';
const { signal } = new AbortController();
const LONGEST_MS = 300_000;
(found.kind === 'found' ? describe : describe.skip)(
  found.kind === 'found' ? `transformers serve (torch ${found.torch})` : `transformers serve: skipped, ${found.reason}`,
  () => {
    let folder: string;
    let root: string;
    let server: Awaited<ReturnType<typeof startTransformersServe>>;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'espalier-transformers-'));
      for (const seed of ['1', '2']) {
        const command = ['-m', 'espalier_rl.trainer.tiny', '--out', join(folder, seed), '--seed', seed];
        await promisify(execFile)(python, command, { cwd: PYTHON_PACKAGE });
      }
      server = await startTransformersServe(python);
      root = server.url;
    }, LONGEST_MS);
    afterAll(async () => {
      server?.close();
      await rm(folder, { recursive: true, force: true });
    });

    const version = (number: number): ServedVersion => ({
      policyId: 'p',
      version: number,
      folder: join(folder, `${number}`),
      tensors: `${number}`.repeat(64),
    });

    test(
      'the versions of a policy act by it, and their likeliest replies are those of our own server',
      async () => {
        const { home } = readConfig();
        const gate = new WeightsGate(modelServerOf(`transformers:${root}`, { config: { home, python } }));
        const replies = [];
        for (const number of [1, 2, 1]) {
          const [act] = await servedPolicy(gate, version(number), { temperature: 0, maxTokens: 6 }).act(anActRequest(), signal);
          expect(act).toMatchObject({
            policy: { policyId: 'p', version: number },
            call: { model: `${join(folder, `${number}`)}@main` },
          });
          replies.push(act?.response);
        }
        expect(replies[0]).toBe(replies[2]);
        await gate.close();
        const own = await serveModel({ python, folder, checkpoint: '1', name: 'policy', device: 'cpu' });
        const ownGate = new WeightsGate(async () => ({
          baseUrl: own.url,
          gone: own.gone,
          close: own.close,
          load: async () => ({ model: 'policy', fingerprint: null }),
        }));
        const [act] = await servedPolicy(ownGate, version(1), { temperature: 0, maxTokens: 6 }).act(anActRequest(), signal);
        expect(act?.response).toBe(replies[0]);
        await ownGate.close();
      },
      LONGEST_MS,
    );

    test(
      'a folder that it does not read is an error with its words and the remedy',
      async () => {
        const { home } = readConfig();
        const open = modelServerOf(`transformers:${root}`, { config: { home, python } });
        const opened = await open(version(1), signal);
        await expect(opened.load({ ...version(3), folder: join(folder, 'nowhere') }, signal)).rejects.toThrow(
          /transformers serve at .* does not load .*nowhere.*must be there under the same path/s,
        );
      },
      LONGEST_MS,
    );
  },
);
