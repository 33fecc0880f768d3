import type { Platform } from '../../platform/open-platform.ts';
import { readLineages } from '../../projections/training-pool/read-lineages.ts';
import type { RegisterRequest } from '../../training/leases/protocol.ts';
import { TrainingRefused } from '../../training/planning/read-plan-request.ts';
import { readHead } from '../../training/versions/read-batch-update.ts';
import type { Declaration } from './declaration/declaration-fields.ts';
import { settingsOf, torchPlanOf } from './declaration/trainer-of.ts';
import { declarePolicy } from './declare-policy.ts';
import { makeFirstVersion, openBackend, registerFirst } from './open-backend.ts';

/**
 * Declares the training of a policy by any backend and makes its first version; both are recognised when they were made before.
 * A model that cannot be opened, or cannot read the prompts, is refused before anything is recorded. @throws TrainingRefused;
 * BackendFailed.
 */
export async function declareTrainer(
  platform: Platform,
  { policyId, declaration }: { readonly policyId: string; readonly declaration: Declaration },
  signal: AbortSignal,
): Promise<void> {
  const own = declaration.backend === 'torch' ? await firstOfModel(platform, policyId, declaration, signal) : null;
  const declared = await declarePolicy(platform, policyId, declaration);
  if (declared.kind === 'refused') throw new TrainingRefused(`${declared.message}; ${declared.remedy}`);
  const first = own ?? declared.first;
  if (!first) throw new TrainingRefused(`the policy ${policyId} has no first weights; name their SHA-256 as weights`);
  await registerFirst(platform, first);
}

/** Opens the model and makes its first version; one that is on record is taken from there. */
async function firstOfModel(
  platform: Platform,
  policyId: string,
  declaration: Declaration,
  signal: AbortSignal,
): Promise<RegisterRequest> {
  const { db } = platform.database;
  const [lineage] = await readLineages(db, [policyId]);
  if ((lineage?.newestVersion ?? null) !== null) {
    const { backend, weights, kept } = await readHead(db, policyId, 0);
    return { policyId, backend, weights, kept };
  }
  const plan = { backend: 'torch', settings: settingsOf(declaration), torch: torchPlanOf(declaration) } as const;
  const backend = await openBackend(plan, platform.config, signal);
  try {
    // models with a processor read pictures
    if (declaration.prompt?.mode === 'image' && backend.describe().processor === undefined)
      throw new TrainingRefused(
        `the model ${nameOf(declaration)} reads texts alone, and the prompts hold images; ask by text (--prompt text), or name a vision-language model`,
      );
    return await makeFirstVersion(platform.blobs, backend, policyId);
  } finally {
    await backend.close();
  }
}

function nameOf({ torch }: Declaration): string {
  return torch?.model.kind === 'folder' ? torch.model.path : 'tiny';
}
