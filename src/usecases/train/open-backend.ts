import { z } from 'zod';
import type { Config } from '../../runtime/config.ts';
import type { Backend } from '../../training/backends/backend.ts';
import { linearBackend } from '../../training/backends/linear/linear-backend.ts';
import { findPython } from '../../training/backends/torch/find-python.ts';
import { openTorchBackend } from '../../training/backends/torch/torch-backend.ts';
import { torchFolder } from '../../training/backends/torch/torch-folder.ts';
import { torchPlan } from '../../training/backends/torch/torch-plan.ts';
import { trainingSettings } from '../../training/backends/training-settings.ts';
import { TrainingRefused } from '../collect/train-admission-for.ts';
import { promptFields } from './declaration/prompt-fields.ts';

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
      const found = await findPython(config.python);
      if (found.kind === 'none') throw new TrainingRefused(found.reason);
      return openTorchBackend({ ...plan.torch, python: found.python, folder: torchFolder(config) }, signal);
    }
    default:
      return plan satisfies never;
  }
}
