import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pythonForTests } from '../../testing/python.ts';
import type { Backend } from './backend.ts';
import { EVERY_COMPUTATION, expectTrained, rowsOf, train } from './every-computation-testing.ts';
import { openTorchBackend } from './torch/torch-backend.ts';

const found = await pythonForTests();
(found.kind === 'found' ? describe : describe.skip)(
  found.kind === 'found'
    ? `every computation that a declaration can name, by the torch backend (torch ${found.torch})`
    : `every computation that a declaration can name, by the torch backend: skipped, ${found.reason}`,
  () => {
    let folder: string;
    let backend: Backend;
    let first: Uint8Array;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'espalier-every-'));
      const model = { kind: 'tiny', layers: 1, width: 16, heads: 2, context: 32 } as const;
      const python = found.kind === 'found' ? found.python : '';
      backend = await openTorchBackend({ python, model, folder, critic: true, device: 'cpu' }, new AbortController().signal);
      first = await backend.initial(5);
    });
    afterAll(async () => {
      await backend?.close();
      await rm(folder, { recursive: true, force: true });
    });
    const rows = rowsOf((chosen) => ({ ids: [97 + chosen, 33, 99], logProbs: [-5.5, -5.4, -5.6] }));

    test.each(EVERY_COMPUTATION)('%s makes a version', async (_, settings) => {
      const updated = await train(backend, first, rows, settings);
      expectTrained(settings, first, updated);
      expect(updated.metrics.tokens).toBe(12);
    });
  },
);
