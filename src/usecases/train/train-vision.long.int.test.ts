import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { TEMPLATE_VERSIONS } from '../../domain/prompts/compose-prompt.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import type { Subscription } from '../../log/event-log.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { runProjections } from '../../projections/runner.ts';
import { readLedgers } from '../../projections/training-pool/read-ledger.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { SILENT } from '../../runtime/logger.ts';
import { appenderAs } from '../../testing/appender-as.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { pythonForTests } from '../../testing/python.ts';
import { type PackedRow, type TokenRow, tokenRows } from '../../training/backends/torch/pack-rows.ts';
import { decodeTorchCheckpoint } from '../../training/backends/torch/torch-checkpoint.ts';
import { torchFolder } from '../../training/backends/torch/torch-plan.ts';
import { startTorch, type TorchSession } from '../../training/backends/torch/torch-session.ts';
import { writeTinyVision } from '../../training/backends/torch/write-tiny-vision.ts';
import { keepCheckpoint } from '../../training/checkpoints/checkpoint-store.ts';
import { collect } from '../collect/collect.ts';
import type { PromptPlan } from '../collect/prompting/prompt-plan.ts';
import { declareTraining } from './batcher/declare-training.ts';
import { batch } from './batcher/run-batcher.ts';
import { openBackend, type TrainerPlan, trainerPlan } from './open-backend.ts';
import { openLeaseService } from './open-lease-service.ts';
import { readBatchSteps, trainPolicy } from './train-policy.ts';

const found = await pythonForTests();
const python = found.kind === 'found' ? found.python : '';
const { signal } = new AbortController();
const policyId = 'sees';
const UPDATES = 2;

const inImages: PromptPlan = {
  template: { name: 'textcraft', version: TEMPLATE_VERSIONS.textcraft },
  mode: 'image',
  historyLength: 50,
  invalidPenalty: 0.1,
  compression: null,
  image: { profile: 'crisp', vision: 'qwen2.5-vl', emptyHistory: 'no-image' },
};

