import type { Db } from '../../../postgres/database.ts';
import { readNamedVersions, readVersionsOfBackend } from '../../../projections/training-pool/read-stored-versions.ts';

/** A version whose checkpoint is on record: the blob of its manifest, and whether its files are still needed. */
export interface TorchVersion {
  readonly blob: string;
  readonly stays: boolean;
}

/**
 * Reads all versions that the torch backend made, of all policies: two may share a folder, of equal models. Needed are the newest
 * ones of every policy, version 0 (a KL penalty holds to it), and every version that an evaluation, a fork or a released rollout
 * names. @param newest how many of every policy (`config.torchCheckpoints`).
 */
export async function readTorchVersions(db: Db, newest: number): Promise<readonly TorchVersion[]> {
  const versions = await readVersionsOfBackend(db, 'torch');
  const names = new Set((await readNamedVersions(db)).map(({ policyId, version }) => `${version} ${policyId}`));
  const newer = new Map<string, number>();
  return versions.flatMap(({ policyId, version, kept }) => {
    const rank = newer.get(policyId) ?? 0;
    newer.set(policyId, rank + 1);
    const stays = rank < newest || version === 0 || names.has(`${version} ${policyId}`);
    return kept === null ? [] : [{ blob: kept.blob, stays }];
  });
}
