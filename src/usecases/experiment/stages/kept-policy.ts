import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Platform } from '../../../platform/open-platform.ts';
import { decodeWeights } from '../../../policies/linear/weights.ts';
import { parsePolicyText } from '../../../policies/policy-spec.ts';
import type { StageOutput } from '../../../projections/experiment-stages/read-stages.ts';
import { writeWeights } from '../../train/weights-file.ts';
import { type StageWork, usedBy } from './stage-work.ts';

/** Where the weights of linear policies lie, under their digests: self-training keeps its own there too. */
export function weightsFolder({ config }: Pick<Platform, 'config'>): string {
  return join(config.home, 'weights');
}

/** Returns the policy that a stage acts by, as a plan names it: its own text, or what another stage trained. */
export async function actingPolicy(
  work: StageWork<'collect' | 'search' | 'evaluate' | 'clone'>,
  field: 'policy' | 'from',
  policy: string | { readonly of: string },
): Promise<string> {
  return typeof policy === 'string' ? policy : localPolicy(work.platform, usedBy(work, field));
}

/** Returns a trained policy as this machine can open it: weights whose file is not here are written from the blob store. */
async function localPolicy(platform: Platform, { policy, kept }: StageOutput): Promise<string> {
  if (policy === null) throw new RangeError('the stage trained no policy');
  const spec = parsePolicyText(policy);
  if (spec.kind !== 'linear' || spec.weightsFile === undefined || kept === null) return policy;
  const there = await access(spec.weightsFile).then(
    () => true,
    () => false,
  );
  if (there) return policy;
  const { path } = await writeWeights(weightsFolder(platform), decodeWeights(await platform.blobs.get(kept.blob)));
  return JSON.stringify({ ...spec, weightsFile: path });
}

/**
 * Keeps the weights of a linear policy in the blob store, so that they outlive the folder they lie in. Null for other policies.
 */
export async function keepPolicy({ blobs }: Platform, policy: string): Promise<StageOutput['kept']> {
  const spec = parsePolicyText(policy);
  if (spec.kind !== 'linear' || spec.weightsFile === undefined) return null;
  return blobs.put(await readFile(spec.weightsFile), 'application/octet-stream');
}
