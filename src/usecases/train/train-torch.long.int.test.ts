import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import type { Subscription } from '../../log/event-log.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { runProjections } from '../../projections/runner.ts';
import { readLedgers } from '../../projections/training-pool/read-ledger.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { createLogger } from '../../runtime/logger.ts';
import { appenderAs } from '../../testing/appender-as.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { pythonForTests } from '../../testing/python.ts';
import { serveModel } from '../../training/backends/torch/serve-model.ts';
import { decodeTorchCheckpoint } from '../../training/backends/torch/torch-checkpoint.ts';
import { torchFolder } from '../../training/backends/torch/torch-plan.ts';
import { keepCheckpoint } from '../../training/checkpoints/checkpoint-store.ts';
import { readNewLogProbs } from '../../training/versions/read-batch-update.ts';
import { collect } from '../collect/collect.ts';
import { declareTraining } from './batcher/declare-training.ts';
import { batch } from './batcher/run-batcher.ts';
import { checkpointKeeper } from './keep-checkpoints.ts';
import { openBackend, trainerPlan } from './open-backend.ts';
import { openLeaseService } from './open-lease-service.ts';
import { trainPolicy } from './train-policy.ts';

const found = await pythonForTests();
const { signal } = new AbortController();
const policyId = 'echo';
const UPDATES = 3;
const GROUPS = 3;
const MEMBERS = 4;

const trainer = trainerPlan.parse({
  backend: 'torch',
  torch: { model: { kind: 'tiny', layers: 1, width: 16, heads: 2, context: 128 } },
  settings: {
    objective: { kind: 'policy-gradient', estimator: { name: 'grpo' }, loss: { name: 'dual_clip' } },
    learningRate: 0.01,
    entropyCoefficient: 0.01, // random bytes earn nothing yet: what moves the weights here is the entropy
  },
});

(found.kind === 'found' ? describe : describe.skip)(
  found.kind === 'found' ? `training with torch ${found.torch}` : `training with torch: skipped, ${found.reason}`,
  () => {
    let platform: Platform & { readonly home: string };
    let projector: Subscription;
    beforeAll(async () => {
      const opened = await openTestPlatform();
      platform = {
        ...opened,
        config: { ...opened.config, python: found.kind === 'found' ? found.python : null, torchCheckpoints: 2 },
      };
      projector = await runProjections({ log: platform.log, database: platform.database });
    });
    afterAll(async () => {
      await projector.close();
      await platform.close();
    });

    test('rollouts of a served model become batches, and the batches become its next versions, whose weights the record names', async () => {
      const first = await declare();
      const batcher = await batch(platform, createLogger({ level: 'error' }));
      const folder = torchFolder(platform.config);
      const folders = [decodeTorchCheckpoint(first).checkpoint];
      const python = found.kind === 'found' ? found.python : '';
      const server = await serveModel({ python, folder, checkpoint: decodeTorchCheckpoint(first).checkpoint, name: policyId });
      try {
        for (let version = 0; version < UPDATES; version++) {
          await collectVersion(server.url, version);
          expect(await trainPolicy(platform, { policyId, consumer: 'test', untilVersion: version + 1, signal })).toBe(1);
          await settle();
          const newest = await newestOf(version + 1);
          const manifest = await platform.blobs.get(newest.blob);
          expect(await recordedAfter(version + 1)).toEqual({
            samples: GROUPS * MEMBERS,
            tokens: expect.any(Number),
            finite: true,
          });
          expect(newest.weights).toBe(createHash('sha256').update(manifest).digest('hex'));
          expect(Buffer.from(manifest)).not.toEqual(Buffer.from(first));
          folders.push(decodeTorchCheckpoint(manifest).checkpoint);
          await server.load(decodeTorchCheckpoint(manifest).checkpoint);
        }
      } finally {
        await server.close();
        await batcher.close();
      }
      const [start, old, ...newest] = folders; // of versions 0 to 3 the first and the newest two stay
      // the last update was not in the read models yet when the trainer looked
      expect(await checkpointKeeper(platform)()).toEqual([old]);
      expect((await readdir(folder)).sort()).toEqual([start, ...newest].sort());
      const [ledger] = await readLedgers(platform.database.db, [policyId]);
      const samples = UPDATES * GROUPS * MEMBERS;
      expect(ledger).toMatchObject({ produced: samples, trained: samples, difference: 0 });
    });

    async function declare(): Promise<Uint8Array> {
      const { log, blobs, config } = platform;
      const appender = appenderAs('test', { log, blobs });
      const rules = {
        groupsPerBatch: GROUPS,
        group: { kind: 'all' as const },
        maxStaleness: 1,
        offPolicy: 'any' as const,
        metric: 'environment',
        unscored: 'reject' as const,
        zeroVariance: 'keep' as const,
        band: null,
        truncated: 'keep' as const,
        maxTokens: null,
        layout: 'step' as const,
        tokenBudget: 100_000,
      };
      await declareTraining(appender, { policyId, estimator: { name: 'grpo', options: {} }, rules, seed: 1, trainer });
      const backend = await openBackend(trainer, config, signal);
      try {
        const bytes = await backend.initial(1);
        const weights = createHash('sha256').update(backend.weightsOf(bytes)).digest('hex');
        const kept = await keepCheckpoint(blobs, bytes);
        await settle();
        await openLeaseService(platform).registerPolicy({ policyId, backend: backend.name, weights, kept });
        await settle();
        return bytes;
      } finally {
        await backend.close();
      }
    }

    async function collectVersion(baseUrl: string, policyVersion: number): Promise<void> {
      await collect(platform, {
        runId: newId(),
        name: 'echo',
        seed: policyVersion,
        concurrency: 2,
        mode: 'new',
        signal,
        plan: {
          environment: 'echo',
          tasks: ['1', '2', '3'].map((alias) => ({ alias, rollouts: MEMBERS, branching: 'root' })),
          policy: JSON.stringify({ kind: 'openai', baseUrl, model: policyId, policyId, policyVersion, maxTokens: 2 }),
          taskSeed: 0,
          temperature: 1,
          maxSteps: 1,
          search: null,
          training: { policyId, channel: 'train', mode: 'bounded', maxStaleness: 1, untilVersion: null },
        },
      });
      await settle();
    }

    async function newestOf(version: number): Promise<{ readonly weights: string; readonly blob: string }> {
      const row = await platform.database.db
        .selectFrom('policyVersions as v')
        .innerJoin('checkpoints as c', 'c.checkpointId', 'v.checkpointId')
        .select(['v.weights', 'c.kept'])
        .where('v.policyId', '=', policyId)
        .where('v.version', '=', version)
        .executeTakeFirstOrThrow();
      return { weights: row.weights, blob: row.kept?.blob ?? '' };
    }

    /** What the update recorded of its sampled tokens. */
    async function recordedAfter(version: number) {
      const { db } = platform.database;
      const made = db
        .selectFrom('policyVersions')
        .select('batchId')
        .where('policyId', '=', policyId)
        .where('version', '=', version);
      const { batchId } = await made.executeTakeFirstOrThrow();
      const { values, borders } = (await readNewLogProbs(db, platform.blobs, batchId ?? '')) ?? { values: [], borders: [] };
      return {
        samples: borders.length - 1,
        tokens: values.length,
        finite: values.length > 0 && values.every((value) => value <= 0),
      };
    }

    async function settle(): Promise<void> {
      await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 60_000 });
    }
  },
);