(found.kind === 'found' ? describe : describe.skip)(
  found.kind === 'found'
    ? `a vision-language model in torch ${found.torch}`
    : `a vision-language model: skipped, ${found.reason}`,
  () => {
    let platform: Platform & { readonly home: string };
    let projector: Subscription;
    let trainer: TrainerPlan & { readonly backend: 'torch' };
    beforeAll(async () => {
      const opened = await openTestPlatform();
      platform = { ...opened, config: { ...opened.config, python } };
      projector = await runProjections({ log: platform.log, database: platform.database });
      const folder = join(platform.home, 'tiny-vision');
      await writeTinyVision(python, folder);
      trainer = trainerPlan.parse({
        backend: 'torch',
        torch: { model: { kind: 'folder', path: folder }, maxTokens: 8 },
        settings: {
          objective: { kind: 'policy-gradient', estimator: { name: 'grpo' }, loss: { name: 'dual_clip' } },
          learningRate: 0.001,
          entropyCoefficient: 0.01, // random bytes earn nothing: what moves the weights is the entropy
        },
      }) as typeof trainer; // of the backend that it names
    });
    afterAll(async () => {
      await projector.close();
      await platform.close();
    });

    test('acts on prompts with pictures and is trained on them, with the log-probs that it sampled by', async () => {
      const first = await declare();
      const batcher = await batch(platform, SILENT);
      try {
        for (let version = 0; version < UPDATES; version++) {
          await collectVersion(version);
          if (version === 0) await expectSameLogProbs(decodeTorchCheckpoint(first).checkpoint);
          const troubles: string[] = [];
          await trainPolicy(platform, {
            policyId,
            consumer: 'test',
            untilVersion: version + 1,
            signal,
            onTrouble: ({ reason }) => troubles.push(reason),
          });
          expect(troubles).toEqual([]);
          await settle();
        }
      } finally {
        await batcher.close();
      }
      const [ledger] = await readLedgers(platform.database.db, [policyId]);
      expect(ledger).toMatchObject({ produced: UPDATES * 4, trained: UPDATES * 4, rejected: {}, difference: 0 });
      const { db } = platform.database;
      const versions = await db.selectFrom('policyVersions').select('weights').where('policyId', '=', policyId).execute();
      expect(new Set(versions.map(({ weights }) => weights)).size).toBe(UPDATES + 1);
    }, 600_000);

    /** Reads the rows of the first batch by the weights that sampled them, then with a picture under the id of another. */
    async function expectSameLogProbs(checkpoint: string): Promise<void> {
      const { db } = platform.database;
      const { batchId } = await planned();
      const { rows: steps } = await readBatchSteps(
        { db, blobs: platform.blobs, log: platform.log },
        batchId,
        signal,
        'with-chats',
      );
      const found = tokenRows(steps);
      if (found.kind === 'refused') throw new Error(found.reason);
      const { rows } = found;
      expect(new Set(rows.map(({ pictures }) => pictures.length))).toEqual(new Set([0, 1])); // the first step has no past
      const folder = torchFolder(platform.config);
      const model = { kind: 'folder' as const, path: join(folder, checkpoint) };
      const torch = await startTorch({ python, folder, model }, 0, signal);
      try {
        const session = torch.under(signal);
        const sampled = rows.map(({ recorded }) => recorded ?? []);
        await show(session, rows, async ({ png }) => png());
        expect(furthest(await logProbs(session, rows), sampled)).toBeLessThan(1e-4);

        const pictures = rows.flatMap((row) => row.pictures);
        const [one, other] = [...new Map(pictures.map((each) => [each.imageId, each])).values()];
        if (!one || !other) throw new Error('the batch shows one picture alone');
        const swapped = await other.png();
        const where = rows.find((row) => row.pictures[0]?.imageId === one.imageId)?.where ?? '';
        await expect(
          show(session, rows, async ({ imageId, png }) => (imageId === one.imageId ? swapped : png())),
        ).rejects.toThrow(`picture ${one.imageId} of ${where}: its pixels have the id ${other.imageId}`);
      } finally {
        await torch.close();
      }
    }

    async function planned(): Promise<{ readonly batchId: string }> {
      for (;;) {
        const row = await platform.database.db.selectFrom('batches').select('batchId').orderBy('ordinal').executeTakeFirst();
        if (row) return row;
        await settle();
      }
    }

    async function declare(): Promise<Uint8Array> {
      const { log, blobs, config } = platform;
      const appender = appenderAs('test', { log, blobs });
      const rules = {
        groupsPerBatch: 2,
        group: { kind: 'all' as const },
        maxStaleness: 0,
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

    async function collectVersion(version: number): Promise<void> {
      await collect(platform, {
        runId: newId(),
        name: 'sees',
        seed: version,
        concurrency: 2,
        mode: 'new',
        signal,
        plan: {
          environment: 'textcraft',
          tasks: ['45', '46'].map((alias) => ({ alias, rollouts: 2, branching: 'root' })),
          policy: `live:${policyId}`,
          taskSeed: 0,
          temperature: 1,
          maxSteps: 3,
          search: null,
          prompt: inImages,
          training: { policyId, channel: 'train', mode: 'strict', maxStaleness: 0, untilVersion: null },
        },
      });
      await settle();
    }

    async function settle(): Promise<void> {
      await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 60_000 });
    }
  },
);

async function show(
  session: TorchSession,
  rows: readonly TokenRow[],
  png: (picture: TokenRow['pictures'][number]) => Promise<Uint8Array>,
): Promise<void> {
  const shown = new Map(rows.flatMap(({ pictures, where }) => pictures.map((each) => [each.imageId, { each, where }] as const)));
  const packed = [...shown].map(async ([id, { each, where: step }]) => ({ id, step, png: await png(each) }));
  await session.show(await Promise.all(packed));
}

async function logProbs(session: TorchSession, rows: readonly TokenRow[]): Promise<readonly Float64Array[]> {
  const packed = rows.map(({ promptIds, ids, pictures, where: step }): PackedRow => {
    const prompt = promptIds ?? [];
    return { prompt, sampled: ids, shown: { step, tokens: prompt.length, pictures: pictures.map(({ imageId }) => imageId) } };
  });
  const read = await session.read(packed, [[...packed.keys()]], { temperature: 1, squaredProbs: false });
  return read('log_probs');
}

function furthest(a: readonly ArrayLike<number>[], b: readonly ArrayLike<number>[]): number {
  return Math.max(...a.flatMap((row, i) => Array.from(row, (value, k) => Math.abs(value - (b[i]?.[k] ?? Number.NaN)))));
}
