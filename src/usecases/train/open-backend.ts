import { z } from 'zod';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { sha256Hex } from '../../digest/sha256.ts';
import { seedFrom } from '../../domain/random/seed-from.ts';
import { TOPICS } from '../../events/catalogue.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import type { Config } from '../../runtime/config.ts';
import type { Backend } from '../../training/backends/backend.ts';
import { linearBackend } from '../../training/backends/linear/linear-backend.ts';
import { findPython } from '../../training/backends/torch/python-process.ts';
import { openTorchBackend } from '../../training/backends/torch/torch-backend.ts';
import { torchFolder, torchPlan } from '../../training/backends/torch/torch-plan.ts';
import { trainingSettings } from '../../training/backends/training-settings.ts';
import { keepCheckpoint } from '../../training/checkpoints/checkpoint-store.ts';
import type { RegisterRequest } from '../../training/leases/protocol.ts';
import { TrainingRefused } from '../../training/read-plan-request.ts';
import { promptFields } from './declaration/prompt-fields.ts';
import { openLeaseService } from './open-lease-service.ts';

// what collectors, and who reads the record, take from a declaration; an update follows from settings and engine alone
const besides = { preset: z.string().max(200).optional(), prompt: promptFields.optional(), groupSize: z.int().optional() };

/** What `TrainingDeclared.trainer` holds for our own trainers. */
export const trainerPlan = z.discriminatedUnion('backend', [
  z.strictObject({ backend: z.literal('linear'), settings: trainingSettings, ...besides }),
  z.strictObject({ backend: z.literal('torch'), settings: trainingSettings, torch: torchPlan, ...besides }),
]);
export type TrainerPlan = z.infer<typeof trainerPlan>;

/**
 * Opens the backend of a plan. Who opens it closes it. @throws TrainingRefused where torch is not; BackendFailed where the model
 * is not.
 */
export async function openBackend(plan: TrainerPlan, config: Config, signal: AbortSignal): Promise<Backend> {
  switch (plan.backend) {
    case 'linear':
      return linearBackend();
    case 'torch': {
      const python = await findPython(config.python);
      if (python.kind === 'none') throw new TrainingRefused(python.reason);
      return openTorchBackend({ ...plan.torch, python: python.python, folder: torchFolder(config) }, signal);
    }
    default:
      return plan satisfies never;
  }
}

/** Makes version 0 of a policy, keeps its checkpoint, and returns what the lease service registers. Made again it is the same. */
export async function makeFirstVersion(blobs: BlobStore, backend: Backend, policyId: string): Promise<RegisterRequest> {
  const first = await backend.initial(seedFrom('initial', policyId));
  const kept = await keepCheckpoint(blobs, first);
  return { policyId, backend: backend.name, weights: sha256Hex(backend.weightsOf(first)), kept };
}

const CATCH_UP_MS = 120_000;

/**
 * Registers version 0 of a policy, and waits until the read models hold it. The same again changes nothing. @throws
 * TrainingRefused where it was registered with other weights.
 */
export async function registerFirst(platform: Platform, first: RegisterRequest): Promise<void> {
  const { database, log } = platform;
  const answer = await openLeaseService(platform).registerPolicy(first);
  if (answer.kind === 'refused') throw new TrainingRefused(`${answer.message}; ${answer.remedy}`);
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: CATCH_UP_MS });
}
